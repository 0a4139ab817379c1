/** What reads of webhooks may cost: no user may take the connections of the dashboard from the other organizations. */
import { randomUUID } from 'node:crypto';
import { digestOfApiKey } from '@pis/commands';
import { until } from '@pis/local-servers/testing';
import { apiKeysInUseMax, endedApiKeysMax } from '@pis/read-models';
import type pg from 'pg';
import { type Board, type BoardReply, startBoard } from './testing/board.js';

const limitMs = 60_000;
const requests = 20;
const endpoints = 12;

let board: Board;
let organizationId: string;
let cookie: string;
let other: string;
let webhookIds: readonly string[];

beforeAll(async () => {
  board = await startBoard();
  const admin = await board.newUser('admin');
  ({ organizationId } = admin);
  cookie = await board.signedIn(admin);
  other = await board.signedIn(await board.newUser('admin'));
  webhookIds = await createWebhooks();
}, limitMs);
afterAll(() => board?.close());

const dataOf = <Data>({ body, text, status }: BoardReply): Data => {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
};

/** More than may be subscribed to one event. */
async function createWebhooks(): Promise<readonly string[]> {
  const ids: string[] = [];
  while (ids.length < endpoints) {
    const body = { url: 'https://203.0.113.7/', subscribedEvents: ['payment.failed'] };
    const created = await board.call('/webhooks', { method: 'POST', cookie, body });
    const { id } = dataOf<{ id: string }>(created);
    ids.push(id);
    const none = { method: 'PATCH', cookie, body: { subscribedEvents: [] } } as const;
    dataOf(await board.call(`/webhooks/${id}`, none));
  }
  return ids;
}

async function createPayment(): Promise<string> {
  const body = {
    ...{ idempotencyKey: randomUUID(), paymentAmount: 100, direction: 'INBOUND' },
    originatorId: await board.newOriginator(organizationId),
    recipient: { entityType: 'BUSINESS', companyName: 'Payer LLC' },
  };
  const created = await board.call('/payments', { method: 'POST', cookie, body });
  return dataOf<{ paymentId: string }>(created).paymentId;
}

/** Sees the statements on deliveries of the organization before PostgreSQL does, until `again` is called. */
function watched(before: () => Promise<void>): { readonly again: () => void } {
  const query = board.pool.query.bind(board.pool) as (...given: unknown[]) => Promise<unknown>;
  const watching = async (...given: unknown[]) => {
    const [first, second] = given as [string | pg.QueryConfig, unknown];
    const { text, values } = typeof first === 'string' ? { text: first, values: second } : first;
    const isWatched =
      text.includes('webhook_delivery_records') && JSON.stringify(values).includes(organizationId);
    if (isWatched) await before();
    return query(...given);
  };
  Object.assign(board.pool, { query: watching });
  return { again: () => Object.assign(board.pool, { query }) };
}

it('the page of a payment reads its deliveries in one statement, however many endpoints there are', async () => {
  const paymentId = await createPayment();
  let statements = 0;
  const { again } = watched(() => {
    statements += 1;
    return Promise.resolve();
  });
  const page = await board.call(`/payments/${paymentId}`, { cookie });
  again();
  expect(dataOf(page)).toMatchObject({ deliveries: [] });
  expect(statements).toBe(1);
});

it.each([
  ['pages of payments', 3, async () => `/payments/${await createPayment()}`],
  ['summaries of endpoints', 2, () => Promise.resolve('/webhooks')],
  ['lists of deliveries', 3, () => Promise.resolve(`/webhooks/${webhookIds[0]}/deliveries`)],
])(
  'reads few %s of an organization at a time, and answers others beside them',
  async (_, atOnceMax, pathOf) => {
    const path = await pathOf();
    const held: (() => void)[] = [];
    const { again } = watched(() => new Promise<void>((resolve) => held.push(resolve)));
    const asked = Array.from({ length: requests }, () => board.call(path, { cookie }));
    try {
      await until(() => held.length >= atOnceMax, { timeoutMs: limitMs });
      for (let calls = 0; calls < requests; calls += 1)
        dataOf(await board.call('/webhooks', { cookie: other }));
      expect(held).toHaveLength(atOnceMax);
    } finally {
      again();
      for (const release of held) release();
    }
    for (const reply of await Promise.all(asked)) dataOf(reply);
  },
  limitMs,
);

