/** Reads as of a time: random histories, and what the API answered after each step is asked again as of then. */
import { randomUUID } from 'node:crypto';
import { contact as contacts, paymentStatuses } from '@pis/domain';
import { type EventStore, postgresEventStore, repository } from '@pis/event-store';
import { eventStoreDbEventStore } from '@pis/event-store/eventstoredb';
import { startEventStoreDbStandIn } from '@pis/event-store/testing';
import { ownerOf } from '@pis/keyring';
import { createTestDatabase, generator, openTestPool, until } from '@pis/local-servers/testing';
import { rebuildProjection } from '@pis/read-models';
import { appendEvents } from '@pis/read-models/testing';
import {
  by,
  type Call,
  createContact,
  type Gateway,
  keyring,
  startGateway,
  startGatewayWithDatabase,
  type Tenant,
} from './testing/gateway.js';
import {
  codeOf,
  createPayer,
  idOf,
  idsOf,
  issuesOf,
  itemsOf,
  type Payer,
} from './testing/payments.js';
import {
  answer,
  cancel,
  complete,
  failed,
  late,
  linked,
  move,
  process,
  returned,
  type Step,
} from './testing/payment-histories.js';

const stepsOfHistory = 16;
const seedOfHistory = 1;
const clockLimitMs = 20_000;

interface OpenStore {
  readonly store: EventStore;
  close(): Promise<void>;
}

const stores: readonly (readonly [string, (databaseUrl: string) => Promise<OpenStore>])[] = [
  [
    'PostgreSQL',
    (databaseUrl) => {
      const pool = openTestPool(databaseUrl, 4);
      const store = postgresEventStore({ pool, listenConnectionString: databaseUrl });
      const close = async () => {
        await store.close();
        await pool.end();
      };
      return Promise.resolve({ store, close });
    },
  ],
  [
    'EventStoreDB',
    async () => {
      const server = await startEventStoreDbStandIn();
      const store = eventStoreDbEventStore({ connectionString: server.url });
      const close = async () => {
        await store.close();
        await server.stop();
      };
      return { store, close };
    },
  ],
];

describe.each(stores)('on %s', (_name, open) => {
  let gateway: Gateway;
  let rebuild: () => Promise<unknown>;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const database = await createTestDatabase();
    const opened = await open(database.url);
    gateway = await startGateway({ databaseUrl: database.url, store: opened.store });
    const pool = openTestPool(database.url, 1);
    rebuild = () => rebuildProjection('history', { store: gateway.store, pool });
    close = async () => {
      await pool.end();
      await gateway.close();
      await opened.close();
      await database.drop();
    };
  });
  afterAll(() => close?.());

  it('each answer is the same again as of its time', async () => {
    const payer = await createPayer(gateway);
    const history = new History(payer, seedOfHistory);
    const moments: Moment[] = [await history.moment()];
    for (let step = 0; step < stepsOfHistory; step += 1) {
      await history.step();
      moments.push(await history.moment());
    }
    const again = async () => {
      for (const { at, asked, answers } of moments)
        expect([at, await history.answers(at, asked)]).toEqual([at, answers]);
    };
    await again();
    await rebuild();
    await again();
  }, 120_000);
});

