/** The pages over the real commands, with the tables of links in PostgreSQL. */
import { randomUUID } from 'node:crypto';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { defaultCutoffs, sandboxDirectory as banks } from '@pis/bank-rails';
import { createOrganization, createOriginator, PaymentLinks, unrefused } from '@pis/commands';
import { dashboardPaymentSchema, validate } from '@pis/contracts';
import { linkLifetimeMs, paymentRails, payment as payments } from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  memoryEventStore,
  openAddresses,
  repository,
  sealedStore,
  StreamStates,
  systemContext,
} from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { PaymentLinkAccesses, PaymentLinkTable } from '@pis/read-models';
import { createLogger, EVENT_STORE, KEYRING, LOG_WATCH, LOGGER, PG_POOL } from '@pis/service-kit';
import type pg from 'pg';
import { describeLinkPages, type LinkPagesScene } from './testing/link-pages-suite.js';
import { startModule } from './testing/pages-server.js';

const by = systemContext('test');
const poolMax = 4;
const account = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
} as const;

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let store: EventStore;
let app: NestFastifyApplication;
let organizationId: string;
let originatorId: string;

const platformWith = (databasePool: pg.Pool) =>
  new Map<symbol, unknown>([
    [EVENT_STORE, store],
    [KEYRING, keyring],
    [PG_POOL, databasePool],
    [LOGGER, createLogger('test', 'silent')],
    [LOG_WATCH, { check: () => undefined }],
  ]);

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, poolMax);
  keyring = await testKeyringOn(pool);
  store = sealedStore(memoryEventStore(), keyring);
  app = await startModule({ platform: platformWith(pool) });
  const feeSchedule = { discountBasisPoints: 50, flatFeeMinor: 25, returnFeeMinor: 400 };
  ({ organizationId } = unrefused(
    await createOrganization({ store, by }, { name: 'Northwind Traders', feeSchedule }),
  ));
  const companyName = 'Analytical Engines';
  const email = 'money@example.com';
  const input = { entityType: 'BUSINESS', companyName, email, bankAccount: account };
  ({ originatorId } = unrefused(
    await createOriginator({ store, by }, { organizationId, input, keyring, banks }),
  ));
});
afterAll(async () => {
  await app.close();
  await pool.end();
  await database.drop();
});

/** As the dashboard's process has it. */
function linksAt(clock: () => string): PaymentLinks {
  return new PaymentLinks({
    ...{ store, keyring, banks, clock },
    ...{ rails: { connectedRails: paymentRails, cutoffs: defaultCutoffs } },
    ...{ states: new StreamStates(), ownWrites: { note: () => undefined } },
    ...{ table: new PaymentLinkTable(pool), accesses: new PaymentLinkAccesses(pool) },
    publicUrl: 'https://pay.example',
  });
}

const now = () => new Date().toISOString();

async function requested(
  direction: 'INBOUND' | 'OUTBOUND' = 'INBOUND',
  clock = now,
  context: CommandContext = by,
) {
  const recipient = { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' };
  const body = { originatorId, direction, recipient, paymentAmount: 123_456 };
  const valid = validate(dashboardPaymentSchema, body);
  if (!valid.ok) throw new Error(JSON.stringify(valid.problems));
  const requester = { userId: randomUUID(), idempotencyKey: randomUUID() };
  const asked = await linksAt(clock).request(organizationId, valid.value, requester, context);
  const { paymentId, url } = unrefused(asked);
  return { paymentId, path: new URL(url ?? '').pathname };
}

const get = (url: string) => app.inject({ url, headers: { 'user-agent': 'Phone/1' } });

async function accessesOf(paymentId: string) {
  const listed = await linksAt(now).accesses(organizationId, paymentId);
  if ('refused' in listed) throw new Error(listed.refused);
  return listed;
}

/** Repeated opens are counted within a second. @returns the record, once it counts so many */
function untilCounted(paymentId: string, of: 'open' | 'submit', expected: number) {
  const counted = async () => {
    const listed = await accessesOf(paymentId);
    const sum = listed.reduce((total, { kind, count }) => total + (kind === of ? count : 0), 0);
    return sum === expected && listed;
  };
  return until(counted, { timeoutMs: 60_000 });
}

const address = {
  addressLine1: '12 St James Square',
  city: 'Sacramento',
  state: 'CA',
  postalCode: '95814',
  countryCode: 'US',
};

async function formOf(path: string): Promise<string> {
  const { body } = await get(path);
  const formToken = /name="formToken" value="([0-9a-f]{64})"/.exec(body)?.[1] ?? '';
  const confirmation = { achAccountNumberConfirmation: account.achAccountNumber };
  return new URLSearchParams({ formToken, ...account, ...confirmation, ...address }).toString();
}

const post = (url: string, payload: string, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'Phone/2',
      ...headers,
    },
    payload,
  });

