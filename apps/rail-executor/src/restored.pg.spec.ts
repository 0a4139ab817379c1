/** The database is restored from a dump. The bank has executed what its tables lack. */
import { BankUnavailable } from '@pis/bank-rails';
import { connectionStates, pauseConnections, resumeConnection } from '@pis/bank-rails/connections';
import { sandboxConnections } from '@pis/bank-simulator/module';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { MetricsRegistry } from '@pis/service-kit';
import { failuresMax } from './payment-execution.js';
import { railGauges } from './rail-metrics.js';
import type { RailExecutor, RailExecutorOptions } from './rail-executor.js';
import { type Formats, openFormats } from './testing/formats.js';
import { dumpOf } from './testing/restored-database.js';
import { openWorld, type QueuedMessage, type World } from './testing/world.js';

const paused = /nothing new is sent over the connection (files|messages) since .*restored/;

let world: World;
let formats: Formats;
let banks: Formats['banks'];

beforeEach(async () => {
  world = await openWorld();
  formats = await openFormats(world);
  ({ banks } = formats);
});
afterEach(async () => {
  await formats.close();
  await world.close();
});

const executed = () => formats.executions();
const exchangeFiles = () => formats.exchangeFiles();
const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const entries = async () => {
  const { rows } = await world.pool.query<{ status: string; trace_number: string | null }>(
    'SELECT status, trace_number FROM ach_entries ORDER BY submitted_at, reference',
  );
  return rows;
};

it('entries that were filed after the dump are not filed again until an operator resumes', async () => {
  const message = await world.queue('4321');
  await handle(world.executor({ banks }), message);
  const restore = await dumpOf(world.pool);
  await exchangeFiles();
  expect(await executed()).toBe(1);
  await restore();

  const executor = world.executor({ banks });
  await exchangeFiles();
  expect(await entries()).toMatchObject([{ status: 'waiting' }]);
  expect(await executed()).toBe(1);
  await expect(executor.checkBank('files')).rejects.toThrow(paused);
  const registry = new MetricsRegistry();
  railGauges(registry, world.pool, executor);
  expect(await registry.metrics()).toContain('pis_rail_connections{state="paused"} 2');
});

it('a payment waits, queued, while the connection is paused, and goes over it with numbers that were never used', async () => {
  await handle(world.executor({ banks }), await world.queue('4321'));
  const restore = await dumpOf(world.pool);
  await restore();
  await world.pool.query("UPDATE ach_entries SET status = 'voided'");

  const message = await world.queue('4321');
  const executor = world.executor({ banks });
  await handle(executor, message);
  await exchangeFiles();
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  expect(await resumeConnection(world.pool, 'files')).toBe(true);
  expect(await resumeConnection(world.pool, 'files')).toBe(false);
  const after = world.executor({ banks });
  await world.timePasses(message.paymentId);
  await after.sweepRound();
  await exchangeFiles();
  await after.feedRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
  const [, entry] = await entries();
  expect(Number(entry?.trace_number?.slice(8))).toBeGreaterThan(1_000_000);
  await expect(after.checkBank('files')).resolves.toBeUndefined();
  await expect(after.checkBank('messages')).rejects.toThrow(paused);
});

it('a payment that comes right after a restore or a failover waits, although the executor saw no pause just before', async () => {
  const executor = world.executor({ banks });
  await handle(executor, await world.queue('4321', 'OUTBOUND', 'RTP'));
  const restore = await dumpOf(world.pool);
  await handle(executor, await world.queue('4321', 'OUTBOUND', 'RTP'));
  expect(await executed()).toBe(2);
  await restore();

  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  await handle(executor, message);
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  expect(await executed()).toBe(2);
  await expect(executor.checkBank('messages')).rejects.toThrow(paused);
});

it('a payment waits right after a failover to a replica that lacks the row of its connection', async () => {
  const executor = world.executor({ banks });
  await handle(executor, await world.queue('4321', 'OUTBOUND', 'RTP'));
  const failOver = await dumpOf(world.pool);
  await handle(executor, await world.queue('4321', 'OUTBOUND', 'RTP'));
  await failOver();
  await world.pool.query("DELETE FROM rail_connections WHERE connection = 'messages'");

  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  await handle(executor, message);
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  expect(await executed()).toBe(2);
  await expect(executor.checkBank('messages')).rejects.toThrow(paused);
});