describe('asOf', () => {
  let gateway: Gateway;
  let payer: Payer;
  let paymentId: string;
  let createdAt: string;

  beforeAll(async () => {
    gateway = await startGatewayWithDatabase();
    payer = await createPayer(gateway);
    paymentId = idOf(await payer.pay());
    createdAt = ((await payer.get(paymentId)).body?.data as { createdAt: string }).createdAt;
  });
  afterAll(() => gateway?.close());

  const lists = ['/v1/contacts/', '/v1/originators/', '/v1/payments/'];
  const paths = () => [`/v1/payments/${paymentId}`, ...lists];
  const ask = (path: string, asOf: string, call: Partial<Call & { tenant: Tenant }> = {}) =>
    gateway.call(`${path}?asOf=${encodeURIComponent(asOf)}`, { tenant: payer.tenant, ...call });

  it('is a time in ISO 8601, given once, and not in the future', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    for (const path of paths()) {
      for (const wrong of ['', 'noon', '2026-02-30', '1700000000000', '2026-01-01T25:00Z'])
        expect([path, wrong, issuesOf(await ask(path, wrong))]).toEqual([
          path,
          wrong,
          ['asOf validation_datetime'],
        ]);
      for (const future of [tomorrow, tomorrow.slice(0, 10), '9999-12-31'])
        expect(issuesOf(await ask(path, future))).toEqual(['asOf validation_date_range']);
      const twice = await gateway.call(`${path}?asOf=2026-01-01&asOf=2026-01-01`, payer);
      expect(codeOf(twice)).toBe('400 VALIDATION_ERROR');
      expect(issuesOf(twice)).toEqual([expect.stringMatching(/^asOf /)]);
    }
  });

  it('includes its own millisecond, in any offset', async () => {
    const at = Date.parse(createdAt);
    const inNewYork = new Date(at - 5 * 3_600_000).toISOString().replace('Z', '-05:00');
    const [path = ''] = paths();
    expect(codeOf(await ask(path, createdAt))).toBe('200');
    expect(codeOf(await ask(path, inNewYork))).toBe('200');
    expect(codeOf(await ask(path, new Date(at - 1).toISOString()))).toBe('404 NOT_FOUND');
    expect(codeOf(await ask(path, '2020-01-01'))).toBe('404 NOT_FOUND');
  });

  it('leaves out nothing for a filter that ends at the last day that there is', async () => {
    const now = new Date().toISOString();
    for (const filter of ['', '&status=QUEUED'])
      for (const day of ['9999-12-31', '9999-12-31T23:59:59.999Z']) {
        const reply = await payer.list(`?asOf=${now}&createdTo=${day}${filter}`);
        expect([filter, day, idsOf(reply)]).toEqual([filter, day, [paymentId]]);
      }
  });

  it('has an empty list before the first record', async () => {
    for (const list of lists)
      expect([list, (await ask(list, '2020-01-01')).body?.data]).toEqual([list, []]);
  });

  it('holds for all pages: a cursor belongs to its time', async () => {
    for (const name of ['Bea', 'Cy'])
      await createContact(gateway, payer.tenant, { firstName: name });
    const now = new Date().toISOString();
    const ask = (query: string) => gateway.call(`/v1/contacts/?limit=1&${query}`, payer);
    for (const [from, others] of [
      [`asOf=${now}`, ['', `asOf=${createdAt}`]],
      ['', [`asOf=${now}`]],
    ] as const) {
      const cursor = (await ask(from)).body?.meta?.pagination?.nextCursor ?? '';
      expect(codeOf(await ask(`${from}&cursor=${cursor}`))).toBe('200');
      for (const other of others)
        expect(issuesOf(await ask(`${other}&cursor=${cursor}`))).toEqual([
          'cursor validation_cursor',
        ]);
    }
  });

  it('shows a contact that was erased since as erased, and not after its erasure', async () => {
    const contactId = await createContact(gateway, payer.tenant, { firstName: 'Eve' });
    const paid = idOf(await payer.pay({ body: payer.body({ contactId }) }));
    const before = new Date().toISOString();
    await until(() => new Date().toISOString() > before, { timeoutMs: clockLimitMs });
    await keyring.destroy([ownerOf.contact(contactId)]);
    const requestId = randomUUID();
    const request = { reason: 'asked', by: 'test', overridesRetention: true, requestId };
    const steps = [
      { type: 'RequestErasure', data: request },
      { type: 'ConfirmErasure', data: { requestId } },
      { type: 'CompleteErasure', data: {} },
    ] as const;
    for (const step of steps) {
      const command = { ...step, at: new Date().toISOString() };
      await repository(gateway.store, contacts).execute(contactId, command, by);
    }
    const found = async (asOf: string) =>
      itemsOf(await ask('/v1/contacts/', asOf)).find((item) => item['contactId'] === contactId);
    const personal = { firstName: null, lastName: null, email: null, bankAccount: null };
    expect(await found(before)).toMatchObject({
      ...{ ...personal, entityType: 'INDIVIDUAL', erased: true },
    });
    expect(await found(new Date().toISOString())).toBeUndefined();
    const payment = await ask(`/v1/payments/${paid}`, before);
    expect(payment.body?.data).toMatchObject({
      contact: { id: contactId, firstName: null, erased: true },
    });
  });

  it('has no list in which a record that is in quarantine would be missing or wrong', async () => {
    const own = await createPayer(gateway);
    const other = await createPayer(gateway);
    const paid = idOf(await own.pay());
    idOf(await other.pay());
    const contactId = await createContact(gateway, own.tenant, { firstName: 'Eve' });
    const before = new Date().toISOString();
    await until(() => new Date().toISOString() > before, { timeoutMs: clockLimitMs });
    const eaten = async (streamId: string, type: string) =>
      appendEvents(gateway.store, streamId, [{ type, at: new Date().toISOString(), data: {} }]);
    await eaten(`payment-${paid}`, 'PaymentEaten');
    await eaten(`contact-${contactId}`, 'ContactEaten');
    const now = new Date().toISOString();
    const codes = async (tenant: Tenant, asOf: string) => {
      const asked = [...lists, '/v1/payments/?status=QUEUED'].map((path) =>
        gateway.call(`${path}${path.includes('?') ? '&' : '?'}asOf=${asOf}`, { tenant }),
      );
      return (await Promise.all(asked)).map(codeOf);
    };
    const held = '503 SERVICE_UNAVAILABLE';
    expect(await codes(own.tenant, now)).toEqual([held, '200', held, held]);
    expect(await codes(own.tenant, before)).toEqual(['200', '200', '200', '200']);
    expect(await codes(other.tenant, now)).toEqual(['200', '200', '200', '200']);
    const refused = await gateway.call(`/v1/payments/?asOf=${now}`, { tenant: own.tenant });
    expect(refused.body?.error?.message).toMatch(/^the list may lack a payment as of this time/);
    expect(codeOf(await gateway.call(`/v1/payments/${paid}?asOf=${before}`, own))).toBe('200');
  });

  it('needs the same keys as a read of the present', async () => {
    const other = await gateway.createTenant();
    const [path = ''] = paths();
    expect(codeOf(await ask(path, createdAt, { tenant: other }))).toBe('404 NOT_FOUND');
    const now = new Date().toISOString();
    expect((await ask('/v1/contacts/', now, { tenant: other })).body?.data).toEqual([]);
    expect(itemsOf(await ask('/v1/originators/', now, { tenant: other }))).toMatchObject([
      { originatorId: other.originatorId },
    ]);
    for (const each of paths()) {
      const as = async (key: string | null) => codeOf(await ask(each, createdAt, { key }));
      expect(await as(payer.tenant.keys.read_only)).toBe('200');
      expect(await as(payer.tenant.keys.webhook_admin)).toBe('403 FORBIDDEN');
      expect(await as(null)).toBe('401 UNAUTHORIZED');
    }
  });
});

