/**
 * The log is restored from a backup, and a client repeats a lost payment with its key. The repeat takes a rail of another
 * connection: it comes at another hour, or names the rail.
 */
import { railReferenceOf } from '@pis/bank-rails';
import { Life, mortalPool } from '@pis/bank-rails/testing';
import type { EventStore } from '@pis/event-store';
import type { RailExecutor } from './rail-executor.js';
import { type Formats, openFormats } from './testing/formats.js';
import { mortalStore } from './testing/mortal-store.js';
import { ended, handle, historyIn, restoredWith } from './testing/restored-log.js';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';

const completed = ['Queued', 'Processing', 'Completed'];
const connectionOf = { ACH: 'files', RTP: 'messages' } as const;
type Rail = keyof typeof connectionOf;
const repeats: readonly (readonly [Rail, Rail])[] = [
  ['ACH', 'RTP'],
  ['RTP', 'ACH'],
];

let world: World;
let formats: Formats;
beforeEach(async () => {
  world = await openWorld({ confirmationTimeoutMs: 60_000 });
  formats = await openFormats(world);
});
afterEach(async () => {
  await formats.close();
  await world.close();
});

async function claimIn(store: EventStore, { paymentId }: QueuedMessage): Promise<unknown> {
  const events = await store.readStream(world.streamIdOf(paymentId));
  return events.find(({ type }) => type === 'PaymentProcessing')?.data['connection'];
}

/** The connections that have a record of it. */
async function recordsOf({ paymentId }: QueuedMessage): Promise<string[]> {
  const { rows } = await world.pool.query<{ connection: string }>(
    `SELECT bank AS connection FROM ach_entries WHERE reference = $1
     UNION ALL SELECT connection FROM iso_transfers WHERE reference = $1`,
    [railReferenceOf(paymentId)],
  );
  return rows.map(({ connection }) => connection);
}

/** Whatever the executor still does. */
async function finish(executor: RailExecutor, { paymentId }: QueuedMessage): Promise<void> {
  await formats.exchangeFiles();
  await world.timePasses(paymentId);
  await settle(executor);
}

it.each(repeats)(
  'a payment that was executed over %s is not executed again over %s',
  async (rail, other) => {
    const message = await ended(world, formats, rail);
    const store = await restoredWith(world, message, { paymentRail: other });
    const executor = world.executor({ banks: formats.banks, store });
    await handle(executor, message);
    await finish(executor, message);
    expect(await historyIn(world, store, message)).toEqual(completed);
    expect(await claimIn(store, message)).toBe(connectionOf[rail]);
    expect(await recordsOf(message)).toEqual([connectionOf[rail]]);
    expect(await formats.executions()).toBe(1);
  },
);

it.each(repeats)(
  'a payment that was executed over %s is not executed again over %s, although two executors are told of it',
  async (rail, other) => {
    const message = await ended(world, formats, rail);
    const store = await restoredWith(world, message, { paymentRail: other });
    const executors = [1, 2].map(() => world.executor({ banks: formats.banks, store }));
    await Promise.all(executors.map((executor) => handle(executor, message)));
    for (const executor of executors) await finish(executor, message);
    expect(await historyIn(world, store, message)).toEqual(completed);
    expect(await recordsOf(message)).toEqual([connectionOf[rail]]);
    expect(await formats.executions()).toBe(1);
  },
);

it.each(repeats)(
  'a payment that a bank has rejected over %s is not sent over %s',
  async (rail, other) => {
    const message = await ended(world, formats, rail, '0204');
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Failed']);
    const store = await restoredWith(world, message, { paymentRail: other });
    const executor = world.executor({ banks: formats.banks, store });
    await handle(executor, message);
    await finish(executor, message);
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Processing', 'Failed']);
    expect(await recordsOf(message)).toEqual([connectionOf[rail]]);
    expect(await formats.executions()).toBe(0);
  },
);

it.each(repeats)(
  'a payment that was executed over %s is in doubt, when it is repeated over %s with another amount',
  async (rail, other) => {
    const message = await ended(world, formats, rail);
    const store = await restoredWith(world, message, {
      paymentRail: other,
      amountMinor: 11_111,
    });
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    const executor = world.executor({ banks: formats.banks, store, config });
    await handle(executor, message);
    for (let times = 1; times <= 3; times += 1) await finish(executor, message);
    expect(await historyIn(world, store, message)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await recordsOf(message)).toEqual([connectionOf[rail]]);
    expect(await formats.executions()).toBe(1);
  },
);