async function paymentOf(paymentId: string) {
  return (await repository(store, payments).load(paymentId)).state;
}

it('a request is opened, submitted and followed by its link, and each visit is recorded', async () => {
  const { paymentId, path } = await requested();
  const page = await get(path);
  expect(page.statusCode).toBe(200);
  for (const text of ['Northwind Traders', 'Analytical Engines', 'Ada Lovelace'])
    expect(page.body).toContain(text);
  // 0.5 % of the amount, rounded down, and 25 cents.
  for (const amount of ['$1,234.56', '$6.42', '$1,240.98']) expect(page.body).toContain(amount);
  const sent = await post(path, await formOf(path));
  expect([sent.statusCode, sent.headers.location]).toEqual([303, path]);
  expect((await paymentOf(paymentId))?.status).toBe('QUEUED');
  const status = await get(path);
  expect(status.body).toContain('<h1>Payment status</h1>');
  expect(status.body).toContain('Queued');
  const listed = await untilCounted(paymentId, 'open', 3);
  const phone = (userAgent: string) => ({ ip: '127.0.0.1', userAgent });
  expect(listed.filter(({ kind }) => kind === 'submit')).toMatchObject([
    { outcome: 'QUEUED', visitor: phone('Phone/2') },
  ]);
  for (const open of listed.filter(({ kind }) => kind === 'open'))
    expect(open).toMatchObject({ outcome: null, visitor: phone('Phone/1') });
});

it('the event of a submission names the request by an ID of ours, and no trace of the stranger', async () => {
  const traced = (traceId: string) => `00-${traceId}-00f067aa0ba902b7-01`;
  const [creation, submission] = ['4bf92f3577b34da6a3ce929d0e0e4736', 'af'.repeat(16)].map(traced);
  const creator = { requestId: 'creation', correlationId: 'creation', traceparent: creation ?? '' };
  const { paymentId, path } = await requested('INBOUND', now, { ...by, ...creator });
  const own = { traceparent: submission ?? '', 'x-request-id': 'submission' };
  const answer = await post(path, await formOf(path), own);
  expect(answer.statusCode).toBe(303);
  // Whoever opens the page is not asked: the event keeps the ID forever.
  const requestId = answer.headers['x-request-id'];
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  const [awaiting, queued] = await store.readStream(`payment-${paymentId}`);
  expect(awaiting?.metadata).toMatchObject(creator);
  expect(queued?.metadata).toMatchObject({
    actor: `link:${paymentId}`,
    requestId,
    correlationId: 'creation',
    causationId: awaiting?.id,
    traceparent: null,
  });
  const link = awaiting?.data['link'] as { readonly counterpartyId: string };
  const [caller] = await openAddresses(store, queued ? [queued] : []);
  expect(caller).toEqual({ owner: `contact:${link.counterpartyId}`, address: '127.0.0.1' });
});

it('a form that another site sends is refused, and the visit is recorded', async () => {
  const { paymentId, path } = await requested();
  const form = await formOf(path);
  const foreign = await post(path, form, { 'sec-fetch-site': 'cross-site' });
  expect(foreign.statusCode).toBe(403);
  expect((await paymentOf(paymentId))?.status).toBe('AWAITING_CONFIRMATION');
  const submits = (await accessesOf(paymentId)).filter(({ kind }) => kind === 'submit');
  expect(submits).toMatchObject([{ outcome: 'FOREIGN_FORM', count: 1 }]);
});

