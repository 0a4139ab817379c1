import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { payment as paymentAggregate } from '@pis/domain';
import { paymentEvents, paymentExample } from '@pis/domain/testing';
import {
  type EventStore,
  memoryEventStore,
  type RecordedEvent,
  UnreadableEvent,
} from '@pis/event-store';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { pgConsumerState } from '@pis/messaging';
import { holdStreams, listQuarantine, skipEvent } from '@pis/read-models';
import type pg from 'pg';
import { integrationFeeds } from './integration-feed.js';
import { carryOverToRelay } from './log-places.js';
import { pastPaymentEvents } from './past-events.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;
const group = 'event-relay';

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let held: string[];
let readers: AbortController[];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  store = memoryEventStore();
  held = [];
  readers = [];
});
afterEach(async () => {
  readers.forEach((reader) => reader.abort());
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
        at,
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

const { processing, completed } = paymentEvents;
const unknown = { type: 'PaymentEaten', data: {} };
const queued = (streamId: string) => ({
  type: 'PaymentQueued',
  data: paymentExample({ paymentId: streamId.slice('payment-'.length) }),
});

/** Reads as the relay does: what it took is published, then the checkpoint is saved. */
function relay({ savesCheckpoint = true, reader: name = group } = {}): {
  readonly told: string[];
  stop(): void;
} {
  const feedOf = integrationFeeds({
    store,
    pool,
    onHeld: (_reader, { event }) => held.push(event.type),
    limits: { releaseEveryMs: 20 },
  });
  const reader = new AbortController();
  readers.push(reader);
  const told: string[] = [];
  const state = pgConsumerState(pool);
  const run = async () => {
    const after = await state.loadCheckpoint(name);
    const { signal } = reader;
    for await (const page of feedOf(name).subscribe({
      after,
      topics: [topics.payments],
      signal,
    })) {
      for (const { key, headers } of page.messages)
        told.push(
          `${key.slice(-1)} ${headers['event-type']}${'waiting-since' in headers ? ' late' : ''}`,
        );
      if (savesCheckpoint) await state.saveCheckpoint(name, page.position);
    }
  };
  void run().catch((error: unknown) => told.push(String(error)));
  return { told, stop: () => reader.abort() };
}

const bad = `payment-${randomUUID().slice(0, -1)}a`;
const good = `payment-${randomUUID().slice(0, -1)}b`;

async function idOf(streamId: string, revision: number): Promise<string> {
  const [event] = await store.readStream(streamId, { from: revision, maxCount: 1 });
  return event?.id ?? '';
}

it('an event that cannot be translated holds back its payment, and nobody else', async () => {
  const { told } = relay();
  await append(bad, queued(bad), processing, unknown, completed);
  await append(good, queued(good), processing, completed);
  await until(() => told.includes('b payment.completed'), { timeoutMs });
  expect(told).toEqual([
    'a payment.queued',
    'a payment.processing',
    'b payment.queued',
    'b payment.processing',
    'b payment.completed',
  ]);
  expect(held).toEqual(['PaymentEaten']);
  expect(await listQuarantine(pool, 10)).toMatchObject([
    { reader: group, streamId: bad, eventType: 'PaymentEaten', reason: 'unknown type of event' },
  ]);
});

it('malformed data of a known event holds back its payment, and nobody else', async () => {
  const { told } = relay();
  await append(bad, completed);
  await append(good, queued(good));
  await until(() => told.length > 0, { timeoutMs });
  expect(told).toEqual(['b payment.queued']);
  expect(await listQuarantine(pool, 10)).toMatchObject([{ streamId: bad }]);
});

it('a skipped event says nothing, and what follows it in its payment is told without it', async () => {
  const { told } = relay();
  await append(bad, queued(bad), processing, unknown, completed);
  await until(() => held.length > 0, { timeoutMs });
  expect(await skipEvent(pool, await idOf(bad, 2), 'ada')).not.toBeNull();
  await append(good, queued(good));
  await until(
    () => told.includes('a payment.completed late') && told.includes('b payment.queued'),
    {
      timeoutMs,
    },
  );
  expect(told.filter((text) => text.startsWith('a'))).toEqual([
    'a payment.queued',
    'a payment.processing',
    'a payment.completed late',
  ]);
  await append(good, processing);
  await until(async () => (await listQuarantine(pool, 1)).length === 0, { timeoutMs });

  // Replays say the same as the broker did.
  const refs = [0, 1, 3].map(async (n) => ({ streamId: bad, eventId: await idOf(bad, n) }));
  const past = await pastPaymentEvents(store, pool, await Promise.all(refs));
  expect(past.map(({ eventType, data }) => [eventType, data.previousStatus])).toEqual([
    ['payment.queued', null],
    ['payment.processing', 'QUEUED'],
    ['payment.completed', 'PROCESSING'],
  ]);
});

it('after a rollback, the newer events wait, and the next upgrade tells them in order', async () => {
  const newer = paymentAggregate.schemaVersions as Record<string, number>;
  const known = newer['PaymentProcessing'] ?? 1;
  const first = relay();
  try {
    // The release before: it does not know the event yet.
    delete newer['PaymentProcessing'];
    await append(bad, queued(bad), processing);
    await until(() => held.length === 1, { timeoutMs });
    await append(bad, completed);
    await append(good, queued(good));
    await until(() => first.told.includes('b payment.queued'), { timeoutMs });
    first.stop();
  } finally {
    newer['PaymentProcessing'] = known;
  }
  const { told } = relay();
  await until(() => told.length === 2, { timeoutMs });
  expect(told).toEqual(['a payment.processing late', 'a payment.completed late']);
  expect(held).toHaveLength(1);
});

it('a death before the checkpoint tells what was held back once more', async () => {
  const { stop } = relay();
  await append(bad, queued(bad), unknown, processing);
  await until(() => held.length > 0, { timeoutMs });
  await until(async () => (await pgConsumerState(pool).loadCheckpoint(group)) !== '', {
    timeoutMs,
  });
  stop();
  await skipEvent(pool, await idOf(bad, 1), 'ada');
  const dying = relay({ savesCheckpoint: false });
  await until(() => dying.told.includes('a payment.processing late'), { timeoutMs });
  await append(good, queued(good));
  await until(() => dying.told.includes('b payment.queued'), { timeoutMs });
  dying.stop();
  const { told } = relay();
  await until(() => told.length >= 2, { timeoutMs });
  expect(told).toEqual(['a payment.processing late', 'b payment.queued']);
});

it('events of a release that is too new are told to nobody in part', async () => {
  await append(bad, queued(bad), unknown, completed);
  const refs = [{ streamId: bad, eventId: await idOf(bad, 2) }];
  await expect(pastPaymentEvents(store, pool, refs)).rejects.toThrow(/PaymentEaten/);
  const before: Pick<RecordedEvent, 'id'> = { id: await idOf(bad, 0) };
  const past = await pastPaymentEvents(store, pool, [{ streamId: bad, eventId: before.id }]);
  expect(past).toHaveLength(1);
});

it('a stream that another process holds back from a later event on loses none of the earlier ones', async () => {
  const { told } = relay();
  await append(good, unknown);
  await until(() => held.length === 1, { timeoutMs });
  const other = `payment-${randomUUID()}`;
  await append(other, queued(other), unknown, processing);
  const [, , last] = await store.readStream(other);
  if (last === undefined) throw new Error('three events were appended');
  const first: RecordedEvent = { ...last, streamId: bad };
  await holdStreams(pool, group, [{ first, cause: new UnreadableEvent(first, 'too new') }]);
  await append(bad, queued(bad), unknown, processing);
  await until(() => told.includes('a payment.queued'), { timeoutMs });
  await until(() => held.length === 3, { timeoutMs });
  await skipEvent(pool, await idOf(bad, 1), 'ada');
  await until(() => told.includes('a payment.processing late'), { timeoutMs });
});

it('what the groups hold back on one broker is told on the other', async () => {
  const groups = ['rail-executor', 'webhook-dispatcher'];
  const embedded = groups.map((reader) => relay({ reader }));
  await append(bad, queued(bad), unknown, processing);
  await append(good, queued(good));
  for (const { told } of embedded)
    await until(() => told.includes('b payment.queued'), { timeoutMs });
  const end = await store.lastPosition();
  const state = pgConsumerState(pool);
  for (const reader of groups)
    await until(async () => (await state.loadCheckpoint(reader)) === end, { timeoutMs });
  embedded.forEach(({ stop }) => stop());

  expect(await carryOverToRelay(pool)).toBe(end);
  const onKafka = relay();
  await until(async () => (await listQuarantine(pool, 10)).length === 1, { timeoutMs });
  expect(await listQuarantine(pool, 10)).toMatchObject([{ reader: group, streamId: bad }]);
  onKafka.stop();

  const back = relay({ reader: 'rail-executor' });
  await skipEvent(pool, await idOf(bad, 1), 'ada');
  await until(() => back.told.includes('a payment.processing late'), { timeoutMs });
  back.stop();
  const { told } = relay();
  await until(() => told.includes('a payment.processing late'), { timeoutMs });
  expect([...onKafka.told, ...told].filter((text) => !text.endsWith('late'))).toEqual([]);
});
