import { randomUUID } from 'node:crypto';
import {
  closeAfterEach,
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import pg from 'pg';
import { EmbeddedConsumerStrategy } from './embedded.server.js';
import type { Delivery } from './message.js';
import { NonRetryable } from './errors.js';
import { CheckpointMoved, pgConsumerState } from './pg-consumer-state.js';
import { pgDeferredMessages } from './pg-deferred-messages.js';
import { messagingConformance } from './testing/conformance.js';
import { gate, timeoutMs } from './testing/stage.js';
import { embeddedHarness } from './testing/embedded-harness.js';
import { MemoryLog } from './testing/memory.js';

const atEnd = closeAfterEach();

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

messagingConformance('the embedded transport on PostgreSQL', () =>
  Promise.resolve(embeddedHarness(pgConsumerState(pool), pgDeferredMessages(pool))),
);

const letter = (offset: string): Delivery => ({
  topic: 't',
  key: 'payment-1',
  value: '{"a":"\\u0000"}',
  headers: { 'event-id': 'e', odd: '\u0001"\\' },
  offset,
  attempt: 3,
});

describe('the consumer state in PostgreSQL', () => {
  it('never moves a checkpoint backwards, and compares positions as bytes', async () => {
    const state = pgConsumerState(pool);
    for (const position of ['B', 'a', 'C']) await state.saveCheckpoint('order', position);
    expect(await state.loadCheckpoint('order')).toBe('a');
    expect(await state.loadCheckpoint('nobody')).toBe('');
  });

  it('saves no checkpoint on an event that the log has lost', async () => {
    const kept = randomUUID();
    const anchor = { eventId: kept, streamId: 's', revision: 0 };
    const state = pgConsumerState(pool, {
      anchorAt: (position) => Promise.resolve(position < 'c' ? { position, ...anchor } : null),
    });
    await state.saveCheckpoint('lost', 'a', kept);
    await expect(state.saveCheckpoint('lost', 'b', randomUUID())).rejects.toThrow(CheckpointMoved);
    await expect(state.saveCheckpoint('lost', 'c', kept)).rejects.toThrow(CheckpointMoved);
    expect(await state.loadCheckpoint('lost')).toBe('a');
  });

  it('keeps a dead letter unchanged, and only once however often it is parked', async () => {
    const state = pgConsumerState(pool);
    await state.park('parking', letter('1'), 'first');
    await state.park('parking', letter('2'), 'other');
    await state.park('parking', letter('1'), 'again');
    const parked = await state.parked('parking', 10);
    const waiting = { ...letter('1').headers, 'waiting-since': expect.any(String) as string };
    expect(parked.map(({ delivery, error }) => ({ delivery, error }))).toEqual([
      { delivery: { ...letter('1'), headers: waiting }, error: 'again' },
      { delivery: { ...letter('2'), headers: waiting }, error: 'other' },
    ]);
    const since = parked.map(({ delivery }) => delivery.headers['waiting-since'] ?? '');
    // Parking the first one again did not change its age.
    expect(since.toSorted()).toEqual(since);
    await state.unpark('parking', parked[0]?.id ?? '');
    expect(await state.parked('parking', 10)).toHaveLength(1);
    expect(await state.parked('somebody else', 10)).toEqual([]);
  });

  it('returns a replay request once for each time it was requested', async () => {
    const state = pgConsumerState(pool);
    await state.park('asking', letter('1'), 'x');
    expect(await state.takeReplayRequests('asking', 10)).toEqual([]);
    expect(await state.requestReplay('asking')).toBe(1);
    expect(await state.takeReplayRequests('asking', 10)).toHaveLength(1);
    expect(await state.takeReplayRequests('asking', 10)).toEqual([]);
    expect(await state.parked('asking', 10)).toHaveLength(1);
  });

  it('lets an operator in another process have dead letters handled again', async () => {
    const log = new MemoryLog();
    const state = pgConsumerState(pool);
    const strategy = new EmbeddedConsumerStrategy({
      group: 'op',
      source: log,
      state,
      deferred: pgDeferredMessages(pool),
      replayPollMs: 20,
    });
    atEnd(() => strategy.close());
    let mended = false;
    let handled = 0;
    const handle = () => {
      if (!mended) throw new NonRetryable('a bug');
      handled += 1;
    };
    strategy.addHandler('t', handle as never, true);
    strategy.listen(() => undefined);
    await log.publish([{ topic: 't', key: 'a', value: '1', headers: {} }]);
    await until(async () => (await state.parked('op', 1)).length === 1, { timeoutMs });
    mended = true;
    await pgConsumerState(pool).requestReplay('op');
    await until(async () => (await state.parked('op', 1)).length === 0, { timeoutMs });
    expect(handled).toBe(1);
  });

  it('saves no position of before a move, even if the new checkpoint is loaded meanwhile', async () => {
    const looked = gate();
    const anchorAt = async (position: string) => {
      await looked.opened;
      return { position, eventId: randomUUID(), streamId: 'payment-1', revision: 0 };
    };
    await pgConsumerState(pool).saveCheckpoint('late', '5');
    const state = pgConsumerState(pool, { anchorAt });
    await state.loadCheckpoint('late');
    const saving = state.saveCheckpoint('late', '9');
    await pool.query(
      `UPDATE consumer_checkpoints SET position = '1', generation = generation + 1
       WHERE consumer_group = 'late'`,
    );
    expect(await state.loadCheckpoint('late')).toBe('1');
    looked.open();
    await expect(saving).rejects.toThrow(CheckpointMoved);
    expect(await state.loadCheckpoint('late')).toBe('1');
  });

  it('a consumer goes on from where an operator has moved its checkpoint, and saves nothing of before', async () => {
    const log = new MemoryLog();
    const strategy = new EmbeddedConsumerStrategy({
      group: 'moved',
      source: log,
      state: pgConsumerState(pool),
      deferred: pgDeferredMessages(pool),
      commitIntervalMs: 5,
    });
    atEnd(() => strategy.close());
    const seen: unknown[] = [];
    strategy.addHandler('t', ((value: unknown) => void seen.push(value)) as never, true);
    strategy.listen(() => undefined);
    const publish = (...values: number[]) =>
      log.publish(values.map((n) => ({ topic: 't', key: 'k', value: String(n), headers: {} })));
    const committed = async () =>
      (await pgConsumerState(pool).loadCheckpoint('moved')) === log.offsetsOf('t').at(-1);
    await publish(1, 2);
    await until(committed, { timeoutMs });
    await pool.query(
      `UPDATE consumer_checkpoints SET position = $1, generation = generation + 1
       WHERE consumer_group = 'moved'`,
      [log.offsetsOf('t')[0]],
    );
    await publish(3);
    await until(committed, { timeoutMs });
    expect(seen.slice(0, 3)).toEqual([1, 2, 3]);
    await until(() => seen.length >= 5, { timeoutMs });
    expect(seen.slice(3)).toEqual([2, 3]);
  });

  it('loses nothing when its connections are cut in the middle', async () => {
    const log = new MemoryLog();
    const strategy = new EmbeddedConsumerStrategy({
      group: 'cut',
      source: log,
      state: pgConsumerState(pool),
      deferred: pgDeferredMessages(pool),
      commitIntervalMs: 5,
      backoffInitialMs: 5,
      backoffMaxMs: 20,
    });
    atEnd(() => strategy.close());
    const seen = new Set<unknown>();
    const handle = async (value: unknown) => {
      await pool.query('SELECT 1');
      seen.add(value);
    };
    strategy.addHandler('t', handle as never, true);
    strategy.listen(() => undefined);
    const killer = new pg.Client({ connectionString: database.url });
    atEnd(() => killer.end());
    await killer.connect();
    for (let n = 0; n < 200; n += 1) {
      await log.publish([{ topic: 't', key: `k${n % 9}`, value: String(n), headers: {} }]);
      if (n % 20 === 0) {
        await killer.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        );
      }
    }
    await until(
      async () => {
        const position = await pgConsumerState(pool).loadCheckpoint('cut');
        return position === log.offsetsOf('t').at(-1);
      },
      { timeoutMs },
    );
    expect(seen.size).toBe(200);
    expect(await pgConsumerState(pool).parked('cut', 10)).toEqual([]);
  });
});