type List = readonly [path: string, query: string];

interface Moment {
  readonly at: string;
  readonly asked: readonly List[];
  readonly answers: Readonly<Record<string, unknown>>;
}

/** Steps by which a payment may go on; those that its status does not allow change nothing. */
const moves: readonly Step[] = [
  process,
  process,
  complete,
  late,
  cancel,
  returned('R01'),
  failed('INVALID_CONTACT_DATA'),
  failed('INTERNAL_ERROR'),
];

/** Each list that is asked, with its query. */
const lists = ({ tenant, contactId }: Payer) =>
  [
    ['/v1/payments/', ''],
    ['/v1/payments/', 'limit=2'],
    ['/v1/payments/', `limit=1&contactId=${contactId}&direction=INBOUND`],
    ['/v1/payments/', 'externalPaymentId=label%201&limit=2'],
    ['/v1/payments/', 'externalPaymentId=label%201&status=COMPLETED&limit=1'],
    ...paymentStatuses.map((status) => ['/v1/payments/', `status=${status}&limit=1`] as const),
    ['/v1/payments/', 'status=PROCESSING&direction=OUTBOUND'],
    [
      '/v1/payments/',
      `status=COMPLETED&paymentRail=ACH&originatorId=${tenant.originatorId}&limit=1`,
    ],
    ['/v1/payments/', `status=QUEUED&contactId=${contactId}&limit=1`],
    ['/v1/payments/', `status=QUEUED&contactId=${contactId}&originatorId=${tenant.organizationId}`],
    ['/v1/payments/', 'paymentRail=ACH&limit=1'],
    ['/v1/payments/', 'paymentRail=RTP'],
    ['/v1/payments/', 'status=QUEUED&createdTo=2020-01-01'],
    ['/v1/payments/', 'status=QUEUED&createdFrom=2020-01-01&limit=2'],
    ['/v1/originators/', ''],
    ['/v1/originators/', 'limit=1'],
    ['/v1/contacts/', ''],
    ['/v1/contacts/', 'limit=2'],
    ['/v1/contacts/', `originatorId=${tenant.originatorId}`],
    ['/v1/contacts/', `limit=1&originatorId=${tenant.organizationId}`],
  ] as const;

