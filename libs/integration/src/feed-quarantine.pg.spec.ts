import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { payment as paymentAggregate } from '@pis/domain';
import { paymentEvents } from '@pis/domain/testing';
import {
  anchorAt,
  postgresEventStore,
  type RecordedEvent,
  UnreadableEvent,
} from '@pis/event-store';
import { itemsOf, until } from '@pis/local-servers/testing';
import { type MessagePage, pgConsumerState } from '@pis/messaging';
import { holdStreams, quarantinedStreams, skipEvent } from '@pis/read-models';
import { appendEvents } from '@pis/read-models/testing';
import { integrationFeeds } from './integration-feed.js';
import { carryOverToRelay } from './log-places.js';
import { pastWebhookEvents } from './past-events.js';
import {
  labelOf,
  openPaymentLog,
  type PaymentLog,
  paymentStream,
  queuedIn,
  unknownEvent,
} from './testing.js';

const timeoutMs = 60_000;
const group = 'event-relay';
const { processing, completed } = paymentEvents;
const bad = paymentStream('a');
const good = paymentStream('b');

let log: PaymentLog;
const listQuarantine = () => itemsOf(quarantinedStreams(log.pool));
let held: string[];
let readers: { stop(): Promise<void> }[];

beforeEach(async () => {
  log = await openPaymentLog();
  held = [];
  readers = [];
});
afterEach(async () => {
  await Promise.all(readers.map((reader) => reader.stop()));
  await log.close();
});

/** Reads like the relay: publishes a page, then saves the checkpoint. */
function relay({ savesCheckpoint = true, reader: name = group } = {}): {
  readonly published: string[];
  stop(): Promise<void>;
} {
  const { store, pool } = log;
  const feedOf = integrationFeeds({
    store,
    pool,
    onHeld: (_reader, { event }) => held.push(event.type),
    limits: { releaseEveryMs: 20 },
  });
  const ending = new AbortController();
  const { signal } = ending;
  const published: string[] = [];
  const state = pgConsumerState(log.pool);
  const run = async () => {
    const after = await state.loadCheckpoint(name);
    for await (const page of feedOf(name).subscribe({ after, topics: [topics.payments], signal })) {
      for (const message of page.messages)
        published.push(`${labelOf(message)}${'waiting-since' in message.headers ? ' late' : ''}`);
      if (savesCheckpoint) await state.saveCheckpoint(name, page.position);
    }
  };
  const ended = run().catch((error: unknown) => void published.push(String(error)));
  const stop = () => {
    ending.abort();
    return ended;
  };
  readers.push({ stop });
  return { published, stop };
}

it('an event that cannot be translated holds back only its payment', async () => {
  const { published } = relay();
  await log.append(bad, queuedIn(bad), processing, unknownEvent, completed);
  await log.append(good, queuedIn(good), processing, completed);
  await until(() => published.includes('b payment.completed'), { timeoutMs });
  expect(published).toEqual([
    'a payment.queued',
    'a payment.processing',
    'b payment.queued',
    'b payment.processing',
    'b payment.completed',
  ]);
  expect(held).toEqual(['PaymentEaten']);
  expect(await listQuarantine()).toMatchObject([
    { reader: group, streamId: bad, eventType: 'PaymentEaten', reason: 'unknown type of event' },
  ]);
});

it('malformed data of a known event holds back only its payment', async () => {
  const { published } = relay();
  await log.append(bad, completed);
  await log.append(good, queuedIn(good));
  await until(() => published.length > 0, { timeoutMs });
  expect(published).toEqual(['b payment.queued']);
  expect(await listQuarantine()).toMatchObject([{ streamId: bad }]);
});

it('a skipped event is not published, and later events of its payment are published without it', async () => {
  const { published } = relay();
  await log.append(bad, queuedIn(bad), processing, unknownEvent, completed);
  await until(() => held.length > 0, { timeoutMs });
  expect(await skipEvent(log.pool, await log.idOf(bad, 2), 'ada')).not.toBeNull();
  await log.append(good, queuedIn(good));
  await until(
    () => published.includes('a payment.completed late') && published.includes('b payment.queued'),
    {
      timeoutMs,
    },
  );
  expect(published.filter((text) => text.startsWith('a'))).toEqual([
    'a payment.queued',
    'a payment.processing',
    'a payment.completed late',
  ]);
  await log.append(good, processing);
  await until(async () => (await listQuarantine()).length === 0, { timeoutMs });

  // Replays return the same events as the broker.
  const refs = [0, 1, 3].map(async (n) => ({ streamId: bad, eventId: await log.idOf(bad, n) }));
  const past = await pastWebhookEvents(log.store, log.pool, await Promise.all(refs));
  expect(
    past.map(({ eventType, data }) => [eventType, 'previousStatus' in data && data.previousStatus]),
  ).toEqual([
    ['payment.queued', null],
    ['payment.processing', 'QUEUED'],
    ['payment.completed', 'PROCESSING'],
  ]);
});

it('after a rollback, newer events wait, and the next upgrade publishes them in order', async () => {
  const newer = paymentAggregate.schemaVersions as Record<string, number>;
  const known = newer['PaymentProcessing'] ?? 1;
  const first = relay();
  try {
    // The previous release does not know the event yet.
    delete newer['PaymentProcessing'];
    await log.append(bad, queuedIn(bad), processing);
    await until(() => held.length === 1, { timeoutMs });
    await log.append(bad, completed);
    await log.append(good, queuedIn(good));
    await until(() => first.published.includes('b payment.queued'), { timeoutMs });
    await first.stop();
  } finally {
    newer['PaymentProcessing'] = known;
  }
  const { published } = relay();
  await until(() => published.length === 2, { timeoutMs });
  expect(published).toEqual(['a payment.processing late', 'a payment.completed late']);
  expect(held).toHaveLength(1);
});

