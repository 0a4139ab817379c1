import { randomUUID } from 'node:crypto';
import { payment as payments, paymentStatuses } from '@pis/domain';
import { type EventStore, memoryEventStore, repository } from '@pis/event-store';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import {
  by,
  createContact,
  type Gateway,
  type Reply,
  startGateway,
  type Tenant,
} from './testing/gateway.js';

let database: TestDatabase;
let gateway: Gateway;
let tenant: Tenant;
let contactId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway({ databaseUrl: database.url });
  tenant = await gateway.createTenant();
  contactId = await createContact(gateway, tenant);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const paymentBody = (overrides: object = {}) => ({
  originatorId: tenant.originatorId,
  contactId,
  paymentAmount: 12_345,
  direction: 'OUTBOUND',
  ...overrides,
});

interface PayOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly as?: Tenant;
  readonly on?: Gateway;
}

function pay({
  key = randomUUID(),
  body = paymentBody(),
  as = tenant,
  on = gateway,
}: PayOptions = {}) {
  const headers = { 'idempotency-key': key };
  return on.call('/v1/payments/', { tenant: as, method: 'POST', body, headers });
}

const idOf = (reply: Reply) => (reply.body?.data as { paymentId: string }).paymentId;
const codeOf = (reply: Reply) => `${reply.status} ${reply.body?.error?.code ?? ''}`.trim();
const get = (paymentId: string, as = tenant) =>
  gateway.call(`/v1/payments/${paymentId}`, { tenant: as });
const list = (query = '', as = tenant) => gateway.call(`/v1/payments/${query}`, { tenant: as });
const itemsOf = (reply: Reply) => reply.body?.data as Record<string, unknown>[];

describe('creating a payment', () => {
  it('answers 201 with the id, and the payment is QUEUED with masked accounts and its fees', async () => {
    const reply = await pay({
      body: paymentBody({ paymentNote: 'Rent', externalPaymentId: 'x-1' }),
    });
    expect(codeOf(reply)).toBe('201');
    expect(Object.keys(reply.body?.data as object)).toEqual(['paymentId']);
    expect(reply.body?.meta?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const { data } = (await get(idOf(reply))).body ?? {};
    expect(data).toEqual({
      paymentId: idOf(reply),
      status: 'QUEUED',
      createdAt: expect.stringMatching(/Z$/) as string,
      completedAt: null,
      failedAt: null,
      returnedAt: null,
      canceledAt: null,
      paymentAmount: 12_345,
      discountFee: 61,
      flatFee: 25,
      returnFee: 400,
      currencyCode: 'USD',
      paymentRail: 'ACH',
      direction: 'OUTBOUND',
      paymentNote: 'Rent',
      externalPaymentId: 'x-1',
      failureCode: null,
      failureMessage: null,
      failureReason: null,
      returnReasonCode: null,
      originator: {
        id: tenant.originatorId,
        firstName: null,
        lastName: null,
        companyName: 'Analytical Engines',
        entityType: 'BUSINESS',
        bankAccount: {
          bankName: null,
          swiftCode: null,
          subType: 'CHECKING',
          achRoutingNumber: '*****0021',
          achAccountNumber: '********1000',
        },
      },
      contact: {
        id: contactId,
        firstName: 'Ada',
        lastName: 'Lovelace',
        companyName: null,
        entityType: 'INDIVIDUAL',
        bankAccount: {
          bankName: expect.any(String) as string,
          swiftCode: null,
          subType: 'CHECKING',
          achRoutingNumber: '*****0021',
          achAccountNumber: '********6789',
        },
      },
    });
  });

  it('keeps full account numbers out of every event and every answer', async () => {
    const reply = await pay();
    const answers = JSON.stringify([await get(idOf(reply)), await list()]);
    const { events } = await gateway.store.readLog({ after: '' });
    for (const number of ['000123456789', '987654321000', '021000021'])
      expect(JSON.stringify(events) + answers).not.toContain(number);
  });

  it('needs an Idempotency-Key of 1 to 255 characters, of any alphabet', async () => {
    const withHeaders = (headers: Record<string, string>) =>
      gateway.call('/v1/payments', { tenant, method: 'POST', body: paymentBody(), headers });
    expect(codeOf(await withHeaders({}))).toBe('400 IDEMPOTENCY_KEY_REQUIRED');
    expect(codeOf(await pay({ key: '' }))).toBe('400 IDEMPOTENCY_KEY_REQUIRED');
    expect(codeOf(await pay({ key: 'k'.repeat(256) }))).toBe('400 IDEMPOTENCY_KEY_REQUIRED');
    expect(codeOf(await pay({ key: 'k'.repeat(255) }))).toBe('201');
    // Header bytes arrive as Latin-1: 255 two-byte characters are 510 bytes.
    const bytes = Buffer.from('ü'.repeat(255), 'utf8').toString('latin1');
    expect(codeOf(await pay({ key: bytes }))).toBe('201');
    expect(codeOf(await pay({ key: `${bytes}x` }))).toBe('400 IDEMPOTENCY_KEY_REQUIRED');
  });

  it('reports the missing key before a bad body, and a bad body before unknown records', async () => {
    const unknown = paymentBody({ contactId: randomUUID(), paymentAmount: 0 });
    expect(codeOf(await pay({ key: '', body: {} }))).toBe('400 IDEMPOTENCY_KEY_REQUIRED');
    expect(codeOf(await pay({ body: unknown }))).toBe('400 VALIDATION_ERROR');
    expect(codeOf(await pay({ key: '', body: '{"a":1,"a":2}' }))).toBe('400 INVALID_JSON');
  });

  it('does not find records that do not exist or are another organization’s', async () => {
    const other = await gateway.createTenant();
    const theirContact = await createContact(gateway, other);
    const bodies = [
      paymentBody({ contactId: randomUUID() }),
      paymentBody({ originatorId: randomUUID() }),
      paymentBody({ contactId: theirContact }),
      paymentBody({ originatorId: other.originatorId }),
    ];
    for (const body of bodies) expect(codeOf(await pay({ body }))).toBe('404 NOT_FOUND');
  });

  it('needs a contact of the originator with a bank account', async () => {
    const bare = await createContact(gateway, tenant, {
      email: 'bare@x.example',
      bankAccount: null,
    });
    const reply = await pay({ body: paymentBody({ contactId: bare }) });
    expect(reply.body?.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: [{ field: 'contactId', issue: 'validation_contact_bank_account_required' }],
    });
  });
});