it('a claimed payment that is tried again right after a restore or a failover waits', async () => {
  const executor = world.executor({ banks });
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  formats.losesAnswers = true;
  await handle(executor, message);
  formats.losesAnswers = false;
  const restore = await dumpOf(world.pool);
  expect(await executed()).toBe(1);
  await executor.checkBank('messages');
  await restore();
  await world.pool.query('DELETE FROM iso_transfers');

  await world.timePasses(message.paymentId);
  await executor.sweepRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  expect(await executed()).toBe(1);
});

it('a claimed payment whose message was sent after the dump is not sent again, and becomes FAILED_IN_FLIGHT', async () => {
  await handle(world.executor({ banks }), await world.queue('4321', 'OUTBOUND', 'RTP'));
  const restore = await dumpOf(world.pool);
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  formats.losesAnswers = true;
  await handle(world.executor({ banks }), message);
  formats.losesAnswers = false;
  expect(await executed()).toBe(2);
  await restore();

  const executor = world.executor({ banks });
  await handle(executor, message);
  await world.timePasses(message.paymentId);
  await executor.sweepRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  await world.timePasses(message.paymentId);
  await executor.deadlineRound();
  expect(await world.history(message.paymentId)).toEqual([
    ...['Queued', 'Processing', 'FailedInFlight'],
  ]);
  expect(await executed()).toBe(2);
});

it('a payment that was about to be voided is not FAILED because a replica has its entry in no file', async () => {
  const message = await world.queue('4321');
  await handle(world.executor({ banks }), message);
  const failOver = await dumpOf(world.pool);
  await exchangeFiles();
  expect(await executed()).toBe(1);
  await failOver();
  await world.pool.query("UPDATE rail_pending SET sealed_at = now(), stage = 'claimed'");

  const executor = world.executor({ banks });
  const tryAgain = async () => {
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
  };
  await tryAgain();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  expect(await entries()).toMatchObject([{ status: 'waiting' }]);
  await resumeAll();
  await exchangeFiles();
  await tryAgain();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Failed']);
});

/** The log of a replica that got nothing of the payment since it was queued. */
async function queuedLog({ paymentId }: QueuedMessage): Promise<EventStore> {
  const store = memoryEventStore();
  const stream = await world.store.readStream(world.streamIdOf(paymentId));
  await store.append(world.streamIdOf(paymentId), 'noStream', stream.slice(0, 1));
  return store;
}

async function historyIn(store: EventStore, { paymentId }: QueuedMessage): Promise<string[]> {
  const events = await store.readStream(world.streamIdOf(paymentId));
  return events.map(({ type }) => type.replace(/^Payment/, ''));
}

const blocks = { of: () => Promise.resolve({ outcome: 'blocked', block: {} } as const) };
const breaks = { of: () => Promise.reject(new Error('broken')) };

async function resumeAll(): Promise<void> {
  for (const { name } of banks) expect(await resumeConnection(world.pool, name)).toBe(true);
}

it.each<[string, RailExecutorOptions['review'], number, string]>([
  ['the review blocks it', blocks, 1, 'Blocked'],
  ['it cannot be reviewed', breaks, failuresMax, 'Failed'],
])(
  'a payment that was sent, and of which a replica has no record, does not end before its connection is resumed when %s',
  async (_what, review, tries, end) => {
    await world.executor({ banks }).checkBank('messages');
    const restore = await dumpOf(world.pool);
    const message = await world.queue('4321', 'OUTBOUND', 'RTP');
    const before = world.executor({ banks });
    await handle(before, message);
    await before.flush();
    expect(await executed()).toBe(1);
    await restore();
    const store = await queuedLog(message);
    const executor = world.executor({ banks, store, review });
    const tryAgain = async () => {
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
    };
    await handle(executor, message);
    for (let times = 1; times <= tries; times += 1) await tryAgain();
    expect(await historyIn(store, message)).toEqual(['Queued']);
    await resumeAll();
    await tryAgain();
    expect(await historyIn(store, message)).toEqual(['Queued', end]);
  },
);

