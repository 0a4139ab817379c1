import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { paymentEvents, paymentExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { type Message, MessageRefused } from '@pis/messaging';
import type pg from 'pg';
import { replayRange } from './relay-replay.js';

const topic = topics.payments;
const { processing, completed } = paymentEvents;
const unknown = { type: 'PaymentEaten', data: {} };
const unreadable = `payment-${randomUUID().slice(0, -1)}a`;
const skipping = `payment-${randomUUID().slice(0, -1)}b`;
const good = `payment-${randomUUID().slice(0, -1)}c`;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let told: string[];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  store = memoryEventStore();
  told = [];
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

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

async function skip(streamId: string, revision: number): Promise<void> {
  const [event] = await store.readStream(streamId, { from: revision, maxCount: 1 });
  await pool.query(
    `INSERT INTO skipped_events (event_id, stream_id, event_type, actor) VALUES ($1, $2, 'x', 'ada')`,
    [event?.id, streamId],
  );
}

const textOf = ({ key, headers }: Message) => `${key.slice(-1)} ${headers['event-type']}`;

function replay({ after = '', to = '', refuses = '' } = {}) {
  return store.lastPosition().then((end) =>
    replayRange({ store, pool }, { after, to: to || end, topic }, (messages) => {
      for (const message of messages) {
        if (textOf(message) === refuses)
          return Promise.reject(new MessageRefused(message, new Error('too large')));
        told.push(textOf(message));
      }
      return Promise.resolve();
    }),
  );
}

it('leaves out an unreadable event with what follows it in its stream, and a skipped event alone', async () => {
  await append(unreadable, queued(unreadable), unknown, completed);
  await append(skipping, queued(skipping), unknown, processing);
  await skip(skipping, 1);
  await append(good, queued(good));
  expect(await replay()).toEqual({ published: 4, skipped: 1, heldStreams: 1, heldEvents: 2 });
  expect(told).toEqual([
    'a payment.queued',
    'b payment.queued',
    'b payment.processing',
    'c payment.queued',
  ]);
});

it('leaves out what the relay holds back, also when the replay begins behind the cause', async () => {
  await append(good, queued(good), processing);
  const after = await store.lastPosition();
  await append(good, completed);
  await append(skipping, queued(skipping));
  await pool.query(
    `INSERT INTO quarantined_streams
       (reader, stream_id, from_revision, position, event_id, event_type, reason)
     VALUES ('event-relay', $1, 1, '1', $2, 'PaymentProcessing', 'Kafka refused it')`,
    [good, randomUUID()],
  );
  const report = await replay({ after });
  expect(report).toEqual({ published: 1, skipped: 0, heldStreams: 1, heldEvents: 1 });
  expect(told).toEqual(['b payment.queued']);
});

it('leaves out a message that Kafka refuses with what follows it, or alone if it was skipped', async () => {
  await append(good, queued(good), processing, completed);
  await append(skipping, queued(skipping));
  const refuses = 'c payment.processing';
  expect(await replay({ refuses })).toMatchObject({ published: 2, heldStreams: 1, heldEvents: 2 });
  expect(told).toEqual(['c payment.queued', 'b payment.queued']);
  told = [];
  await skip(good, 1);
  expect(await replay({ refuses })).toMatchObject({ published: 3, skipped: 1, heldStreams: 0 });
  expect(told).toEqual(['c payment.queued', 'c payment.completed', 'b payment.queued']);
});

it('publishes what follows --from, up to and with --to, and ends although other events come last', async () => {
  await append(good, queued(good));
  const after = await store.lastPosition();
  await append(good, processing);
  const to = await store.lastPosition();
  await append(good, completed);
  await replay({ after, to });
  expect(told).toEqual(['c payment.processing']);
  await append(`contact-${randomUUID()}`, unknown);
  expect(await replay()).toMatchObject({ published: 3, heldStreams: 0 });
});