describe('idempotency', () => {
  it('replays the same id for the same body, in any key order and with fields we do not know', async () => {
    const key = randomUUID();
    const first = await pay({ key });
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    const entries = Object.entries(paymentBody({ paymentNote: null, unknown: { a: 1 } })).reverse();
    const again = await pay({ key, body: Object.fromEntries(entries) });
    expect(codeOf(again)).toBe('201');
    expect(idOf(again)).toBe(idOf(first));
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await gateway.store.readStream(`payment-${idOf(first)}`)).toHaveLength(1);
  });

  it('answers 409 to another body, naming what differs and the original payment', async () => {
    const key = randomUUID();
    const first = await pay({ key });
    const body = paymentBody({ paymentAmount: 1, direction: 'INBOUND', contactId: randomUUID() });
    const reply = await pay({ key, body });
    expect(codeOf(reply)).toBe('409 IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY');
    expect(reply.body?.error?.message).toContain(idOf(first));
    expect(reply.body?.error?.details?.map(({ field }) => field).sort()).toEqual([
      'contactId',
      'direction',
      'paymentAmount',
    ]);
  });

  it('still replays when the contact was changed since', async () => {
    const own = await createContact(gateway, tenant, { email: 'changed@x.example' });
    const key = randomUUID();
    const body = paymentBody({ contactId: own });
    const first = await pay({ key, body });
    const cleared = { tenant, method: 'PATCH', body: { bankAccount: null } } as const;
    expect((await gateway.call(`/v1/contacts/${own}`, cleared)).status).toBe(200);
    expect(idOf(await pay({ key, body }))).toBe(idOf(first));
    expect(codeOf(await pay({ body }))).toBe('400 VALIDATION_ERROR');
  });

  it('does not reserve the key when the answer is not 201', async () => {
    const key = randomUUID();
    expect(codeOf(await pay({ key, body: paymentBody({ paymentAmount: 0 }) }))).toBe(
      '400 VALIDATION_ERROR',
    );
    expect(codeOf(await pay({ key, body: paymentBody({ contactId: randomUUID() }) }))).toBe(
      '404 NOT_FOUND',
    );
    expect(codeOf(await pay({ key }))).toBe('201');
  });

  it('is an organization’s own: another one may use the same key', async () => {
    const key = randomUUID();
    const other = await gateway.createTenant();
    const theirContact = await createContact(gateway, other);
    const first = await pay({ key });
    const body = paymentBody({ originatorId: other.originatorId, contactId: theirContact });
    const second = await pay({ key, body, as: other });
    expect(codeOf(second)).toBe('201');
    expect(idOf(second)).not.toBe(idOf(first));
  });

  it('makes one payment of fifty parallel requests', async () => {
    const key = randomUUID();
    const replies = await Promise.all(Array.from({ length: 50 }, () => pay({ key })));
    expect(new Set(replies.map(codeOf))).toEqual(new Set(['201']));
    expect(new Set(replies.map(idOf)).size).toBe(1);
    const replayed = replies.filter(({ headers }) => headers['idempotent-replayed'] === 'true');
    expect(replayed).toHaveLength(49);
  });

  it('lets one of several bodies in parallel win and refuses the others', async () => {
    const key = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        pay({ key, body: paymentBody({ paymentAmount: at + 1 }) }),
      ),
    );
    const codes = replies.map(codeOf);
    expect(codes.filter((code) => code === '201')).toHaveLength(1);
    expect(new Set(codes).size).toBe(2);
  });

  it('replays when the process died between the append and the answer', async () => {
    const { store, dieNext } = forgetfulStore();
    const fresh = await startGateway({ databaseUrl: database.url, store, projects: false });
    try {
      const own = await fresh.createTenant();
      const body = paymentBody({
        originatorId: own.originatorId,
        contactId: await createContact(fresh, own),
      });
      const key = randomUUID();
      dieNext();
      expect(codeOf(await pay({ key, body, as: own, on: fresh }))).toBe('500 INTERNAL_ERROR');
      const retry = await pay({ key, body, as: own, on: fresh });
      expect(codeOf(retry)).toBe('201');
      expect(retry.headers['idempotent-replayed']).toBe('true');
      expect(await store.readStream(`payment-${idOf(retry)}`)).toHaveLength(1);
    } finally {
      await fresh.close();
    }
  });
});

