/**
 * The log is restored from a backup that is older than PostgreSQL. The bank has executed transfers that are only queued
 * in this log, and their rows in rail_pending are gone: they had ended.
 */
import { directoryOf, type RoutingDirectory } from '@pis/bank-rails';
import type { PaymentRail, TransferOwner } from '@pis/domain';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { failuresMax } from './payment-execution.js';
import type { Review } from './review/review.js';
import type { RailExecutorOptions } from './rail-executor.js';
import { type Formats, openFormats } from './testing/formats.js';
import { dumpOf } from './testing/restored-database.js';
import { ended, handle, historyIn, restoredWith } from './testing/restored-log.js';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';

const completed = ['Queued', 'Processing', 'Completed'];
/** The restoration of a log takes longer than a payment waits for its claim. */
const restoredAfterMs = 120_000;
const emptyDirectory: RoutingDirectory = directoryOf(new Map());

let world: World;
let formats: Formats;
const openFor = async (owner: TransferOwner) => {
  world = await openWorld({ confirmationTimeoutMs: 60_000, owner });
  formats = await openFormats(world);
};
afterEach(async () => {
  await formats.close();
  await world.close();
});

/**
 * A transfer that the bank has executed, and a log in which it is queued.
 * @param amountMinor in that log; as it was executed when absent
 */
async function executedAndRestored(rail: PaymentRail, amountMinor?: number) {
  const message = await ended(world, formats, rail);
  expect(await world.history(message.paymentId)).toEqual(completed);
  return { message, store: await restored(message, amountMinor) };
}

/** A log in which it is queued. */
const restored = (message: QueuedMessage, amountMinor?: number): Promise<EventStore> =>
  restoredWith(world, message, amountMinor === undefined ? {} : { amountMinor });

const ends: readonly [string, Partial<RailExecutorOptions>, number][] = [
  [
    'is blocked by the review',
    { review: { of: () => Promise.resolve({ outcome: 'blocked', block: {} }) } },
    1,
  ],
  ['names a bank that left the directory', { directory: emptyDirectory }, 1],
  [
    'cannot be reviewed',
    { review: { of: () => Promise.reject(new Error('broken')) } },
    failuresMax,
  ],
];
const transfers: readonly (readonly [TransferOwner, PaymentRail])[] = [
  ['payment', 'ACH'],
  ['payment', 'RTP'],
  ['collection', 'ACH'],
];

it.each(transfers.flatMap((transfer) => ends.map((end) => [...transfer, ...end] as const)))(
  'a %s that was executed over %s is COMPLETED, not FAILED, when it %s in its second life',
  async (owner, rail, _end, changes, tries) => {
    await openFor(owner);
    const { message, store } = await executedAndRestored(rail);
    const executor = world.executor({ banks: formats.banks, store, ...changes });
    await handle(executor, message);
    for (let times = 1; times < tries; times += 1) {
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
    }
    await formats.exchangeFiles();
    await settle(executor);
    expect(await historyIn(world, store, message)).toEqual(completed);
    expect(await formats.executions()).toBe(1);
  },
);

const review = (outcome: 'blocked' | 'clear'): Pick<RailExecutorOptions, 'review'> => ({
  review: {
    of: () => Promise.resolve(outcome === 'blocked' ? { outcome, block: {} } : { outcome }),
  },
});

it.each<readonly [string, Partial<RailExecutorOptions>]>([
  ['is reviewed', review('clear')],
  ['is blocked by the review', review('blocked')],
  ['names a bank that left the directory', { directory: emptyDirectory }],
])(
  'a collection that was executed with another sum is neither sent again nor COMPLETED, when it %s in its second life',
  async (_end, changes) => {
    await openFor('collection');
    const { message, store } = await executedAndRestored('ACH', 11_111);
    const executor = world.executor({ banks: formats.banks, store, ...changes });
    await handle(executor, message);
    await formats.exchangeFiles();
    await settle(executor);
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Blocked']);
    const [, blocked] = await store.readStream(world.streamIdOf(message.paymentId));
    expect(blocked?.data).toMatchObject({
      reasons: [expect.stringContaining('over 12345 cents, here 11111') as string],
    });
    expect(await formats.executions()).toBe(1);
    expect(await world.count('ach_entries')).toBe(1);
    expect(world.logger.lines.join()).toContain('a collection was sent before with another amount');
  },
);