it.each([
  ['paused', false],
  ['resumed', true],
])(
  'a payment of which a replica has no more than the note of its submission is not FAILED by a review when its connection is %s',
  async (_state, isResumed) => {
    const message = await world.queue('4321', 'OUTBOUND', 'RTP');
    formats.losesAnswers = true;
    await handle(world.executor({ banks }), message);
    formats.losesAnswers = false;
    const failOver = await dumpOf(world.pool);
    await failOver();
    await world.pool.query('DELETE FROM iso_transfers');
    const store = await queuedLog(message);
    if (isResumed) {
      await resumeAll();
      await world.age(message.paymentId, 61_000);
    }
    await handle(world.executor({ banks, store, review: blocks }), message);
    expect(await historyIn(store, message)).toEqual(['Queued', 'Processing']);
    expect(await executed()).toBe(1);
  },
);

it('a message whose row was lost is never FAILED because nobody knows it', async () => {
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  formats.losesAnswers = true;
  await handle(world.executor({ banks }), message);
  formats.losesAnswers = false;
  await world.pool.query('DELETE FROM iso_transfers');
  // So late that it may not be sent again, and early enough for the bank to remember it.
  const { referenceMemoryMs, submissionInFlightMaxMs } = sandboxConnections.messages.terms;
  const late = () => Date.now() + referenceMemoryMs - submissionInFlightMaxMs;
  const executor = world.executor({ banks, clock: late });
  await world.timePasses(message.paymentId);
  await executor.sweepRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  expect(await executed()).toBe(1);
});

it('an operator pauses all connections after the restore of a snapshot, which the database cannot show', async () => {
  const executor = world.executor({ banks });
  await expect(executor.checkBank('files')).resolves.toBeUndefined();
  const reason = 'the snapshot of last night was restored';
  const all = { connection: null, isRestored: true, reason };
  expect(await pauseConnections(world.pool, all)).toEqual(['files', 'messages']);
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  const after = world.executor({ banks });
  await handle(after, message);
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  await expect(after.checkBank('messages')).rejects.toThrow(reason);
});

it('a running executor notices the beginning and the end of a pause', async () => {
  const executor = world.executor({ banks });
  const noticed = (what: 'paused' | 'open') =>
    until(
      () =>
        executor.checkBank('messages').then(
          () => what === 'open',
          (error: unknown) => what === 'paused' && error instanceof BankUnavailable,
        ),
      { timeoutMs: 60_000, what },
    );
  const send = async () => {
    const message = await world.queue('4321', 'OUTBOUND', 'RTP');
    await handle(executor, message);
    return world.history(message.paymentId);
  };
  expect(await send()).toContain('Processing');
  const byHand = { connection: 'messages', isRestored: false, reason: 'the bank asked for it' };
  await pauseConnections(world.pool, byHand);
  await noticed('paused');
  expect(await send()).toEqual(['Queued']);
  await resumeConnection(world.pool, 'messages');
  await noticed('open');
  expect(await send()).toContain('Processing');
});

it('a payment that has long waited for a paused connection is tried every ten minutes, and at once when it is resumed', async () => {
  const executor = world.executor({ banks });
  await executor.checkBank('messages');
  const byHand = { connection: 'messages', isRestored: false, reason: 'the bank asked for it' };
  await pauseConnections(world.pool, byHand);
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  const paused = world.executor({ banks });
  await handle(paused, message);
  await world.pool.query('UPDATE rail_pending SET attempts = 30');
  await world.timePasses(message.paymentId);
  await paused.sweepRound();
  const { rows } = await world.pool.query<{ minutes: number }>(
    `SELECT (extract(epoch FROM deadline_at - now()) / 60)::float8 AS minutes FROM rail_pending`,
  );
  expect(rows[0]?.minutes).toBeGreaterThan(5);
  expect(rows[0]?.minutes).toBeLessThanOrEqual(10);
  expect(await resumeConnection(world.pool, 'messages')).toBe(true);
  await world.executor({ banks }).sweepRound();
  expect(await world.history(message.paymentId)).toContain('Processing');
});