/** A store whose next append happens although nobody hears of it. */
function forgetfulStore(): { store: EventStore; dieNext: () => void } {
  const memory = memoryEventStore();
  let dies = false;
  const append: EventStore['append'] = async (...args) => {
    const result = await memory.append(...args);
    if (!dies) return result;
    dies = false;
    throw new Error('the process died: account 000123456789');
  };
  return { store: { ...memory, append }, dieNext: () => void (dies = true) };
}

describe('reading payments', () => {
  it('refuses an id that is none, and does not find an unknown or foreign one', async () => {
    const other = await gateway.createTenant();
    const paymentId = idOf(await pay());
    expect(codeOf(await get('not-a-uuid'))).toBe('400 VALIDATION_ERROR');
    expect(codeOf(await get(randomUUID()))).toBe('404 NOT_FOUND');
    expect(codeOf(await get(paymentId, other))).toBe('404 NOT_FOUND');
    expect(codeOf(await get(paymentId.toUpperCase()))).toBe('200');
  });

  it('lists what was just created, newest first, without accounts and reasons', async () => {
    const own = await gateway.createTenant();
    const theirs = await createContact(gateway, own);
    const body = paymentBody({ originatorId: own.originatorId, contactId: theirs });
    for (let count = 1; count <= 5; count += 1) {
      const paymentId = idOf(await pay({ body, as: own }));
      const reply = await list('', own);
      expect(itemsOf(reply)).toHaveLength(count);
      expect(itemsOf(reply).map((item) => item['paymentId'])).toContain(paymentId);
    }
    const reply = await list('?limit=2', own);
    expect(reply.body?.meta?.pagination).toMatchObject({ limit: 2 });
    const [item] = itemsOf(reply);
    expect(item).not.toHaveProperty('failureReason');
    expect(item).not.toHaveProperty('returnReasonCode');
    expect(item?.['originator']).not.toHaveProperty('bankAccount');
    expect(item?.['contact']).not.toHaveProperty('bankAccount');
  });

  it('pages through all of them, each once, and ends with a null cursor', async () => {
    const own = await gateway.createTenant();
    const theirs = await createContact(gateway, own);
    const body = paymentBody({ originatorId: own.originatorId, contactId: theirs });
    const created = await Promise.all(Array.from({ length: 25 }, () => pay({ body, as: own })));
    const seen: unknown[] = [];
    for (let query: string | null = '?limit=10'; query !== null; ) {
      const reply = await list(query, own);
      seen.push(...itemsOf(reply).map((item) => item['paymentId']));
      const cursor = reply.body?.meta?.pagination?.nextCursor ?? null;
      query = cursor === null ? null : `?limit=10&cursor=${cursor}`;
    }
    expect(seen).toHaveLength(25);
    expect(new Set(seen)).toEqual(new Set(created.map(idOf)));
  });

  it('refuses bad parameters and foreign or altered cursors, all at once', async () => {
    const { nextCursor } = (await list('?limit=1')).body?.meta?.pagination ?? {};
    expect(typeof nextCursor).toBe('string');
    const other = await gateway.createTenant();
    expect(codeOf(await list(`?cursor=${nextCursor}`, other))).toBe('400 VALIDATION_ERROR');
    expect(codeOf(await list(`?cursor=${nextCursor}`))).toBe('200');
    const reply = await list(
      '?cursor=made-up&limit=0&status=DONE&status=QUEUED&unknown=1&unknown=2',
    );
    expect(reply.body?.error?.details?.map(({ field, issue }) => `${field} ${issue}`)).toEqual([
      'limit validation_min',
      'status validation_type',
      'cursor validation_cursor',
    ]);
  });

  it.each([
    ['status=QUEUED', true],
    ['status=COMPLETED', false],
    ['direction=INBOUND', false],
    ['createdFrom=2001-01-01&createdTo=2001-12-31', false],
    ['createdFrom=2001-01-01T00:00:00Z', true],
  ])('filters by %s', async (query, found) => {
    const paymentId = idOf(await pay());
    const reply = await list(`?${query}&limit=100`);
    const ids = itemsOf(reply).map((item) => item['paymentId']);
    expect(ids.includes(paymentId)).toBe(found);
  });
});

