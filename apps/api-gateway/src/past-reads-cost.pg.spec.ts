/** What reads of the past may cost: no key may take the gateway from the other organizations. */
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { PG_POOL } from '@pis/service-kit';
import type pg from 'pg';
import { signLog } from './testing/audit.js';
import { createContact, type Gateway, startGatewayWithDatabase } from './testing/gateway.js';
import { codeOf, createPayer, idOf, idsOf, type Payer } from './testing/payments.js';

const limitMs = 120_000;
const requests = 40;
const listsAtOnceMax = 4;
const paymentListsAtOnceMax = 3;
const proofsAtOnceMax = 8;

/** Holds the reads of streams. */
function heldStore() {
  const held: (() => void)[] = [];
  const memory = memoryEventStore();
  let closedFor: string | null = null;
  let failingFor: string | null = null;
  let reads = 0;
  let contactReads = 0;
  /** Events of contacts that are asked for at the same time. */
  let [asked, askedMost] = [0, 0];
  const store: EventStore = {
    ...memory,
    readStream: async (streamId, options) => {
      if (streamId.startsWith('payment-')) reads += 1;
      if (streamId === closedFor) await new Promise<void>((resolve) => held.push(resolve));
      if (!streamId.startsWith('contact-')) return memory.readStream(streamId, options);
      contactReads += 1;
      if (streamId === failingFor) throw new Error('unreadable');
      const count = options?.maxCount ?? Infinity;
      asked += count;
      askedMost = Math.max(askedMost, asked);
      return memory.readStream(streamId, options).finally(() => (asked -= count));
    },
    readStreams: async (streamIds) => {
      if (closedFor !== null && streamIds.includes(closedFor))
        await new Promise<void>((resolve) => held.push(resolve));
      return memory.readStreams(streamIds);
    },
  };
  return {
    ...{ store, held, reads: () => reads, contactReads: () => contactReads },
    fail: (streamId: string | null) => (failingFor = streamId),
    /** At most at a time while it runs. */
    async askedDuring(act: () => Promise<unknown>): Promise<number> {
      askedMost = 0;
      await act();
      return askedMost;
    },
    close: (streamId: string) => (closedFor = streamId),
    open() {
      closedFor = null;
      for (const release of held.splice(0)) release();
    },
  };
}

let gateway: Gateway;
let payer: Payer;
let other: Payer;
const gate = heldStore();

beforeAll(async () => {
  gateway = await startGatewayWithDatabase({
    store: gate.store,
    changes: { PIS_REQUEST_TIMEOUT_MS: limitMs },
  });
  payer = await createPayer(gateway);
  other = await createPayer(gateway);
});
afterAll(() => gateway?.close());

const now = () => new Date().toISOString();

/** While reads of a stream are held, few lists of its organization are read, and those of another one are answered. */
async function expectFewAtOnce(path: () => string, streamId: string): Promise<void> {
  const ask = ({ tenant }: Payer) => gateway.call(path(), { tenant });
  gate.close(streamId);
  const asked = Array.from({ length: requests }, () => ask(payer));
  await until(() => gate.held.length >= listsAtOnceMax, { timeoutMs: limitMs });
  for (let again = 0; again < requests; again += 1) expect(codeOf(await ask(other))).toBe('200');
  expect(gate.held).toHaveLength(listsAtOnceMax);
  gate.open();
  expect(new Set((await Promise.all(asked)).map(codeOf))).toEqual(new Set(['200']));
}

it.each(['payment', 'contact'])(
  'reads few lists of %ss of an organization as of a time at once, and those of others beside them',
  async (kind) => {
    for (const one of [payer, other]) await one.pay();
    const paymentId = idOf(await payer.pay());
    const contactId = await createContact(gateway, payer.tenant, { firstName: kind });
    const streamId = `${kind}-${kind === 'payment' ? paymentId : contactId}`;
    await expectFewAtOnce(() => `/v1/${kind}s/?limit=1&asOf=${now()}`, streamId);
  },
  limitMs,
);