it.each(['ACH', 'RTP'] as const)(
  'a payment that was executed over %s with another amount is in doubt, not COMPLETED, when the client has repeated it in its second life',
  async (rail) => {
    await openFor('payment');
    const { message, store } = await executedAndRestored(rail, 11_111);
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    const executor = world.executor({ banks: formats.banks, store, config });
    await handle(executor, message);
    for (let times = 1; times <= 3; times += 1) {
      await formats.exchangeFiles();
      await world.timePasses(message.paymentId);
      await settle(executor);
    }
    expect(await historyIn(world, store, message)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await formats.executions()).toBe(1);
    expect(world.logger.lines.join()).toContain('"sentMinor":12345,"amountMinor":11111');
  },
);

it.each([
  ['ACH', '4321'],
  ['RTP', '0402'],
] as const)(
  'a payment that is confirmed over %s with another amount, after the client has repeated it in its second life, is in doubt, and staff see it',
  async (rail, ending) => {
    await openFor('payment');
    const message = await world.queue(ending, 'OUTBOUND', rail);
    await handle(world.executor({ banks: formats.banks }), message);
    await formats.exchangeFiles();
    const store = await restored(message, 11_111);
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    for (let lives = 1; lives <= 3; lives += 1) {
      const executor = world.executor({ banks: formats.banks, store, config });
      await handle(executor, message);
      await settle(executor);
      await world.timePasses(message.paymentId);
      // What the bank has reported a minute ago postpones no deadline.
      await world.pool.query(
        "UPDATE rail_notified_references SET since = now() - interval '1 hour'",
      );
      await world.makeNotificationsDue();
      await settle(executor);
    }
    expect(await historyIn(world, store, message)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await formats.executions()).toBe(1);
    const { rows } = await world.pool.query('SELECT type, reason FROM rail_notifications');
    expect(rows).toEqual([
      {
        type: 'confirmed',
        reason: 'the bank has another amount under this reference: 12345, not 11111 (minor units)',
      },
    ]);
  },
);

it('a simulated bank that has executed another amount does not complete the payment, by an answer or by a report', async () => {
  await openFor('payment');
  const message = await world.queue('0101');
  await handle(world.executor(), message);
  await until(async () => (await world.pending(message.paymentId)) === null, { timeoutMs: 60_000 });
  const store = await restored(message, 11_111);
  const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
  const executor = world.executor({ store, config });
  await handle(executor, message);
  for (let times = 1; times <= 3; times += 1) {
    await settle(executor);
    await world.timePasses(message.paymentId);
    await world.pool.query("UPDATE rail_notified_references SET since = now() - interval '1 hour'");
  }
  expect(await historyIn(world, store, message)).toEqual([
    'Queued',
    'Processing',
    'FailedInFlight',
  ]);
  expect(await world.executions()).toBe(1);
  expect(world.logger.lines.join()).toContain('"sentMinor":12345,"amountMinor":11111');
  expect(await world.count('rail_notifications')).toBe(1);
});

it('a payment whose earlier one a bank held, and has executed with another amount, is in doubt at its deadline', async () => {
  await openFor('payment');
  const message = await world.queue('0502', 'OUTBOUND', 'RTP');
  await handle(world.executor({ banks: formats.banks }), message);
  const store = await restored(message, 11_111);
  const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
  const executor = world.executor({ banks: formats.banks, store, config });
  await handle(executor, message);
  await settle(executor);
  expect(await historyIn(world, store, message)).toEqual(['Queued', 'Processing']);
  await world.pool.query("UPDATE iso_transfers SET state = 'accepted'");
  for (let times = 1; times <= 2; times += 1) {
    await world.timePasses(message.paymentId);
    await settle(executor);
  }
  expect(await historyIn(world, store, message)).toEqual([
    'Queued',
    'Processing',
    'FailedInFlight',
  ]);
});

it.each(
  (['ACH', 'RTP'] as const).flatMap((rail) =>
    (
      [
        ['lacks', 1],
        ['has as COMPLETED', 3],
      ] as const
    ).map(([knows, events]) => [rail, knows, events] as const),
  ),
)(
  'a payment that was returned over %s, and that the restored log %s, is RETURNED once the feed is read from its beginning',
  async (rail, _knows, events) => {
    await openFor('payment');
    const message = await world.queue('0101', 'OUTBOUND', rail);
    const before = world.executor({ banks: formats.banks });
    await handle(before, message);
    for (let times = 1; times <= 2; times += 1) {
      await formats.exchangeFiles();
      await settle(before);
    }
    expect(await world.history(message.paymentId)).toEqual([...completed, 'Returned']);
    await until(async () => (await world.pending(message.paymentId)) === null, {
      timeoutMs: 60_000,
    });
    const store = memoryEventStore();
    const streamId = world.streamIdOf(message.paymentId);
    const known = (await world.store.readStream(streamId)).slice(0, events);
    await store.append(streamId, 'noStream', known);
    // See "A log that is too short" in docs/operations.md.
    await world.pool.query('DELETE FROM rail_feed_checkpoint');
    const executor = world.executor({ banks: formats.banks, store });
    await handle(executor, message);
    await settle(executor);
    expect(await historyIn(world, store, message)).toEqual([...completed, 'Returned']);
    expect(await formats.executions()).toBe(1);
  },
);

