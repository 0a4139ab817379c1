/**
 * Counts the calls of the event store for one payment, over the whole system in one process. Each call is a
 * round trip, so these bounds decide how many payments a store can handle.
 */
import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
import { type EventStore, memoryEventStore, type ReadOptions } from '@pis/event-store';
import {
  type CountingStore,
  countingStore,
  startEventStoreDbStandIn,
} from '@pis/event-store/testing';
import {
  createTestDatabase,
  type HttpsReceiver,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import { createLogger, loadConfig, platformEnv, startApp } from '@pis/service-kit';
import { allInOneApp, allInOneEnv } from './all-in-one-app.js';

const timeoutMs = 60_000;
/** The appends: queued, processing, completed. */
const webhooksOfPayment = 3;
/** The key of the demo organization. */
const originatorId = '00000000-0000-4000-8000-00000000de01';
const measured = 3;
/** The request reads them. */
const readsOfRequest = ['contact', 'organization', 'originator'];

interface Adapter {
  /** Of the executor. Its process has created the payment, but EventStoreDB may tell subscribers before it answers the append. */
  readonly readsOfPaymentMax: number;
  readonly variables: Readonly<Record<string, string>>;
  /** Replaces the configured store. */
  readonly store?: EventStore;
  readonly stop?: () => Promise<void>;
}

const eventStoreDb = (client: string) => async (): Promise<Adapter> => {
  const server = await startEventStoreDbStandIn();
  return {
    readsOfPaymentMax: 1,
    variables: {
      PIS_EVENT_STORE: 'eventstoredb',
      EVENTSTOREDB_URL: server.url,
      EVENTSTOREDB_CLIENT: client,
    },
    stop: () => server.stop(),
  };
};

const adapters: readonly (readonly [string, () => Promise<Adapter>])[] = [
  [
    'in memory',
    () => Promise.resolve({ readsOfPaymentMax: 0, variables: {}, store: memoryEventStore() }),
  ],
  ['on PostgreSQL', () => Promise.resolve({ readsOfPaymentMax: 0, variables: {} })],
  ['on EventStoreDB', eventStoreDb('eventstore')],
  ['on EventStoreDB by the successor of its client', eventStoreDb('kurrent')],
];

/**
 * How the bank's delay is set. With a delay the executor waits first, which is no append: it reads the payment to see whether
 * what it remembers of it is stale. Then the bank reports the outcome later.
 */
const histories = [
  ['at once', '0', 0],
  ['later', '200', 1],
] as const;

it.each(
  adapters.flatMap(([name, open]) =>
    histories.map(([when, delayMs, reads]) => [when, name, open, delayMs, reads] as const),
  ),
)(
  'a payment with three webhooks that the bank confirms %s takes 3 appends and 3 or 4 reads, and a delivery no read: %s',
  async (_when, _name, open, railDelayMs, readsToWait) => {
    const adapter = await open();
    await using system = await startSystem(adapter, railDelayMs);
    await system.lifecycle();
    for (let payments = 0; payments < measured; payments += 1) {
      system.counted();
      await system.lifecycle();
      const { all, endpoints, readOf } = system.counted();
      expect(all?.appends).toBe(3);
      // A failure names the stream that was read besides.
      const ofRequest = readOf.filter((category) => category !== 'payment');
      expect(ofRequest.sort()).toEqual(readsOfRequest);
      expect(readOf.length - ofRequest.length).toBeLessThanOrEqual(
        adapter.readsOfPaymentMax + readsToWait,
      );
      expect(all?.reads).toBe(readOf.length);
      expect(endpoints?.reads).toBe(0);
    }
  },
);

async function startSystem({ variables, store, stop }: Adapter, railDelayMs: string) {
  const [database, receiver] = await Promise.all([createTestDatabase(), startHttpsReceiver()]);
  const apiKey = `pis_test_${randomBytes(24).toString('hex')}`;
  const config = loadConfig(
    { ...platformEnv, ...allInOneEnv },
    {
      PORT: '0',
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_BOOTSTRAP_API_KEY: apiKey,
      // Only the calls for the payments of this test are counted.
      PIS_DEMO_PAYMENTS: 'false',
      PIS_SANDBOX_RAIL_DELAY_MS: railDelayMs,
      // A busy machine may be slow. No payment may be swept meanwhile.
      PIS_RAIL_CONFIRMATION_TIMEOUT_MS: '600000',
      PIS_SHUTDOWN_DRAIN_MS: '0',
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      DATABASE_URL: database.url,
      ...variables,
    },
  );
  const counting: { all?: CountingStore; endpoints?: CountingStore } = {};
  let readOf: string[] = [];
  const running = await startApp(
    allInOneApp(() => undefined),
    config,
    database.url,
    createLogger('test', 'silent'),
    async (configured) => {
      const opened = store ?? (await configured());
      counting.endpoints = countingStore(opened, {
        counts: (streamId) => streamId.startsWith('webhookEndpoints-'),
      });
      // However many payments there are, a key in use is read again every two seconds, and the event of each
      // checkpoint every five, and whose store it is when the log has not been checked for a while.
      const isCounted = (streamId: string, read?: ReadOptions) =>
        !/^(apiKey|store)-/.test(streamId) && read?.maxCount !== 1;
      const { endpoints } = counting;
      const named: EventStore = {
        ...endpoints,
        readStream: (streamId, read) => {
          if (isCounted(streamId, read)) readOf.push(categoryOf(streamId));
          return endpoints.readStream(streamId, read);
        },
        readStreams: (streamIds) => {
          readOf.push(...streamIds.filter((streamId) => isCounted(streamId)).map(categoryOf));
          return endpoints.readStreams(streamIds);
        },
      };
      counting.all = countingStore(named, { counts: isCounted });
      return counting.all;
    },
  );
  await running.ready;
  const payer = await payerOf(running.url, apiKey, receiver);
  return {
    ...payer,
    /** Calls since the last time: all of them, and those that read endpoints. */
    counted: () => {
      const sinceLast = readOf;
      readOf = [];
      return {
        all: counting.all?.counted(),
        endpoints: counting.endpoints?.counted(),
        readOf: sinceLast,
      };
    },
    [Symbol.asyncDispose]: async () => {
      await running.close();
      await receiver.close();
      await database.drop();
      await stop?.();
    },
  };
}

const categoryOf = (streamId: string) => streamId.slice(0, streamId.indexOf('-'));

/** A client with a contact to pay and a webhook endpoint. */
async function payerOf(url: string, apiKey: string, receiver: HttpsReceiver) {
  const post = async <Data>(path: string, body: object): Promise<Data> => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as { data: Data };
    expect([response.status, answer]).toEqual([201, expect.anything()]);
    return answer.data;
  };
  const { contactId } = await post<{ contactId: string }>('/v1/contacts/', {
    originatorId,
    entityType: 'INDIVIDUAL',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: '021000021',
      achAccountNumber: '000123456789',
    },
  });
  await post('/v1/webhooks', { url: receiver.url, subscribedEvents: ['payment.*'] });
  return {
    /** Creates a payment, and resolves when its three webhooks were received. */
    async lifecycle(): Promise<void> {
      const body = { originatorId, contactId, paymentAmount: 100, direction: 'OUTBOUND' };
      const { paymentId } = await post<{ paymentId: string }>('/v1/payments/', body);
      const received = () =>
        receiver.requests.filter((request) => request.body.includes(paymentId));
      await until(() => received().length >= webhooksOfPayment, {
        timeoutMs,
        what: 'the webhooks',
      });
    },
  };
}