it('a payment to the counterparty shows no fee', async () => {
  const { path } = await requested('OUTBOUND');
  const { body } = await get(path);
  expect(body).toContain('Analytical Engines wants to send you a payment.');
  expect(body).toContain('$1,234.56');
  expect(body).not.toContain('Processing fee');
});

it('a canceled link is unknown at once, also to those who have its page open', async () => {
  const { paymentId, path } = await requested();
  const form = await formOf(path);
  const canceled = await linksAt(now).cancel(organizationId, paymentId, by);
  expect(canceled).toMatchObject({ status: 'CANCELED' });
  const unknown = `/pay/${'U'.repeat(43)}`;
  for (const ask of [get, (to: string) => post(to, form)]) {
    const { body } = await ask(unknown);
    expect(await ask(path)).toMatchObject({ statusCode: 404, body });
  }
});

it('an expired link shows who created it, and takes no submission', async () => {
  const created = Date.now() - linkLifetimeMs;
  const { paymentId, path } = await requested('INBOUND', () => new Date(created).toISOString());
  for (const answer of [await get(path), await post(path, await formOf(path))]) {
    expect(answer.statusCode).toBe(410);
    expect(answer.body).toContain('Analytical Engines created this link to request a payment.');
    expect(answer.body).not.toContain('Lovelace');
    expect(answer.body).not.toContain('1,234');
  }
  expect((await paymentOf(paymentId))?.status).toBe('AWAITING_CONFIRMATION');
});

const accessCount = async () =>
  Number((await pool.query('SELECT count(*) FROM payment_link_accesses')).rows[0]?.count);

it('requests of one visitor are counted in few rows, however many they are', async () => {
  const created = Date.now() - linkLifetimeMs;
  const expired = await requested('INBOUND', () => new Date(created).toISOString());
  const open = await requested();
  const before = await accessCount();
  for (let round = 0; round < 100; round += 1) {
    await app.inject({ url: expired.path, headers: { 'user-agent': `Phone/${round}` } });
    await post(expired.path, '');
    await get(open.path);
  }
  // The clock may reach another minute or hour meanwhile.
  expect((await accessCount()) - before).toBeLessThan(20);
  await untilCounted(expired.paymentId, 'open', 100);
  await untilCounted(expired.paymentId, 'submit', 100);
  await untilCounted(open.paymentId, 'open', 100);
});

it('of many submissions of one link at the same time one is accepted', async () => {
  const { paymentId, path } = await requested();
  const form = await formOf(path);
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(path, form)));
  const statuses = answers.map(({ statusCode }) => statusCode).toSorted();
  expect(statuses).toEqual([303, ...Array.from({ length: 19 }, () => 409)]);
  expect(await store.readStream(`payment-${paymentId}`)).toHaveLength(2);
});

it('without its database it answers 503 with a page', async () => {
  const nowhere = openTestPool('postgres://nobody@127.0.0.1:1/none', 1);
  const away = await startModule({ platform: platformWith(nowhere) });
  const { statusCode, headers, body } = await away.inject({ url: `/pay/${'U'.repeat(43)}` });
  await away.close();
  await nowhere.end();
  expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
  expect(body).toContain('<h1>Temporarily unavailable</h1>');
});

const realScene = (): LinkPagesScene => {
  const ids = new Map<string, string>();
  const made = async (clock = now) => {
    const { paymentId, path } = await requested('INBOUND', clock);
    const token = path.split('/').at(-1) ?? '';
    ids.set(token, paymentId);
    return token;
  };
  return {
    links: linksAt(now),
    open: () => made(),
    expired: () => made(() => new Date(Date.now() - linkLifetimeMs).toISOString()),
    async canceled() {
      const token = await made();
      await linksAt(now).cancel(organizationId, ids.get(token) ?? '', by);
      return token;
    },
    async accesses(token) {
      const listed = await linksAt(now).accesses(organizationId, ids.get(token) ?? '');
      if ('refused' in listed) throw new Error(listed.refused);
      return listed
        .map(({ kind, outcome, count, visitor }) => ({ kind, outcome, count, visitor }))
        .toReversed();
    },
  };
};
let scene: LinkPagesScene;
beforeAll(() => void (scene = realScene()));
describeLinkPages('the real links', () => scene);