it(
  'asks for few events at a time for lists of contacts that were changed often',
  async () => {
    const contacts = 30;
    const changes = 60;
    const writer = await createPayer(gateway);
    const { tenant } = writer;
    const ids = [writer.contactId];
    while (ids.length < contacts)
      ids.push(await createContact(gateway, tenant, { email: `${ids.length}@x.example` }));
    for (let change = 0; change < changes; change += 1) {
      const body = { phoneNumber: `+121255501${10 + change}` };
      const call = { tenant, method: 'PATCH', body } as const;
      expect(codeOf(await gateway.call(`/v1/contacts/${ids[0]}`, call))).toBe('200');
    }
    const at = now();
    const asked = await gate.askedDuring(async () => {
      const lists = await Promise.all(
        Array.from({ length: 2 * listsAtOnceMax }, () =>
          gateway.call(`/v1/contacts/?limit=100&asOf=${at}`, { tenant }),
        ),
      );
      for (const { body } of lists) {
        const shown = body?.data as { contactId: string; phoneNumber: string }[];
        expect(shown.map(({ contactId }) => contactId).toSorted()).toEqual(ids.toSorted());
        const changed = shown.find(({ contactId }) => contactId === ids[0]);
        expect(changed?.phoneNumber).toBe(`+121255501${9 + changes}`);
      }
    });
    // Everybody waits for the queries that read them.
    expect(asked).toBeLessThanOrEqual(1_000);
  },
  limitMs,
);

it(
  'reads no further streams for a list of contacts once one of them cannot be read',
  async () => {
    const writer = await createPayer(gateway);
    const { tenant } = writer;
    const contacts = 60;
    let newest = writer.contactId;
    for (let made = 1; made < contacts; made += 1)
      newest = await createContact(gateway, tenant, { email: `${made}@y.example` });
    const list = async () =>
      codeOf(await gateway.call(`/v1/contacts/?limit=100&asOf=${now()}`, { tenant }));
    const before = gate.contactReads();
    gate.fail(`contact-${newest}`);
    try {
      expect(await list()).toBe('500 INTERNAL_ERROR');
    } finally {
      gate.fail(null);
    }
    // Readers that still went on would read while this list is read.
    expect(await list()).toBe('200');
    const begunMax = 2 * listsAtOnceMax;
    expect(gate.contactReads() - before).toBeLessThanOrEqual(contacts + begunMax);
  },
  limitMs,
);

it(
  'reads few pages of the feed of an organization at once, and those of others beside them',
  async () => {
    const paymentId = idOf(await payer.pay());
    await other.pay();
    await expectFewAtOnce(() => '/v1/events?limit=100', `payment-${paymentId}`);
  },
  limitMs,
);

it(
  'takes only matching events of the feed from the database',
  async () => {
    const writer = await createPayer(gateway);
    const pool = gateway.app.get<pg.Pool>(PG_POOL);
    await pool.query(
      `INSERT INTO integration_events (organization_id, position, event_id, event_type, stream_id,
          revision, payment_id, occurred_at)
        SELECT $1, lpad(n::text, 20, '0'), gen_random_uuid(), 'payment.queued', gen_random_uuid(), 0,
            gen_random_uuid(), now() FROM generate_series(1, 25000) n`,
      [writer.tenant.organizationId],
    );
    let rows = 0;
    const query = pool.query.bind(pool) as (...asked: unknown[]) => Promise<pg.QueryResult>;
    const counting = async (...asked: unknown[]) => {
      const result = await query(...asked);
      if (JSON.stringify(asked).includes(writer.tenant.organizationId)) rows += result.rows.length;
      return result;
    };
    pool.query = counting as typeof pool.query;
    try {
      const filter = '/v1/events?eventType=payment.returned';
      const first = await gateway.call(filter, writer);
      const after = first.body?.meta?.pagination?.nextCursor;
      const second = await gateway.call(`${filter}&after=${after}`, writer);
      const next = second.body?.meta?.pagination?.nextCursor;
      expect([first, second].map((reply) => [codeOf(reply), reply.body?.data])).toEqual([
        ['200', []],
        ['200', []],
      ]);
      // The first page has looked through 20,000 events, and the second one through the rest.
      expect(next).not.toBe(after);
      expect(rows).toBeLessThan(100);
    } finally {
      pool.query = query as typeof pool.query;
    }
  },
  limitMs,
);

