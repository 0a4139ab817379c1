/** A store that does not answer: requests are still answered, and nothing is half done. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { type EventStore, memoryEventStore, timeLimited } from '@pis/event-store';
import { startHttpsReceiver } from '@pis/local-servers/testing';
import { type Gateway, startGateway } from './testing/gateway.js';
import { codeOf, createPayer, idOf, type Payer } from './testing/payments.js';

const databaseUrl = 'postgres://nobody@127.0.0.1:1/nothing';
const limitMs = 300;

/** A store with calls that hang until they are released. */
class HangingStore {
  readonly memory = memoryEventStore();
  readonly store: EventStore;
  hangs: 'append' | 'read' | null = null;
  readonly #held: (() => void)[] = [];
  #hanging = Promise.withResolvers<void>();
  #appends: Promise<unknown>[] = [];

  constructor() {
    const { append, readStream, readStreams } = this.memory;
    this.store = timeLimited({
      ...this.memory,
      append: (...args) => {
        const appended = this.#through('append').then(() => append(...args));
        this.#appends.push(appended);
        return appended;
      },
      readStream: (...args) => this.#through('read').then(() => readStream(...args)),
      readStreams: (...args) => this.#through('read').then(() => readStreams(...args)),
    });
  }

  get appends(): number {
    return this.#appends.length;
  }

  /** Lets the time limit of a request pass, once it waits for the store. */
  async exceedLimit(): Promise<void> {
    await this.#hanging.promise;
    jest.advanceTimersByTime(limitMs);
  }

  async release(): Promise<void> {
    this.hangs = null;
    this.#hanging = Promise.withResolvers();
    for (const go of this.#held.splice(0)) go();
    await Promise.allSettled(this.#appends);
  }

  async #through(call: 'append' | 'read'): Promise<void> {
    if (this.hangs !== call) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.push(resolve);
    this.#hanging.resolve();
    await promise;
  }
}

let store: HangingStore;
let gateway: Gateway;
let payer: Payer;
beforeEach(async () => {
  // Time passes only when a test says so.
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  store = new HangingStore();
  gateway = await startGateway({
    databaseUrl,
    store: store.store,
    projects: false,
    changes: { PIS_REQUEST_TIMEOUT_MS: limitMs },
  });
  payer = await createPayer(gateway);
});
afterEach(async () => {
  jest.useRealTimers();
  await store.release();
  await gateway.close();
});

it('a payment with a hanging append is answered 503, and the same key shows that it was created', async () => {
  const key = randomUUID();
  store.hangs = 'append';
  const paying = payer.pay({ key });
  await store.exceedLimit();
  const late = await paying;
  expect(codeOf(late)).toBe('503 SERVICE_UNAVAILABLE');
  expect(late.headers['retry-after']).toBe('1');
  await store.release();
  const again = await payer.pay({ key });
  expect(codeOf(again)).toBe('201');
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(await gateway.store.readStream(`payment-${idOf(again)}`)).toHaveLength(1);
});

it('a request that exceeded its time while reading appends nothing later', async () => {
  const appends = store.appends;
  store.hangs = 'read';
  const paying = payer.pay({});
  await store.exceedLimit();
  expect(codeOf(await paying)).toBe('503 SERVICE_UNAVAILABLE');
  await store.release();
  expect(codeOf(await payer.pay({}))).toBe('201');
  expect(store.appends).toBe(appends + 1);
});

it('authentication counts toward the time limit', async () => {
  const tenant = await gateway.createTenant();
  store.hangs = 'read';
  const calling = gateway.call('/v1/webhooks', { tenant });
  await store.exceedLimit();
  expect(codeOf(await calling)).toBe('503 SERVICE_UNAVAILABLE');
});

it('a test of a webhook endpoint has its own time limit', async () => {
  const receiver = await startHttpsReceiver();
  const slow = await startGateway({
    databaseUrl,
    projects: false,
    changes: {
      PIS_REQUEST_TIMEOUT_MS: limitMs,
      PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
    },
  });
  try {
    const tenant = await slow.createTenant();
    receiver.respondWith(() => ({ delayMs: 2 * limitMs }));
    const body = { url: `${receiver.url}/slow`, subscribedEvents: ['payment.*'] };
    const endpoint = await slow.call('/v1/webhooks', { tenant, method: 'POST', body });
    const { id } = endpoint.body?.data as { id: string };
    const path = `/v1/webhooks/${id}/test`;
    const testing = slow.call(path, { tenant, method: 'POST', body: {} });
    await receiver.waitFor(() => true);
    jest.advanceTimersByTime(2 * limitMs);
    const reply = await testing;
    expect(reply.body?.data).toMatchObject({ success: true, statusCode: 200 });
  } finally {
    await slow.close();
    await receiver.close();
  }
});
