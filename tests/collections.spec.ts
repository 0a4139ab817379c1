/**
 * A collection moves money, and no client can see it: it makes no payment, no event, no webhook, no Kafka message and no
 * figure. A payment of the same organization that is made afterwards shows that each reader has passed the collection.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { bankBooks } from '@pis/bank-rails/sandbox';
import { collection, collectionDetails, originator, settlementPartyId } from '@pis/domain';
import { postgresEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { ownerOf, sealBankAccount } from '@pis/keyring';
import {
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { Api } from './support/api.js';
import { tablePlaces } from './support/everywhere.js';
import { keyringOf } from './support/living-keys.js';
import { pisJson } from './support/process.js';
import { allInOne, type System } from './support/systems.js';
import { readMessages } from './support/topics.js';

const startLimitMs = 240_000;
const testLimitMs = 240_000;
const arrivalLimitMs = 120_000;
const amountMinor = 7_531;

let dataDir: string;
let receiver: HttpsReceiver;
let system: System;
let pool: pg.Pool;

beforeAll(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-collections-'));
  receiver = await startHttpsReceiver();
  system = await allInOne({
    PIS_DATA_DIR: dataDir,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    PIS_BROKER: 'kafka',
    KAFKA_BROKERS: process.env['PIS_TEST_KAFKA_BROKERS'] ?? '',
    KAFKA_PREFIX: `t${randomUUID().slice(0, 8)}.`,
  });
  pool = openTestPool(system.databaseUrl, 2);
}, startLimitMs);
afterAll(async () => {
  await pool?.end();
  await system?.stop();
  await receiver?.close();
  rmSync(dataDir, { recursive: true, force: true });
}, startLimitMs);

const pis = <Result>(...args: string[]) => pisJson<Result>(args, system.environment);

/** An organization of its own: the demo has payments. */
async function organization() {
  const name = 'Collected Inc';
  const { organizationId } = await pis<{ organizationId: string }>(
    ...['organization', 'create', '--name', name],
  );
  const file = path.join(dataDir, 'originator.json');
  const originatorEnding = async (ending: string) => {
    const achAccountNumber = `55667788${ending}`;
    const bankAccount = { subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber };
    const email = 'treasury@collected.example';
    const record = { entityType: 'BUSINESS', companyName: name, email, bankAccount };
    writeFileSync(file, JSON.stringify(record));
    const created = await pis<{ originatorId: string }>(
      ...['originator', 'create', '--organization', organizationId, '--file', file],
    );
    return created.originatorId;
  };
  const { apiKey } = await pis<{ apiKey: string }>(
    ...['api-key', 'create', '--organization', organizationId, '--type', 'full_access'],
  );
  const api = new Api(system.apiUrl, apiKey);
  return { organizationId, api, originatorEnding };
}

/** As the fee collector creates one. @returns the types of its events, once it is RETURNED */
async function collect(organizationId: string, originatorId: string) {
  const keyring = keyringOf(system, pool);
  const store = sealedStore(postgresEventStore({ pool }), keyring);
  const collectionId = randomUUID();
  const { state } = await repository(store, originator).load(originatorId);
  if (state === null) throw new Error('there is no originator');
  const { entityType, firstName, lastName, companyName, bankAccount } = state;
  const numbers = { achRoutingNumber: '011000138', achAccountNumber: '90001234', swiftCode: null };
  const owner = ownerOf.originator(settlementPartyId);
  const settled = { ...numbers, subType: 'CHECKING' as const };
  const data = collectionDetails({
    ...{ collectionId, organizationId, amountMinor, note: 'Fees 2026-10' },
    settlement: {
      name: 'Board Operations Inc',
      bankAccount: await sealBankAccount(keyring, owner, settled, null),
    },
    originator: { id: originatorId, entityType, firstName, lastName, companyName, bankAccount },
  });
  const collections = repository(store, collection);
  const queue = { type: 'QueuePayment', at: new Date().toISOString(), data } as const;
  await collections.create(collectionId, queue, systemContext('test'));
  const returned = await until(
    async () => {
      const loaded = await collections.load(collectionId);
      return loaded.state?.status === 'RETURNED' && loaded.state;
    },
    { timeoutMs: arrivalLimitMs, what: 'the return of the collection' },
  );
  const events = await store.readStream(collections.streamIdOf(collectionId));
  await store.close();
  return { collectionId, returned, types: events.map(({ type }) => type) };
}

interface Listed {
  readonly id: string;
  readonly eventType: string;
  readonly data: { readonly paymentId: string };
}