it.each(repeats)(
  'a payment that was executed over %s, by a connection that is not configured any more, is not executed again over %s',
  async (rail, other) => {
    const message = await ended(world, formats, rail);
    const store = await restoredWith(world, message, { paymentRail: other });
    const banks = formats.banks.filter(({ name }) => name !== connectionOf[rail]);
    const executor = world.executor({ banks, store });
    await handle(executor, message);
    await finish(executor, message);
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Processing']);
    expect(await claimIn(store, message)).toBe(connectionOf[rail]);
    expect(await recordsOf(message)).toEqual([connectionOf[rail]]);
    const again = world.executor({ banks: formats.banks, store });
    await finish(again, message);
    expect(await historyIn(world, store, message)).toEqual(completed);
    expect(await formats.executions()).toBe(1);
  },
);

it.each(repeats)(
  'a payment that was executed over %s, by a connection that is not configured any more, is not BLOCKED when it is repeated over %s',
  async (rail, other) => {
    const message = await ended(world, formats, rail);
    const store = await restoredWith(world, message, { paymentRail: other });
    const banks = formats.banks.filter(({ name }) => name !== connectionOf[rail]);
    const of = () => Promise.resolve({ outcome: 'blocked', block: {} } as const);
    await handle(world.executor({ banks, store, review: { of } }), message);
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Processing']);
    await finish(world.executor({ banks: formats.banks, store }), message);
    expect(await historyIn(world, store, message)).toEqual(completed);
    expect(await formats.executions()).toBe(1);
  },
);

it('a payment that was executed over RTP is not executed again over ACH, wherever the executor dies', async () => {
  const message = await ended(world, formats, 'RTP');
  for (const moment of ['before', 'after'] as const)
    for (let diesAt = 1; ; diesAt += 1) {
      await world.pool.query('DELETE FROM rail_pending');
      const store = await restoredWith(world, message, { paymentRail: 'ACH' });
      const life = new Life(diesAt, moment);
      const [pool, dying] = [mortalPool(world.pool, life), mortalStore(store, life)];
      const mortal = world.executor({ banks: formats.banks, pool, store: dying });
      await handle(mortal, message).catch(() => undefined);
      const executor = world.executor({ banks: formats.banks, store });
      await handle(executor, message);
      await finish(executor, message);
      expect(await historyIn(world, store, message)).toEqual(completed);
      expect(await recordsOf(message)).toEqual(['messages']);
      if (!life.isDead) break;
    }
  expect(await formats.executions()).toBe(1);
}, 60_000);

it.each(repeats)(
  'a payment that was executed over %s, and that an earlier release has claimed for %s, is in doubt and not executed again',
  async (rail, other) => {
    const message = await ended(world, formats, rail);
    const store = await restoredWith(world, message, { paymentRail: other });
    const { paymentId } = message;
    const reference = railReferenceOf(paymentId);
    const streamId = world.streamIdOf(paymentId);
    const data = { railReference: reference, connection: connectionOf[other] };
    const [lost] = (await world.store.readStream(streamId)).slice(1);
    if (lost === undefined) throw new Error('it was not claimed');
    await store.append(streamId, 0, [{ ...lost, data }]);
    await world.pool.query(
      `INSERT INTO rail_pending (payment_id, reference, rail, stage, connection, submitted_at,
         last_submission_at, submissions, overdue_at, deadline_at)
       VALUES ($1, $2, $3, 'claimed', $4, now(), now(), 1, now(), now())`,
      [paymentId, reference, other, connectionOf[other]],
    );
    await world.timePasses(paymentId);
    const executor = world.executor({ banks: formats.banks, store });
    await executor.sweepRound();
    await formats.exchangeFiles();
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Processing']);
    expect(await recordsOf(message)).toEqual([connectionOf[rail]]);
    expect(world.logger.lines.join()).toContain('another connection has a record of a payment');
    const late = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    const later = world.executor({ banks: formats.banks, store, config: late });
    await world.age(paymentId, 120_000);
    await finish(later, message);
    expect(await historyIn(world, store, message)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await formats.executions()).toBe(1);
  },
);

it('payments over two connections go on as ever while the log has everything', async () => {
  const executor = world.executor({ banks: formats.banks });
  const messages = [
    await world.queue('4321', 'OUTBOUND', 'ACH'),
    await world.queue('4321', 'OUTBOUND', 'RTP'),
  ];
  await Promise.all(messages.map((message) => handle(executor, message)));
  await formats.exchangeFiles();
  await settle(executor);
  for (const { paymentId } of messages) expect(await world.history(paymentId)).toEqual(completed);
  expect(await formats.executions()).toBe(2);
});