class History {
  private readonly random;
  private readonly paymentIds: string[] = [];
  private readonly contactIds: string[];
  constructor(
    private readonly payer: Payer,
    seed: number,
  ) {
    this.random = generator(seed);
    this.contactIds = [payer.contactId];
  }

  async step(): Promise<void> {
    const { payer, random } = this;
    const choice = random(13);
    if (this.paymentIds.length === 0 || choice < 2) {
      const direction = random(2) === 0 ? 'INBOUND' : 'OUTBOUND';
      const externalPaymentId = `label ${random(2)}`;
      const body = payer.body({ direction, externalPaymentId });
      this.paymentIds.push(idOf(await payer.pay({ body })));
    } else if (choice === 2) {
      this.paymentIds.push(await linked(payer, random(2) === 0 ? 'saved' : 'unsaved'));
    } else if (choice === 3) {
      await this.unlessRefused((id) => answer(payer, id));
    } else if (choice === 10) {
      const firstName = `Ada ${random(1_000_000)}`;
      this.contactIds.push(await createContact(payer.gateway, payer.tenant, { firstName }));
    } else if (choice === 11) {
      await this.patch(`/v1/contacts/${this.oneOf(this.contactIds)}`);
    } else if (choice === 12) {
      await this.patch(`/v1/originators/${payer.tenant.originatorId}`);
    } else {
      await this.unlessRefused((id) => move(payer, id, this.oneOf(moves)));
    }
  }

  /** The answers now, at a time that is after all events so far, and before all later ones. */
  async moment(): Promise<Moment> {
    const asked = lists(this.payer).filter(() => this.random(5) === 0);
    const answers = await this.answers(null, asked);
    const at = new Date().toISOString();
    await until(() => new Date().toISOString() > at, { timeoutMs: clockLimitMs });
    return { at, asked, answers };
  }

  /** To each question, now or as of a time. Payments that there were not yet are left out. */
  async answers(at: string | null, asked: readonly List[]): Promise<Record<string, unknown>> {
    const answers: Record<string, unknown> = {};
    const ask = async (path: string, query: string) => {
      const asOf = at === null ? '' : `&asOf=${at}`;
      return this.payer.gateway.call(`${path}?${query}${asOf}`, this.payer);
    };
    for (const id of this.paymentIds) {
      const reply = await ask(`/v1/payments/${id}`, '');
      if (at !== null && codeOf(reply) === '404 NOT_FOUND') continue;
      answers[id] = reply.body?.data;
    }
    for (const [path, query] of asked) {
      const items: unknown[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const place: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const reply = await ask(path, `${query}${place}`);
        expect([path, query, codeOf(reply)]).toEqual([path, query, '200']);
        items.push(...itemsOf(reply));
        cursor = reply.body?.meta?.pagination?.nextCursor ?? null;
      }
      answers[`${path} ${query}`] = items;
    }
    return answers;
  }

  private async patch(path: string): Promise<void> {
    const { gateway, tenant } = this.payer;
    const email = `${this.random(1_000_000)}@example.com`;
    const phoneNumber = this.random(2) === 0 ? null : '+12125550123';
    const body = { email, phoneNumber };
    const reply = await gateway.call(path, { tenant, method: 'PATCH', body });
    if (reply.status !== 200) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
  }

  private async unlessRefused(act: (paymentId: string) => Promise<void>): Promise<void> {
    try {
      await act(this.oneOf(this.paymentIds));
    } catch (error) {
      if (!/: NOT_[A-Z_]+$/.test(String(error))) throw error;
    }
  }

  private oneOf<Item>(items: readonly Item[]): Item {
    const item = items[this.random(items.length)];
    if (item === undefined) throw new RangeError('nothing to choose from');
    return item;
  }
}