it(
  'a collection is executed and returned, and nothing tells a client of it',
  async () => {
    const { organizationId, api, originatorEnding } = await organization();
    const [payer, collected] = [await originatorEnding('1122'), await originatorEnding('0101')];
    await until(async () => (await api.call('GET', '/v1/originators/')).status === 200, {
      timeoutMs: arrivalLimitMs,
    });
    const url = `${receiver.url}/hook`;
    await api.data(201, 'POST', '/v1/webhooks', { url, subscribedEvents: ['payment.*'] });

    const { collectionId, returned, types } = await collect(organizationId, collected);
    expect(types).toEqual([
      ...['PaymentQueued', 'PaymentProcessing', 'PaymentCompleted', 'PaymentReturned'],
    ]);
    expect(returned).toMatchObject({ returnReasonCode: 'R01', amountMinor });
    // No demo payment has this amount.
    const booked = (await bankBooks(pool)).filter(({ amount }) => amount === amountMinor);
    expect(booked).toMatchObject([{ rail: 'ACH', direction: 'INBOUND', accountLastFour: '0101' }]);

    const paymentId = await paid(api, payer);
    const hooks = () => receiver.requests.map(({ body }) => JSON.parse(body) as Listed);
    await until(() => hooks().some(({ eventType }) => eventType === 'payment.completed'), {
      timeoutMs: arrivalLimitMs,
      what: 'the webhook of the payment',
    });
    const threeOf = (id: string) => [id, id, id];
    expect(hooks().map(({ data }) => data.paymentId)).toEqual(threeOf(paymentId));

    const feed = await until(
      async () => {
        const events = await api.data<Listed[]>(200, 'GET', '/v1/events?limit=100');
        return events.length >= 3 && events;
      },
      { timeoutMs: arrivalLimitMs, what: 'the events of the payment in the feed' },
    );
    expect(feed.map(({ data }) => data.paymentId)).toEqual(threeOf(paymentId));
    const list = await api.data<{ paymentId: string }[]>(200, 'GET', '/v1/payments/');
    expect(list.map((listed) => listed.paymentId)).toEqual([paymentId]);
    expect((await api.call('GET', `/v1/payments/${collectionId}`)).status).toBe(404);
    await until(async () => (await figuresOf(organizationId)).length > 0, {
      timeoutMs: arrivalLimitMs,
      what: 'the figures of the payment',
    });
    const completed = { status: 'COMPLETED', direction: 'OUTBOUND', payments: 1 };
    expect(await figuresOf(organizationId)).toEqual([completed]);

    const messages = await readMessages(system.environment);
    const about = (id: string) =>
      messages.filter(({ key, value, headers }) => `${key}${value}${headers}`.includes(id));
    expect(about(paymentId)).toHaveLength(3);
    expect(about(collectionId)).toEqual([]);
    expect(await clientTablesWith(collectionId)).toEqual([]);
    expect(await clientTablesWith(paymentId)).not.toEqual([]);
  },
  testLimitMs,
);

async function paid(api: Api, originatorId: string): Promise<string> {
  const { contactId } = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    ...{ originatorId, entityType: 'BUSINESS', companyName: 'Paid Inc', email: 'a@paid.example' },
    bankAccount: {
      ...{ subType: 'CHECKING', achRoutingNumber: '011000138', achAccountNumber: '5566778899' },
    },
  });
  const payment = { originatorId, contactId, paymentAmount: 12_345, direction: 'OUTBOUND' };
  const { body } = await api.createPayment(payment, randomUUID());
  const { paymentId } = body.data as { paymentId: string };
  const status = async () =>
    (await api.data<{ status: string }>(200, 'GET', `/v1/payments/${paymentId}`)).status;
  await until(async () => (await status()) === 'COMPLETED', { timeoutMs: arrivalLimitMs });
  return paymentId;
}

/** What the overview of the dashboard is computed from, once the payment is completed. */
async function figuresOf(organizationId: string) {
  const { rows } = await pool.query<{ status: string; direction: string; payments: number }>(
    `SELECT status, direction, payments::int AS payments FROM payment_days
      WHERE organization_id = $1 AND payments > 0`,
    [organizationId],
  );
  return rows.every(({ status }) => status === 'COMPLETED') ? rows : [];
}

/** The tables of lists, feeds, figures, links and deliveries that have this ID anywhere. */
async function clientTablesWith(id: string): Promise<readonly string[]> {
  const ofClients = /^(payments|payment_|integration_events|webhook_|dead_letters|deferred_)/;
  const places = await tablePlaces(system.databaseUrl);
  return [...places].flatMap(([place, text]) =>
    ofClients.test(place) && text.includes(id) ? [place] : [],
  );
}