describe('moving a sandbox payment by hand', () => {
  const simulate = (paymentId: string, body: object) =>
    gateway.call(`/v1/sandbox/payments/${paymentId}/simulate`, { tenant, method: 'POST', body });

  it('follows the transitions and refuses every other', async () => {
    const paymentId = idOf(await pay());
    expect(codeOf(await simulate(paymentId, { outcome: 'complete' }))).toBe('409 CONFLICT');
    const at = new Date().toISOString();
    const command = { type: 'ProcessPayment', at, data: { railReference: 'r' } } as const;
    await repository(gateway.store, payments).execute(paymentId, command, by);

    expect(codeOf(await simulate(paymentId, { outcome: 'late_confirm' }))).toBe('409 CONFLICT');
    expect((await simulate(paymentId, { outcome: 'time_out' })).body?.data).toMatchObject({
      status: 'FAILED_IN_FLIGHT',
    });
    expect(codeOf(await simulate(paymentId, { outcome: 'complete' }))).toBe('409 CONFLICT');
    expect((await simulate(paymentId, { outcome: 'late_confirm' })).body?.data).toMatchObject({
      status: 'COMPLETED',
      failureReason: null,
    });
    const returned = await simulate(paymentId, { outcome: 'return', returnReasonCode: 'R01' });
    expect(returned.body?.data).toMatchObject({ status: 'RETURNED', returnReasonCode: 'R01' });
    expect(codeOf(await simulate(paymentId, { outcome: 'fail' }))).toBe('409 CONFLICT');
    expect(paymentStatuses).toContain((returned.body?.data as { status: string }).status);
  });

  it('is not there in production', async () => {
    const production = await startGateway({
      databaseUrl: database.url,
      environment: 'production',
      projects: false,
    });
    try {
      const own = await production.createTenant();
      const path = `/v1/sandbox/payments/${randomUUID()}/simulate`;
      const call = { tenant: own, method: 'POST', body: { outcome: 'fail' } } as const;
      expect(codeOf(await production.call(path, call))).toBe('404 NOT_FOUND');
    } finally {
      await production.close();
    }
  });
});
