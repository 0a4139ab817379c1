import { randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { payment as paymentAggregate } from '@pis/domain';
import { paymentEvents } from '@pis/domain/testing';
import { type RecordedEvent, UnreadableEvent } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { pgConsumerState } from '@pis/messaging';
import { holdStreams, listQuarantine, skipEvent } from '@pis/read-models';
import { integrationFeeds } from './integration-feed.js';
import { carryOverToRelay } from './log-places.js';
import { pastPaymentEvents } from './past-events.js';
import {
  labelOf,
  openPaymentLog,
  type PaymentLog,
  paymentStream,
  queuedIn,
  unknownEvent,
} from './testing.js';

const timeoutMs = 20_000;
const group = 'event-relay';
const { processing, completed } = paymentEvents;
const bad = paymentStream('a');
const good = paymentStream('b');

let log: PaymentLog;
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

/** Reads as the relay does: what it took is published, then the checkpoint is saved. */
function relay({ savesCheckpoint = true, reader: name = group } = {}): {
  readonly told: string[];
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
  const told: string[] = [];
  const state = pgConsumerState(log.pool);
  const run = async () => {
    const after = await state.loadCheckpoint(name);
    for await (const page of feedOf(name).subscribe({ after, topics: [topics.payments], signal })) {
      for (const message of page.messages)
        told.push(`${labelOf(message)}${'waiting-since' in message.headers ? ' late' : ''}`);
      if (savesCheckpoint) await state.saveCheckpoint(name, page.position);
    }
  };
  const ended = run().catch((error: unknown) => void told.push(String(error)));
  const stop = () => {
    ending.abort();
    return ended;
  };
  readers.push({ stop });
  return { told, stop };
}

it('an event that cannot be translated holds back its payment, and nobody else', async () => {
  const { told } = relay();
  await log.append(bad, queuedIn(bad), processing, unknownEvent, completed);
  await log.append(good, queuedIn(good), processing, completed);
  await until(() => told.includes('b payment.completed'), { timeoutMs });
  expect(told).toEqual([
    'a payment.queued',
    'a payment.processing',
    'b payment.queued',
    'b payment.processing',
    'b payment.completed',
  ]);
  expect(held).toEqual(['PaymentEaten']);
  expect(await listQuarantine(log.pool, 10)).toMatchObject([
    { reader: group, streamId: bad, eventType: 'PaymentEaten', reason: 'unknown type of event' },
  ]);
});

it('malformed data of a known event holds back its payment, and nobody else', async () => {
  const { told } = relay();
  await log.append(bad, completed);
  await log.append(good, queuedIn(good));
  await until(() => told.length > 0, { timeoutMs });
  expect(told).toEqual(['b payment.queued']);
  expect(await listQuarantine(log.pool, 10)).toMatchObject([{ streamId: bad }]);
});

it('a skipped event says nothing, and what follows it in its payment is told without it', async () => {
  const { told } = relay();
  await log.append(bad, queuedIn(bad), processing, unknownEvent, completed);
  await until(() => held.length > 0, { timeoutMs });
  expect(await skipEvent(log.pool, await log.idOf(bad, 2), 'ada')).not.toBeNull();
  await log.append(good, queuedIn(good));
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
  await log.append(good, processing);
  await until(async () => (await listQuarantine(log.pool, 1)).length === 0, { timeoutMs });

  // Replays say the same as the broker did.
  const refs = [0, 1, 3].map(async (n) => ({ streamId: bad, eventId: await log.idOf(bad, n) }));
  const past = await pastPaymentEvents(log.store, log.pool, await Promise.all(refs));
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
    await log.append(bad, queuedIn(bad), processing);
    await until(() => held.length === 1, { timeoutMs });
    await log.append(bad, completed);
    await log.append(good, queuedIn(good));
    await until(() => first.told.includes('b payment.queued'), { timeoutMs });
    await first.stop();
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
  await log.append(bad, queuedIn(bad), unknownEvent, processing);
  await until(() => held.length > 0, { timeoutMs });
  await until(async () => (await pgConsumerState(log.pool).loadCheckpoint(group)) !== '', {
    timeoutMs,
  });
  await stop();
  await skipEvent(log.pool, await log.idOf(bad, 1), 'ada');
  const dying = relay({ savesCheckpoint: false });
  await until(() => dying.told.includes('a payment.processing late'), { timeoutMs });
  await log.append(good, queuedIn(good));
  await until(() => dying.told.includes('b payment.queued'), { timeoutMs });
  await dying.stop();
  const { told } = relay();
  await until(() => told.length >= 2, { timeoutMs });
  expect(told).toEqual(['a payment.processing late', 'b payment.queued']);
});

it('events of a release that is too new are told to nobody in part', async () => {
  await log.append(bad, queuedIn(bad), unknownEvent, completed);
  const refs = [{ streamId: bad, eventId: await log.idOf(bad, 2) }];
  await expect(pastPaymentEvents(log.store, log.pool, refs)).rejects.toThrow(/PaymentEaten/);
  const before: Pick<RecordedEvent, 'id'> = { id: await log.idOf(bad, 0) };
  const past = await pastPaymentEvents(log.store, log.pool, [
    { streamId: bad, eventId: before.id },
  ]);
  expect(past).toHaveLength(1);
});

it('a stream that another process holds back from a later event on loses none of the earlier ones', async () => {
  const { told } = relay();
  await log.append(good, unknownEvent);
  await until(() => held.length === 1, { timeoutMs });
  const other = `payment-${randomUUID()}`;
  await log.append(other, queuedIn(other), unknownEvent, processing);
  const [, , last] = await log.store.readStream(other);
  if (last === undefined) throw new Error('three events were appended');
  const first: RecordedEvent = { ...last, streamId: bad };
  await holdStreams(log.pool, group, [{ first, cause: new UnreadableEvent(first, 'too new') }]);
  await log.append(bad, queuedIn(bad), unknownEvent, processing);
  await until(() => told.includes('a payment.queued'), { timeoutMs });
  await until(async () => (await listQuarantine(log.pool, 10)).length === 3, { timeoutMs });
  await skipEvent(log.pool, await log.idOf(bad, 1), 'ada');
  await until(() => told.includes('a payment.processing late'), { timeoutMs });
});

it('what the groups hold back on one broker is told on the other', async () => {
  const groups = ['rail-executor', 'webhook-dispatcher'];
  const embedded = groups.map((reader) => relay({ reader }));
  await log.append(bad, queuedIn(bad), unknownEvent, processing);
  await log.append(good, queuedIn(good));
  for (const { told } of embedded)
    await until(() => told.includes('b payment.queued'), { timeoutMs });
  const end = await log.store.lastPosition();
  const state = pgConsumerState(log.pool);
  for (const reader of groups)
    await until(async () => (await state.loadCheckpoint(reader)) === end, { timeoutMs });
  await Promise.all(embedded.map(({ stop }) => stop()));

  expect(await carryOverToRelay(log.pool)).toBe(end);
  const onKafka = relay();
  await until(async () => (await listQuarantine(log.pool, 10)).length === 1, { timeoutMs });
  expect(await listQuarantine(log.pool, 10)).toMatchObject([{ reader: group, streamId: bad }]);
  await onKafka.stop();

  const back = relay({ reader: 'rail-executor' });
  await skipEvent(log.pool, await log.idOf(bad, 1), 'ada');
  await until(() => back.told.includes('a payment.processing late'), { timeoutMs });
  await back.stop();
  const { told } = relay();
  await until(() => told.includes('a payment.processing late'), { timeoutMs });
  expect([...onKafka.told, ...told].filter((text) => !text.endsWith('late'))).toEqual([]);
});
