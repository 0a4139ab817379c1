/** A dispatcher's fixture with real time, real payments, and the index of events that replays read. */
import { randomUUID } from 'node:crypto';
import {
  type PaymentIntegrationEvent,
  paymentIntegrationEventSchema,
  topics,
} from '@pis/contracts';
import { paymentExample } from '@pis/domain/testing';
import type { Message } from '@pis/messaging';
import { until } from '@pis/local-servers/testing';
import { eventsProjection, ProjectionRunner } from '@pis/read-models';
import { queuePayment, type TestPayment } from '@pis/read-models/testing';
import { integrationFeed } from '@pis/integration';
import { type ReplayRecord, replayRequests } from '@pis/webhook-deliveries';
import type { Dispatcher, DispatcherOptions } from '../dispatcher.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  type TestEndpoint,
  testLimits,
} from './dispatcher-fixture.js';

const timeoutMs = 30_000;
/** A worker that polls often. */
const quick = { pollMs: 10, pageEveryMs: 5, waitMs: 10, disabledRecheckMs: 10 };

interface DeliveryState {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly is_replay: boolean;
}

export interface ReplayFixture
  extends Pick<
    DispatcherFixture,
    'organizationId' | 'store' | 'pool' | 'receiver' | 'query' | 'change' | 'createEndpoint'
  > {
  readonly endpoint: TestEndpoint;
  /** The projection of the index; started by the test. */
  readonly index: ProjectionRunner;
  started(changes?: Partial<DispatcherOptions>): Dispatcher;
  /** A payment that is queued so many seconds after the beginning of the test's time. */
  queue(second: number): Promise<TestPayment>;
  /** The messages of all events so far, as the relay publishes them. */
  messages(): Promise<Message[]>;
  /** All events so far, as the broker brings them. */
  published(): Promise<PaymentIntegrationEvent[]>;
  requested(changes?: Partial<ReplayRecord>): Promise<ReplayRecord>;
  current(replay: ReplayRecord): Promise<ReplayRecord | null>;
  enable(enabled: boolean): Promise<void>;
  deleteEndpoint(): Promise<void>;
  records(): Promise<DeliveryState[]>;
  untilEnded(replay: ReplayRecord, state: 'completed' | 'canceled'): Promise<void>;
  /** A worker has checked the only replay several times, and postponed it each time. */
  untilPutOff(): Promise<void>;
  untilReceived(count: number): Promise<void>;
  untilAllDelivered(count: number): Promise<void>;
  /** Ids of the envelopes, in the order of their arrival. */
  receivedIds(): string[];
  /** The time of an event; ISO 8601. */
  at(second: number): string;
  close(): Promise<void>;
}

export async function replayFixture(): Promise<ReplayFixture> {
  const fixture = await dispatcherFixture();
  const { store, pool, organizationId, receiver, query, change, createEndpoint } = fixture;
  const index = new ProjectionRunner({ projection: eventsProjection, store, pool });
  const endpoint = await createEndpoint();
  const { endpointId } = endpoint;
  const beganAt = Date.now() - 3_600_000;
  const at = (second: number) => new Date(beganAt + second * 1_000).toISOString();
  const records = () =>
    query<DeliveryState>('SELECT id, state, attempts, is_replay FROM webhook_delivery_records');
  const current = (replay: ReplayRecord) =>
    replayRequests(pool).get({ ...replay, replayId: replay.id });
  const now = () => new Date().toISOString();
  return {
    ...{ organizationId, store, pool, receiver, query, change, createEndpoint },
    ...{ endpoint, index, at, records, current },
    started({ limits, ...changes } = {}) {
      const dispatcher = fixture.dispatcher({
        now: () => new Date(),
        limits: { ...testLimits, ...limits, replays: { ...quick, ...limits?.replays } },
        ...changes,
      });
      dispatcher.start();
      return dispatcher;
    },
    queue(second) {
      const paymentNote = 'Zażółć 💸 \u2028 "\\"';
      const details = paymentExample({ paymentId: randomUUID(), organizationId, paymentNote });
      return queuePayment(store, at(second), details);
    },
    messages: () => messagesOf(store),
    published: async () =>
      (await messagesOf(store)).map(({ value }) =>
        paymentIntegrationEventSchema.parse(JSON.parse(value)),
      ),
    async requested(changes = {}) {
      const replay = await replayRequests(pool).create({
        ...{ id: randomUUID(), organizationId, endpointId, eventTypes: null },
        ...{ fromAt: new Date(at(0)), toAt: new Date(), requestedAt: new Date() },
        throughPosition: await store.lastPosition(),
        ...changes,
      });
      if (replay === null) throw new Error('too many replays');
      return replay;
    },
    enable: (enabled) =>
      change({
        type: 'UpdateWebhookEndpoint',
        at: now(),
        data: { organizationId, endpointId, changes: { enabled } },
      }),
    deleteEndpoint: () =>
      change({ type: 'DeleteWebhookEndpoint', at: now(), data: { organizationId, endpointId } }),
    untilEnded: async (replay, state) => {
      await until(async () => (await current(replay))?.state === state, { timeoutMs, what: state });
    },
    async untilPutOff() {
      const looks = new Set<number>();
      await until(
        async () => {
          const [row] = await query<{ leased_until: Date | null }>(
            'SELECT leased_until FROM webhook_replays',
          );
          looks.add(row?.leased_until?.getTime() ?? 0);
          return looks.size > 5;
        },
        { timeoutMs, what: 'a replay that waits' },
      );
    },
    async untilReceived(count) {
      await until(() => receiver.requests.length >= count, {
        timeoutMs,
        what: `${count} requests`,
      });
    },
    async untilAllDelivered(count) {
      await until(
        async () => {
          const all = await records();
          return all.length === count && all.every(({ state }) => state === 'delivered');
        },
        { timeoutMs, what: `${count} delivered` },
      );
    },
    receivedIds: () => receiver.requests.map(({ body }) => (JSON.parse(body) as { id: string }).id),
    async close() {
      await index.stop();
      await fixture.close();
    },
  };
}

async function messagesOf(store: DispatcherFixture['store']): Promise<Message[]> {
  const end = await store.lastPosition();
  const { signal } = new AbortController();
  const wanted = { after: '', topics: [topics.payments, topics.statements], signal };
  const pages = integrationFeed(store).subscribe(wanted);
  const all: Message[] = [];
  for await (const { messages, position } of pages) {
    all.push(...messages);
    if (position >= end) break;
  }
  return all;
}
