import { type EventStore, memoryEventStore } from '@pis/event-store';
import { paymentEvents } from '@pis/domain/testing';
import {
  createTestDatabase,
  itemsOf,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { migrate } from './migrate.js';
import { projections } from './projections.js';
import { ProjectionRunner } from './projection-runner.js';
import { countQuarantine, quarantinedStreams, requestRetry, skipEvent } from './quarantine.js';
import { rebuild } from './rebuild.js';
import { appendEvents, completePayment, queuePayment, type TestPayment } from './testing.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;
const unknown = { type: 'PaymentEaten', at, data: {} };

let database: TestDatabase;
let store: EventStore;
let pool: pg.Pool;
const listQuarantine = () => itemsOf(quarantinedStreams(pool));
let runner: ProjectionRunner;

beforeEach(async () => {
  database = await createTestDatabase();
  await migrate({ connectionString: database.url });
  pool = openTestPool(database.url, 10);
  store = memoryEventStore();
  runner = start();
});

afterEach(async () => {
  await runner.stop();
  await pool.end();
  await database.drop();
});

function start(name: keyof typeof projections = 'payments'): ProjectionRunner {
  const started = new ProjectionRunner({ projection: projections[name], store, pool });
  started.start();
  return started;
}

async function statusOf({ paymentId }: TestPayment): Promise<string | undefined> {
  const { rows } = await pool.query<{ status: string }>(
    'SELECT status FROM payments WHERE payment_id = $1',
    [paymentId],
  );
  return rows[0]?.status;
}

/** A payment with an event that this build does not know, and what a newer release appended after it. */
async function eaten(): Promise<TestPayment & { readonly eventId: string }> {
  const payment = await queuePayment(store, at);
  await appendEvents(store, payment.streamId, [
    paymentEvents.processing,
    unknown,
    paymentEvents.completed,
  ]);
  const events = await store.readStream(payment.streamId);
  return { ...payment, eventId: events[2]?.id ?? '' };
}

const reached = async () => {
  expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
};

it('an event that cannot be read holds back its own stream and no other', async () => {
  const payment = await eaten();
  const other = await queuePayment(store, at);
  await completePayment(store, other);
  await reached();
  expect(() => runner.check()).not.toThrow();
  expect(await statusOf(payment)).toBe('PROCESSING');
  expect(await statusOf(other)).toBe('COMPLETED');
  expect(await listQuarantine()).toMatchObject([
    {
      reader: 'projection:payments',
      streamId: payment.streamId,
      eventId: payment.eventId,
      eventType: 'PaymentEaten',
      reason: 'unknown type of event',
    },
  ]);
});

it('a stream that a rebuild has held back while the projection began is held back', async () => {
  await runner.stop();
  const payment = await eaten();
  let isRebuilt = false;
  pool.on('acquire', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const isRead = (asked: unknown) =>
      (asked as { readonly name?: unknown }).name === 'projection_checkpoints.read';
    client.query = ((...args: unknown[]) => {
      if (isRebuilt || !isRead(args[0])) return query(...args);
      isRebuilt = true;
      return rebuild(projections.payments, { store, pool }).then(() => query(...args));
    }) as typeof client.query;
  });
  runner = start();
  await reached();
  expect(isRebuilt).toBe(true);
  await appendEvents(store, payment.streamId, [paymentEvents.returned]);
  await reached();
  expect(await statusOf(payment)).toBe('PROCESSING');
});

it('a stream of another system with the name of ours stops nothing', async () => {
  await appendEvents(store, 'payment-1', [{ type: 'InvoicePaid', at, data: {} }]);
  await appendEvents(store, 'payment-2', [paymentEvents.queued]);
  const other = await queuePayment(store, at);
  const events = start('events');
  await reached();
  expect(await events.waitFor(other.position, timeoutMs)).toBe(true);
  await events.stop();
  expect(await statusOf(other)).toBe('QUEUED');
  expect(await countQuarantine(pool, 100)).toEqual(
    expect.arrayContaining([
      { reader: 'projection:events', streams: 2 },
      { reader: 'projection:payments', streams: 2 },
    ]),
  );
});

it('the events that were held back follow in order once a release can read them', async () => {
  const payment = await queuePayment(store, at);
  await reached();
  // As if the release that ran until now had not known the events.
  await pool.query(
    `INSERT INTO quarantined_streams
       (reader, stream_id, from_revision, position, event_id, event_type, reason)
     SELECT 'projection:payments', $1, 1, $2, gen_random_uuid(), 'PaymentProcessing', 'unknown'`,
    [payment.streamId, payment.position],
  );
  await runner.stop();
  await completePayment(store, payment);
  runner = start();
  await reached();
  await until(async () => (await statusOf(payment)) === 'COMPLETED', { timeoutMs });
  expect(await listQuarantine()).toEqual([]);
});

it('an event that an operator skips is not applied, and the later ones are', async () => {
  const payment = await eaten();
  await reached();
  expect(await skipEvent(pool, payment.eventId, 'ada')).toEqual({
    streamId: payment.streamId,
    readers: ['projection:payments'],
  });
  await runner.stop();
  runner = start();
  await until(async () => (await statusOf(payment)) === 'COMPLETED', { timeoutMs });
  expect(await listQuarantine()).toEqual([]);
});

it('an event that is in no quarantine cannot be skipped', async () => {
  const payment = await queuePayment(store, at);
  const [event] = await store.readStream(payment.streamId);
  expect(await skipEvent(pool, event?.id ?? '', 'ada')).toBeNull();
});

it('a skip of the first event of a payment leaves the payment held back, and stops nothing', async () => {
  const streamId = 'payment-7d0f5a51-6a0f-4d39-8c0e-000000000009';
  await appendEvents(store, streamId, [unknown, paymentEvents.processing]);
  await reached();
  const [held] = await listQuarantine();
  await skipEvent(pool, held?.eventId ?? '', 'ada');
  await runner.stop();
  runner = start();
  const other = await queuePayment(store, at);
  await reached();
  expect(await statusOf(other)).toBe('QUEUED');
  await until(async () => (await listQuarantine())[0]?.eventType === 'PaymentProcessing', {
    timeoutMs,
  });
  expect(() => runner.check()).not.toThrow();
});

it('a rebuild holds back the same streams, and takes over from the quarantine before it', async () => {
  const payment = await eaten();
  const other = await queuePayment(store, at);
  await reached();
  await rebuild(projections.payments, { store, pool });
  expect(await statusOf(payment)).toBe('PROCESSING');
  expect(await statusOf(other)).toBe('QUEUED');
  expect(await listQuarantine()).toMatchObject([
    { reader: 'projection:payments', streamId: payment.streamId },
  ]);
});

it('a requested retry tries the streams again, and keeps those that still cannot be read', async () => {
  const payment = await eaten();
  await reached();
  expect(await requestRetry(pool, payment.streamId)).toBe(1);
  expect(await requestRetry(pool, 'payment-other')).toBe(0);
  await runner.stop();
  runner = start();
  await until(
    async () => {
      const { rows } = await pool.query(
        'SELECT FROM quarantined_streams WHERE tried_at IS NOT NULL',
      );
      return rows.length === 1;
    },
    { timeoutMs },
  );
  expect(await statusOf(payment)).toBe('PROCESSING');
});