/** A collection whose entry is in no file yet, or had this status when the log was lost. */
async function submittedAndRestored(amountMinor?: number, status = 'waiting') {
  const message = await world.queue('4321', 'OUTBOUND', 'ACH');
  await handle(world.executor({ banks: formats.banks }), message);
  await world.pool.query('UPDATE ach_entries SET status = $1', [status]);
  return { message, store: await restored(message, amountMinor) };
}

async function entryStatus(): Promise<string | undefined> {
  const { rows } = await world.pool.query<{ status: string }>('SELECT status FROM ach_entries');
  return rows[0]?.status;
}

it.each(['waiting', 'voided'])(
  'a collection with another sum that is %s in no file is never sent, and a later one may start',
  async (status) => {
    await openFor('collection');
    const { message, store } = await submittedAndRestored(11_111, status);
    const executor = world.executor({ banks: formats.banks, store });
    await handle(executor, message);
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Failed']);
    expect(await entryStatus()).toBe('voided');
    await formats.exchangeFiles();
    await settle(executor);
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Failed']);
    expect(await formats.executions()).toBe(0);
    expect(await world.pending(message.paymentId)).toBeNull();
  },
);

it.each([
  ['filed', 11_111],
  ['rejected', 11_111],
  ['returned', 11_111],
  ['returned', 12_345],
])('a collection that was %s is blocked, because the bank has had it', async (status, amount) => {
  await openFor('collection');
  const { message, store } = await submittedAndRestored(amount, status);
  await handle(world.executor({ banks: formats.banks, store }), message);
  expect(await historyIn(world, store, message)).toEqual(['Queued', 'Blocked']);
  const [, blocked] = await store.readStream(world.streamIdOf(message.paymentId));
  expect(blocked?.data).toMatchObject({
    rules: ['COLLECTION_SENT_BEFORE'],
    reasons: [expect.stringContaining(`${status}: over 12345 cents, here ${amount}`) as string],
  });
  expect(await entryStatus()).toBe(status);
});

it('a payment that no bank knows ends before the rail, as ever', async () => {
  await openFor('payment');
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  const of = () => Promise.resolve({ outcome: 'blocked', block: {} } as const);
  await handle(world.executor({ banks: formats.banks, review: { of } }), message);
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Blocked']);
  expect(await formats.executions()).toBe(0);
});

it.each<readonly [string, Review['of']]>([
  ['blocked', () => Promise.resolve({ outcome: 'blocked', block: {} })],
  ['cleared', () => Promise.resolve({ outcome: 'clear' })],
])(
  'the connection that knows a payment that is %s decides, although its rail has moved to another one',
  async (_outcome, of) => {
    await openFor('payment');
    const { message, store } = await executedAndRestored('RTP');
    const [files, messages] = formats.banks;
    if (files === undefined || messages === undefined) throw new Error('two banks are needed');
    const other = { name: 'another', rails: ['RTP'], connection: world.bank } as const;
    const banks = [files, { ...messages, rails: ['FEDNOW'] as const }, other];
    const clock = () => Date.now() + restoredAfterMs;
    const executor = world.executor({ banks, store, review: { of }, clock });
    await handle(executor, message);
    await settle(executor);
    expect(await historyIn(world, store, message)).toEqual(completed);
    expect(await formats.executions()).toBe(1);
    expect(await world.executions()).toBe(0);
  },
);

it('a collection with another sum, whose entry a replica has as waiting, does not end before its connection is resumed', async () => {
  await openFor('collection');
  const { message, store } = await submittedAndRestored(11_111);
  const failOver = await dumpOf(world.pool);
  await formats.exchangeFiles();
  expect(await formats.executions()).toBe(1);
  await failOver();
  await handle(world.executor({ banks: formats.banks, store }), message);
  expect(await historyIn(world, store, message)).toEqual(['Queued']);
});