it(
  'searches the log for one unlisted API key of an organization at a time, and others and listed keys do not wait',
  async () => {
    const listed = await listedKey();
    const revoke = (apiKeyId: string) =>
      board.call(`/api-keys/${apiKeyId}/revoke`, { method: 'POST', cookie });
    const { store } = board;
    const { readLog } = store;
    const held: (() => void)[] = [];
    store.readLog = async (...given) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return readLog.call(store, ...given);
    };
    const asked = Array.from({ length: requests }, () => revoke(randomUUID()));
    try {
      await until(() => held.length >= 1, { timeoutMs: limitMs });
      for (let calls = 0; calls < requests; calls += 1)
        dataOf(await board.call('/webhooks', { cookie: other }));
      expect((await revoke(listed)).status).toBe(200);
      expect(held).toHaveLength(1);
    } finally {
      store.readLog = readLog;
      for (const release of held) release();
    }
    for (const { status } of await Promise.all(asked)) expect(status).toBe(404);
  },
  limitMs,
);

/** The ID of an API key of the organization that is in the list. */
async function listedKey(): Promise<string> {
  const body = { type: 'read_only' };
  const created = await board.call('/api-keys', { method: 'POST', cookie, body });
  const { apiKeyId, apiKey } = dataOf<{ apiKeyId: string; apiKey: string }>(created);
  await board.pool.query(
    `INSERT INTO api_keys (api_key_id, organization_id, digest, key_type, environment, created_at, revision)
     VALUES ($1, $2, $3, 'read_only', 'sandbox', now(), 0)`,
    [apiKeyId, organizationId, digestOfApiKey(apiKey)],
  );
  return apiKeyId;
}

it('an organization has a bounded number of API keys in use, and the list shows all of them and few others', async () => {
  const admin = await board.newUser('admin');
  const own = await board.signedIn(admin);
  const add = (count: number, revokedAt: string | null, expiresAt: string | null) =>
    board.pool.query(
      `INSERT INTO api_keys (api_key_id, organization_id, digest, key_type, environment, created_at, revoked_at,
          expires_at, revision)
        SELECT gen_random_uuid(), $1, md5(n::text), 'read_only', 'sandbox', now(), $3, $4, 0
          FROM generate_series(1, $2) n`,
      [admin.organizationId, count, revokedAt, expiresAt],
    );
  const past = '2026-01-01T00:00:00.000Z';
  await add(apiKeysInUseMax, null, null);
  await add(600, past, null);
  await add(600, null, past);
  const listed = dataOf<readonly { revokedAt: string | null; expiresAt: string | null }[]>(
    await board.call('/api-keys', { cookie: own }),
  );
  expect(listed).toHaveLength(apiKeysInUseMax + endedApiKeysMax);
  const inUse = listed.filter((key) => key.revokedAt === null && key.expiresAt === null);
  expect(inUse).toHaveLength(apiKeysInUseMax);
  const create = () =>
    board.call('/api-keys', { method: 'POST', cookie: own, body: { type: 'read_only' } });
  expect((await create()).status).toBe(409);
  await board.pool.query(
    `UPDATE api_keys SET revoked_at = now() WHERE api_key_id =
      (SELECT api_key_id FROM api_keys WHERE organization_id = $1 AND revoked_at IS NULL AND expires_at IS NULL LIMIT 1)`,
    [admin.organizationId],
  );
  expect((await create()).status).toBe(200);
});