it('a crash before the checkpoint publishes the held-back messages again', async () => {
  const { stop } = relay();
  await log.append(bad, queuedIn(bad), unknownEvent, processing);
  await until(() => held.length > 0, { timeoutMs });
  await until(async () => (await pgConsumerState(log.pool).loadCheckpoint(group)) !== '', {
    timeoutMs,
  });
  await stop();
  await skipEvent(log.pool, await log.idOf(bad, 1), 'ada');
  const dying = relay({ savesCheckpoint: false });
  await until(() => dying.published.includes('a payment.processing late'), { timeoutMs });
  await log.append(good, queuedIn(good));
  await until(() => dying.published.includes('b payment.queued'), { timeoutMs });
  await dying.stop();
  const { published } = relay();
  await until(() => published.length >= 2, { timeoutMs });
  expect(published).toEqual(['a payment.processing late', 'b payment.queued']);
});

it('events of a newer release are not published partially', async () => {
  await log.append(bad, queuedIn(bad), unknownEvent, completed);
  const refs = [{ streamId: bad, eventId: await log.idOf(bad, 2) }];
  await expect(pastWebhookEvents(log.store, log.pool, refs)).rejects.toThrow(/PaymentEaten/);
  const before: Pick<RecordedEvent, 'id'> = { id: await log.idOf(bad, 0) };
  const past = await pastWebhookEvents(log.store, log.pool, [
    { streamId: bad, eventId: before.id },
  ]);
  expect(past).toHaveLength(1);
});

it('a late message moves no checkpoint onto an event that took the place of a lost one', async () => {
  const { pool } = log;
  const store = postgresEventStore({ pool });
  await appendEvents(store, bad, [queuedIn(bad), unknownEvent, completed]);
  await appendEvents(store, good, [queuedIn(good)]);
  const limits = { releaseEveryMs: 20 };
  const feed = integrationFeeds({ store, pool, onHeld: () => undefined, limits })(group);
  const state = pgConsumerState(pool, { anchorAt: (position) => anchorAt(store, position) });
  const after = await state.loadCheckpoint(group);
  const ending = new AbortController();
  const from = { after, topics: [topics.payments], signal: ending.signal };
  const pages = feed.subscribe(from)[Symbol.asyncIterator]();
  const next = async (): Promise<MessagePage> => (await pages.next()).value as MessagePage;
  const { position: lost, eventId } = await next();
  expect(eventId).toBe((await store.lastEvent(lost))?.id);
  const [, unknown] = await store.readStream(bad);
  await skipEvent(pool, unknown?.id ?? '', 'ada');
  const late = await next();
  expect(late).toMatchObject({ position: lost, messages: [{ key: bad }] });
  await pool.query('DELETE FROM events WHERE position > 3');
  await pool.query('UPDATE event_log_head SET position = 3');
  const other = paymentStream('c');
  await appendEvents(store, other, [queuedIn(other), processing]);
  const saved = state.saveCheckpoint(group, late.position, late.eventId);
  await expect(saved).rejects.toThrow('has lost the event');
  ending.abort();
  await pages.return?.();
  await store.close();
});

it('a stream that another process holds back from a later event loses no earlier event', async () => {
  const { published } = relay();
  await log.append(good, unknownEvent);
  await until(() => held.length === 1, { timeoutMs });
  const other = `payment-${randomUUID()}`;
  await log.append(other, queuedIn(other), unknownEvent, processing);
  const [, , last] = await log.store.readStream(other);
  if (last === undefined) throw new Error('three events were appended');
  const first: RecordedEvent = { ...last, streamId: bad };
  await holdStreams(log.pool, group, [{ first, cause: new UnreadableEvent(first, 'too new') }]);
  await log.append(bad, queuedIn(bad), unknownEvent, processing);
  await until(() => published.includes('a payment.queued'), { timeoutMs });
  await until(async () => (await listQuarantine()).length === 3, { timeoutMs });
  await skipEvent(log.pool, await log.idOf(bad, 1), 'ada');
  await until(() => published.includes('a payment.processing late'), { timeoutMs });
});

it('messages that groups hold back on one broker are published on the other', async () => {
  const groups = ['rail-executor', 'webhook-dispatcher'];
  const embedded = groups.map((reader) => relay({ reader }));
  await log.append(bad, queuedIn(bad), unknownEvent, processing);
  await log.append(good, queuedIn(good));
  for (const { published } of embedded)
    await until(() => published.includes('b payment.queued'), { timeoutMs });
  const end = await log.store.lastPosition();
  const state = pgConsumerState(log.pool);
  for (const reader of groups)
    await until(async () => (await state.loadCheckpoint(reader)) === end, { timeoutMs });
  await Promise.all(embedded.map(({ stop }) => stop()));

  expect(await carryOverToRelay(log.pool)).toBe(end);
  const onKafka = relay();
  await until(async () => (await listQuarantine()).length === 1, { timeoutMs });
  expect(await listQuarantine()).toMatchObject([{ reader: group, streamId: bad }]);
  await onKafka.stop();

  const back = relay({ reader: 'rail-executor' });
  await skipEvent(log.pool, await log.idOf(bad, 1), 'ada');
  await until(() => back.published.includes('a payment.processing late'), { timeoutMs });
  await back.stop();
  const { published } = relay();
  await until(() => published.includes('a payment.processing late'), { timeoutMs });
  expect([...onKafka.published, ...published].filter((text) => !text.endsWith('late'))).toEqual([]);
});