describe('a dump that was taken during a pause and is read in later', () => {
  const longAgo = '2026-01-02T03:04:05.000Z';
  const byHand = { connection: 'files', isRestored: false, reason: 'the bank asked for it' };
  const states = async () =>
    new Map((await connectionStates(world.pool)).map((state) => [state.connection, state]));
  const before = `; before that it was paused since 2026-01-02T03:04:05Z: ${byHand.reason}`;
  let restore: () => Promise<void>;
  beforeEach(async () => {
    await world.executor({ banks }).checkBank('files');
    await pauseConnections(world.pool, byHand);
    await world.pool.query(
      "UPDATE rail_connections SET paused_at = $1 WHERE connection = 'files'",
      [longAgo],
    );
    restore = await dumpOf(world.pool);
  });

  it('is noticed: the pause is as old as the restore, and says both reasons', async () => {
    expect((await states()).get('files')).toMatchObject({
      pausedAt: longAgo,
      reason: byHand.reason,
    });
    await restore();
    const first = (await states()).get('files');
    expect(Date.parse(first?.pausedAt ?? '')).toBeGreaterThan(Date.now() - 3_600_000);
    expect(first?.reason).toMatch(/^the database was restored, moved or failed over/);
    expect(first?.reason).toContain(before);
    await expect(world.executor({ banks }).checkBank('files')).rejects.toThrow(paused);
    expect((await states()).get('files')).toEqual(first);
  });

  it('is noticed again when it is read in again, and keeps the reason of the operator', async () => {
    await restore();
    const first = (await states()).get('files');
    const again = await dumpOf(world.pool);
    await again();
    const second = (await states()).get('files');
    expect(second?.reason).toBe(first?.reason);
    expect((second?.pausedAt ?? '') > (first?.pausedAt ?? '')).toBe(true);
  });

  it('moves the numbers ahead at the end of the pause, and pauses new connections, too', async () => {
    await restore();
    await states();
    const other = { name: 'new-bank', rails: [], connection: world.bank };
    await expect(world.executor({ banks: [other] }).checkBank('new-bank')).rejects.toThrow(
      /nothing new is sent over the connection new-bank/,
    );
    expect(await resumeConnection(world.pool, 'files')).toBe(true);
    const { rows } = await world.pool.query<{ last_file: number }>(
      "SELECT last_file::int FROM ach_banks WHERE bank = 'files'",
    );
    expect(rows[0]?.last_file).toBeGreaterThanOrEqual(100_000);
    expect((await states()).get('files')).toMatchObject({ pausedAt: null, reason: null });
  });

  it('is noticed before an operator pauses the connection again', async () => {
    await restore();
    await pauseConnections(world.pool, { ...byHand, reason: 'to compare' });
    const state = (await states()).get('files');
    expect(state?.reason).toBe('to compare');
    expect(Date.parse(state?.pausedAt ?? '')).toBeGreaterThan(Date.now() - 3_600_000);
  });
});

it('a pause after the restore of a snapshot begins then, also when the snapshot was taken during a pause', async () => {
  await world.executor({ banks }).checkBank('files');
  const byHand = { connection: 'files', isRestored: false, reason: 'the bank asked for it' };
  await pauseConnections(world.pool, byHand);
  await world.pool.query("UPDATE rail_connections SET paused_at = now() - interval '1 year'");
  await pauseConnections(world.pool, { ...byHand, isRestored: true, reason: 'a snapshot' });
  const [files] = await connectionStates(world.pool);
  expect(files).toMatchObject({ connection: 'files', reason: 'a snapshot' });
  expect(Date.parse(files?.pausedAt ?? '')).toBeGreaterThan(Date.now() - 3_600_000);
});

it('a name that no connection has is not paused, unless none was used yet', async () => {
  const slip = { connection: 'fils', isRestored: false, reason: 'a slip' };
  expect(await pauseConnections(world.pool, slip)).toEqual(['fils']);
  await world.pool.query('DELETE FROM rail_connections');
  await world.executor({ banks }).checkBank('files');
  expect(await pauseConnections(world.pool, slip)).toEqual([]);
  expect(await pauseConnections(world.pool, { ...slip, connection: 'files' })).toEqual(['files']);
});
