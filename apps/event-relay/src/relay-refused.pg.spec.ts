/** A message that Kafka refuses for good, on its way from the log through the relay. */
import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { paymentEvents, paymentExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { type Message, MessageRefused, pgConsumerState } from '@pis/messaging';
import { integrationFeeds } from '@pis/integration';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { Relay } from './relay.js';

const timeoutMs = 20_000;
const group = 'event-relay';
const { processing, completed } = paymentEvents;
const bad = `payment-${randomUUID().slice(0, -1)}a`;
const good = `payment-${randomUUID().slice(0, -1)}b`;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
/** What the broker has, in its order. */
let told: string[];
/** How often the broker has refused something. */
let refusals: number;
let refuses: (text: string) => boolean;
let relays: Relay[];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  store = memoryEventStore();
  told = [];
  refusals = 0;
  refuses = (text) => text === 'a payment.processing';
  relays = [];
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.stop()));
  await pool.end();
  await database.drop();
});

/** As the publisher says of itself: all before the refused message is published. */
function publish(messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    const text = `${message.key.slice(-1)} ${message.headers['event-type']}`;
    if (refuses(text)) {
      refusals += 1;
      return Promise.reject(new MessageRefused(message, new Error('too large')));
    }
    told.push(text);
  }
  return Promise.resolve();
}

function start(): Relay {
  const feedOf = integrationFeeds({
    store,
    pool,
    onHeld: () => undefined,
    limits: { releaseEveryMs: 20 },
  });
  const relay = new Relay({
    feed: feedOf(group),
    topics: [topics.payments],
    publisher: { publish, ping: () => Promise.resolve(), close: () => Promise.resolve() },
    state: pgConsumerState(pool, { transport: 'kafka' }),
    pool,
    logger: createLogger('relay-refused-spec', 'silent'),
    published: () => undefined,
  });
  relays.push(relay);
  relay.start();
  return relay;
}

async function append(streamId: string, ...events: readonly { type: string; data: object }[]) {
  const stream = await store.readStream(streamId);
  await store.append(
    streamId,
    stream.at(-1)?.revision ?? 'noStream',
    events.map(({ type, data }) => ({
      id: randomUUID(),
      type,
      data: { ...data },
      metadata: {
        at: '2026-11-21T09:00:00.000Z',
        schemaVersion: 1,
        actor: 'system:test',
        requestId: null,
        correlationId: 'c',
        causationId: null,
        traceparent: null,
        previousHash: null,
      },
    })),
  );
}

const queued = (streamId: string) => ({
  type: 'PaymentQueued',
  data: paymentExample({ paymentId: streamId.slice('payment-'.length) }),
});
const toldOf = (name: string) => told.filter((text) => text.startsWith(name));

/** What `pis quarantine list` shows. */
async function held(): Promise<readonly Record<string, unknown>[]> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `SELECT reader, stream_id AS "streamId", event_type AS "eventType", reason FROM quarantined_streams`,
  );
  return rows;
}

async function writeBoth(): Promise<void> {
  await append(bad, queued(bad), processing);
  await append(good, queued(good), processing);
  await append(bad, completed);
  await append(good, completed);
}

it('holds back the payment of a message that Kafka refuses, and nobody else', async () => {
  await writeBoth();
  const relay = start();
  await until(() => told.includes('b payment.completed'), { timeoutMs });
  // It is tried again, and what came before it is not told again.
  await until(() => refusals > 3, { timeoutMs });
  await relay.check();
  expect(toldOf('a')).toEqual(['a payment.queued']);
  expect(toldOf('b')).toEqual(['b payment.queued', 'b payment.processing', 'b payment.completed']);
  expect(await held()).toMatchObject([
    {
      reader: group,
      streamId: bad,
      eventType: 'PaymentProcessing',
      reason: expect.stringContaining('Kafka refused it: Error: too large'),
    },
  ]);
});

it('publishes what it held back, once and in order, when Kafka takes it', async () => {
  await writeBoth();
  start();
  await until(async () => (await held()).length > 0, { timeoutMs });
  refuses = () => false;
  await until(() => told.includes('a payment.completed'), { timeoutMs });
  expect(toldOf('a')).toEqual(['a payment.queued', 'a payment.processing', 'a payment.completed']);
  await append(good, completed);
  await until(async () => (await held()).length === 0, { timeoutMs });
});

it('leaves out the refused message alone when an operator has it skipped', async () => {
  await writeBoth();
  start();
  await until(async () => (await held()).length > 0, { timeoutMs });
  // As `pis quarantine skip` does.
  await pool.query(
    `INSERT INTO skipped_events (event_id, stream_id, event_type, actor)
     SELECT event_id, stream_id, event_type, 'ada' FROM quarantined_streams`,
  );
  await until(() => told.includes('a payment.completed'), { timeoutMs });
  expect(toldOf('a')).toEqual(['a payment.queued', 'a payment.completed']);
});

it('still holds back the payment after a restart', async () => {
  await writeBoth();
  const first = start();
  await until(() => told.includes('b payment.completed'), { timeoutMs });
  await until(async () => (await pgConsumerState(pool).loadCheckpoint(group)) !== '', {
    timeoutMs,
  });
  await first.stop();
  const before = refusals;
  start();
  await until(() => refusals > before, { timeoutMs });
  refuses = () => false;
  await until(() => told.includes('a payment.completed'), { timeoutMs });
  expect(toldOf('a').slice(-2)).toEqual(['a payment.processing', 'a payment.completed']);
});