it(
  'lists few pages of payments of an organization at once, and those of others beside them',
  async () => {
    for (const one of [payer, other]) await one.pay();
    const pool = gateway.app.get<pg.Pool>(PG_POOL);
    const query = pool.query.bind(pool) as (...asked: unknown[]) => Promise<pg.QueryResult>;
    const held: (() => void)[] = [];
    let isHeld = true;
    // As if the label were on very many payments.
    pool.query = (async (...asked: unknown[]) => {
      const text = JSON.stringify(asked);
      const isList = text.includes('payments.list') && text.includes(payer.tenant.organizationId);
      if (isHeld && isList) await new Promise<void>((resolve) => held.push(resolve));
      return query(...asked);
    }) as typeof pool.query;
    try {
      const ask = ({ list, contactId }: Payer) =>
        list(`?externalPaymentId=same&contactId=${contactId}`);
      const asked = Array.from({ length: requests }, () => ask(payer));
      await until(() => held.length >= paymentListsAtOnceMax, { timeoutMs: limitMs });
      for (let again = 0; again < requests; again += 1)
        expect(codeOf(await ask(other))).toBe('200');
      expect(held).toHaveLength(paymentListsAtOnceMax);
      isHeld = false;
      for (const release of held) release();
      expect(new Set((await Promise.all(asked)).map(codeOf))).toEqual(new Set(['200']));
    } finally {
      pool.query = query as typeof pool.query;
    }
  },
  limitMs,
);

it(
  'makes few proofs of an organization at once',
  async () => {
    const paymentId = idOf(await payer.pay());
    gate.close(`payment-${paymentId}`);
    const asked = Array.from({ length: requests }, () =>
      gateway.call(`/v1/payments/${paymentId}/proof`, payer),
    );
    // All of them read whose payment it is.
    await until(() => gate.held.length >= requests, { timeoutMs: limitMs });
    const mine = gate.held.splice(0);
    for (const release of mine) release();
    await until(() => gate.held.length >= proofsAtOnceMax, { timeoutMs: limitMs });
    expect(gate.held).toHaveLength(proofsAtOnceMax);
    gate.open();
    await signLog(gateway);
    const codes = (await Promise.all(asked)).map(codeOf);
    expect(new Set(codes)).toEqual(new Set(['200']));
  },
  limitMs,
);

it(
  'reads a bounded number of payments with one label for a request, and the rest on further pages',
  async () => {
    const body = payer.body({ externalPaymentId: 'same' });
    const count = 1_010;
    for (let made = 0; made < count; made += 10)
      await Promise.all(Array.from({ length: 10 }, () => payer.pay({ body })));
    const query = `externalPaymentId=same&status=BLOCKED&limit=1&asOf=${now()}`;
    const before = gate.reads();
    const first = await payer.list(`?${query}`);
    expect([codeOf(first), idsOf(first)]).toEqual(['200', []]);
    expect(gate.reads() - before).toBeLessThanOrEqual(1_000);
    const cursor = first.body?.meta?.pagination?.nextCursor;
    const second = await payer.list(`?${query}&cursor=${cursor}`);
    expect(idsOf(second)).toEqual([]);
    expect(second.body?.meta?.pagination?.nextCursor).toBeNull();
  },
  limitMs,
);
