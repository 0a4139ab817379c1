/**
 * One Idempotency-Key sent to two gateways over one PostgreSQL. The memory of a process decides nothing, and
 * connections that break at any moment create no second payment.
 */
import { randomUUID } from 'node:crypto';
import { type EventStore, postgresEventStore } from '@pis/event-store';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { contactBody, contactsIn, type Gateway, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, idOf, type Payer } from './testing/payments.js';

const timeoutMs = 20_000;
const requests = 50;
const storePrefix = 'store of the test';

let database: TestDatabase;
let admin: ReturnType<typeof openTestPool>;
let stores: EventStore[];
let pools: ReturnType<typeof openTestPool>[];
let gateways: Gateway[];
let payers: Payer[];

beforeAll(async () => {
  database = await createTestDatabase();
  admin = openTestPool(database.url, 1);
  pools = [0, 1].map((at) => openTestPool(database.url, 4, `${storePrefix} ${at}`));
  stores = pools.map((pool) => postgresEventStore({ pool, listenConnectionString: database.url }));
  gateways = await Promise.all(
    stores.map((store) => startGateway({ databaseUrl: database.url, store, projects: false })),
  );
  const payer = await createPayer(gatewayAt(0));
  // The same organization and contact, through the other gateway.
  payers = gateways.map((gateway) => ({ ...payer, gateway, pay: payThrough(gateway, payer) }));
});
afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.close()));
  await Promise.all((stores ?? []).map((store) => store.close()));
  await Promise.all((pools ?? []).map((pool) => pool.end()));
  await admin?.end();
  await database?.drop();
});

function gatewayAt(at: number): Gateway {
  const gateway = gateways[at % gateways.length];
  if (gateway === undefined) throw new Error('no gateway');
  return gateway;
}

function payThrough(gateway: Gateway, { tenant, body }: Payer): Payer['pay'] {
  return ({ key = randomUUID(), body: sent = body() } = {}) => {
    const headers = { 'idempotency-key': key };
    return gateway.call('/v1/payments/', { tenant, method: 'POST', body: sent, headers });
  };
}

const payerAt = (at: number) => {
  const payer = payers[at % payers.length];
  if (payer === undefined) throw new Error('no payer');
  return payer;
};
const range = Array.from({ length: requests }, (_, at) => at);
const isReplay = ({ headers }: Awaited<ReturnType<Payer['pay']>>) =>
  headers['idempotent-replayed'] === 'true';
const eventsOf = (paymentId: string) => gatewayAt(0).store.readStream(`payment-${paymentId}`);

it('fifty equal requests at once create one payment, on any gateway', async () => {
  const key = randomUUID();
  const replies = await Promise.all(range.map((at) => payerAt(at).pay({ key })));
  expect(new Set(replies.map(codeOf))).toEqual(new Set(['201']));
  const [paymentId = '', ...others] = new Set(replies.map(idOf));
  expect(others).toEqual([]);
  expect(replies.filter(isReplay)).toHaveLength(requests - 1);
  expect(await eventsOf(paymentId)).toHaveLength(1);
});

it('one of several different bodies wins: its senders get 201, all others 409', async () => {
  const key = randomUUID();
  const amountOf = (at: number) => 1 + (at % 7);
  const replies = await Promise.all(
    range.map((at) =>
      payerAt(at).pay({ key, body: payerAt(at).body({ paymentAmount: amountOf(at) }) }),
    ),
  );
  const won = replies.flatMap((reply, at) => (reply.status === 201 ? [amountOf(at)] : []));
  const [amount, ...others] = new Set(won);
  expect(others).toEqual([]);
  expect(won).toHaveLength(range.filter((at) => amountOf(at) === amount).length);
  expect(new Set(replies.map(codeOf))).toEqual(
    new Set(['201', '409 IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY']),
  );
});

it('connections that are cut during requests cause no second payment, and only answers 201 and 503', async () => {
  let connectionsCut = 0;
  const cut = async () => {
    const { rowCount } = await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE $1',
      [`${storePrefix}%`],
    );
    connectionsCut += rowCount ?? 0;
  };
  const keys = range.map(() => randomUUID());
  const paying = async (through: number) => {
    const replies = [];
    for (let from = 0; from < keys.length; from += 5) {
      const some = keys.slice(from, from + 5);
      const [paid] = await Promise.all([
        Promise.all(some.map((key, at) => payerAt(through + at).pay({ key }))),
        cut(),
      ]);
      replies.push(...paid);
    }
    return replies;
  };
  const [first, second] = [await paying(0), await paying(1)];
  expect(connectionsCut).toBeGreaterThan(0);
  for (const reply of [...first, ...second])
    expect(codeOf(reply)).toMatch(/^(201|503 SERVICE_UNAVAILABLE)$/);

  for (const [at, key] of keys.entries()) {
    const settled = await until(
      async () => {
        const reply = await payerAt(at).pay({ key });
        return reply.status === 201 && reply;
      },
      { timeoutMs },
    );
    const earlier = [first[at], second[at]].filter((reply) => reply?.status === 201);
    for (const reply of earlier) expect(reply && idOf(reply)).toBe(idOf(settled));
    // Each request that got 201 is now a replay: its payment exists.
    if (earlier.length > 0) expect(isReplay(settled)).toBe(true);
    expect(await eventsOf(idOf(settled))).toHaveLength(1);
  }
});

it('the same contact sent to both gateways at once is created once, and all other answers are 409', async () => {
  const { tenant } = payerAt(0);
  const body = contactBody(tenant, { email: `${randomUUID()}@x.example` });
  const before = (await contactsIn(gatewayAt(0).store)).length;
  const replies = await Promise.all(
    range.map((at) => gatewayAt(at).call('/v1/contacts/', { tenant, method: 'POST', body })),
  );
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(new Set(replies.map(codeOf))).toEqual(new Set(['201', '409 CONFLICT']));
  expect(await contactsIn(gatewayAt(0).store)).toHaveLength(before + 1);
});
