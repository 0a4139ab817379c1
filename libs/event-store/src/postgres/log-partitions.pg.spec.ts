/** The partitions of the log: what crosses them, who makes them, and what happens when none can be made. */
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import pg from 'pg';
import { beginning, type EventStore, StoreUnavailable, WrongExpectedRevision } from '../port.js';
import { eventToAppend, testTimeoutMs, unique } from '../testing/conformance-kit.js';
import { withSmallPartitions } from '../testing/small-partitions.js';
import { emptyLogPartitions, prepareLogPartitions } from './log-partitions.js';
import { postgresEventStore } from './postgres-event-store.js';
import * as statements from './statements.js';

const partitionEvents = 4;
const events = (count: number) => Array.from({ length: count }, () => eventToAppend());

let database: TestDatabase;
let pool: pg.Pool;
let operator: pg.Client;
let store: EventStore;

beforeEach(async () => {
  database = await createTestDatabase();
  await withSmallPartitions(database.url, partitionEvents);
  pool = openTestPool(database.url, 5);
  operator = new pg.Client({ connectionString: database.url });
  await operator.connect();
  store = postgresEventStore({ pool, partitionEvents });
}, testTimeoutMs);
afterEach(async () => {
  await store.close();
  await pool.end();
  await operator.end();
  await database.drop();
}, testTimeoutMs);

async function partitions() {
  const { rows } = await operator.query<{ partition: string; events: number }>(
    `SELECT p.partition, (SELECT count(*)::int FROM events e WHERE e.tableoid = p.partition::regclass) AS events
       FROM event_partitions p ORDER BY to_position`,
  );
  return rows.map(({ partition, events: count }) => `${partition}: ${count}`);
}

/** Nobody can make a partition while this transaction is open. Reads and appends go on. */
const lockPartitions = 'BEGIN; LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE';

it('an append that crosses partitions is one append: read in order, and the same when repeated', async () => {
  const streamId = `payment-${unique()}`;
  const [before, across, after] = [events(2), events(7), events(1)];
  await store.append(streamId, 'noStream', before);
  const appended = await store.append(streamId, 1, across);
  await store.append(streamId, 8, after);
  // 1 to 4, 5 to 8, 9 and 10; one more than the append needed.
  expect((await partitions()).slice(0, 3)).toEqual(['events_1: 4', 'events_2: 4', 'events_3: 2']);
  const another = postgresEventStore({ pool, partitionEvents });
  expect(await another.append(streamId, 1, across)).toEqual(appended);
  await another.close();

  const ids = [...before, ...across, ...after].map(({ id }) => id);
  const read = await store.readStream(streamId);
  expect(read.map(({ id }) => id)).toEqual(ids);
  const backwards = await store.readStream(streamId, { direction: 'backwards', maxCount: 6 });
  expect(backwards.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 6));
  const part = await store.readStream(streamId, { from: 3, maxCount: 3 });
  expect(part.map(({ revision }) => revision)).toEqual([3, 4, 5]);
  const log: string[] = [];
  for (let place = beginning; ; ) {
    const page = await store.readLog({ after: place, pageMax: 3 });
    log.push(...page.events.map(({ id }) => id));
    if (page.events.length === 0) break;
    place = page.position;
  }
  expect(log).toEqual(ids);
  expect(await store.lastEvent(read[3]?.position ?? '')).toEqual(read[3]);
});

it('the revision of a stream in an earlier partition is known, and is given to one append only', async () => {
  const streamId = `payment-${unique()}`;
  await store.append(streamId, 'noStream', events(1));
  for (let count = 0; count < 3; count += 1)
    await store.append(`payment-${unique()}`, 'noStream', events(5));
  await expect(store.append(streamId, 'noStream', events(1))).rejects.toEqual(
    new WrongExpectedRevision(streamId, 'noStream', 0),
  );
  const stores = Array.from({ length: 5 }, () => postgresEventStore({ pool, partitionEvents }));
  const outcomes = await Promise.allSettled(
    stores.map((each) => each.append(streamId, 0, events(1))),
  );
  await Promise.all(stores.map((each) => each.close()));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect((await store.readStream(streamId)).map(({ revision }) => revision)).toEqual([0, 1]);
});

it('one empty partition is made ahead, however many processes make it, while others read and append', async () => {
  await store.append(`payment-${unique()}`, 'noStream', events(1));
  expect(await emptyLogPartitions(pool)).toBe(0);
  const reader = await pool.connect();
  await reader.query('BEGIN; SELECT count(*) FROM events');
  await operator.query(
    `BEGIN; SELECT append_events('[{"a":0,"s":"payment-open","x":-1,"n":1,"o":0,"i":"${eventToAppend().id}","t":"T"}]', '{}', '{}')`,
  );
  const made = await Promise.all([1, 2, 3].map(() => prepareLogPartitions(pool)));
  expect(made).toEqual([1, 1, 1]);
  await operator.query('COMMIT');
  await reader.query('COMMIT');
  reader.release();
  expect(await partitions()).toEqual(['events_1: 2', 'events_2: 0']);
  expect(await prepareLogPartitions(pool)).toBe(1);
  expect(await emptyLogPartitions(pool)).toBe(1);
});

it('a new partition has the same columns, keys and settings as the first one', async () => {
  await prepareLogPartitions(pool);
  const { rows } = await operator.query<{ shape: string }>(
    `SELECT concat_ws(' ', c.reloptions,
         (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attcollation, attnotnull,
            attstorage, attcompression), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
         (SELECT string_agg(replace(pg_get_indexdef(indexrelid), c.relname, 'x'), ', ' ORDER BY indexrelid)
            FROM pg_index WHERE indrelid = c.oid)) AS shape
       FROM pg_class c WHERE relname IN ('events_1', 'events_2')`,
  );
  expect(rows).toHaveLength(2);
  expect(rows[0]).toEqual(rows[1]);
  expect(rows[0]?.shape).toContain('toast_tuple_target=8160');
});

it(
  'without a partition an append is refused as a whole, and is accepted once one can be made',
  async () => {
    await operator.query(lockPartitions);
    const streamId = `payment-${unique()}`;
    const [fits, across] = [events(3), events(2)];
    await store.append(streamId, 'noStream', fits);
    const refused = store.append(streamId, 2, across);
    await expect(refused).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(refused).rejects.toThrow(/no partition for the next events: see "PisLogLast/);
    expect(await store.readStream(streamId)).toHaveLength(3);
    // What fits is still accepted.
    expect(await store.append(`payment-${unique()}`, 'noStream', events(1))).toMatchObject({
      position: '00000000000000000004',
    });
    await operator.query('COMMIT');
    expect(await store.append(streamId, 2, across)).toMatchObject({ revision: 4 });
    expect((await store.readLog({ after: beginning })).events).toHaveLength(6);
  },
  testTimeoutMs,
);

it('lookups use an index of each partition, and a page of the log opens only its own', async () => {
  await store.append(`payment-${unique()}`, 'noStream', events(10));
  await operator.query('SET plan_cache_mode = force_generic_plan');
  const planOf = async ({ name, text }: { name: string; text: string }, values: string) => {
    await operator.query(`PREPARE ${name} AS ${text}`);
    const { rows } = await operator.query<Record<string, string>>(
      `EXPLAIN EXECUTE ${name} (${values})`,
    );
    return rows.flatMap((row) => Object.values(row)).join('\n');
  };
  const stream = await planOf(statements.readParts, `'{payment-1}', '{0}', '{1}'`);
  const backwards = await planOf(statements.readBackwards, `'payment-1', 0, 1`);
  for (const plan of [stream, backwards])
    for (const number of [1, 2, 3])
      expect(plan).toMatch(
        new RegExp(`Index Scan.* using events_${number}_stream_id_revision_key`),
      );
  const log = await planOf(statements.readLog, '5, 8, 500');
  expect(log).toContain('using events_2_pkey');
  expect(log).not.toMatch(/events_(1|3|4)_pkey/);
  for (const plan of [stream, backwards, log]) expect(plan).not.toMatch(/Seq Scan on events/);
});

it(
  'a partition that moves keeps its events for transactions that are older than the copy',
  async () => {
    const streamId = `payment-${unique()}`;
    await store.append(streamId, 'noStream', events(6));
    const older = await pool.connect();
    await older.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM event_log_head');
    const moving = operator.query("CALL move_event_partition('events_1', 'pg_default')");
    await until(
      async () =>
        (
          await pool.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
          )
        ).rowCount,
      { timeoutMs: testTimeoutMs, what: 'a move that waits' },
    );
    expect((await older.query('SELECT FROM events')).rowCount).toBe(6);
    await older.query('COMMIT');
    older.release();
    await moving;
    expect(await store.readStream(streamId)).toHaveLength(6);
    expect((await partitions()).slice(0, 2)).toEqual(['events_1: 4', 'events_2: 2']);
    await expect(
      operator.query("CALL move_event_partition('events_2', 'pg_default')"),
    ).rejects.toThrow('events_2 is not full');
    await expect(
      operator.query("CALL move_event_partition('users', 'pg_default')"),
    ).rejects.toThrow('users is no partition of the log');
    // A call that was stopped left a copy.
    await operator.query('CREATE TABLE events_1_moved (LIKE events)');
    await operator.query("CALL move_event_partition('events_1', 'pg_default')");
    expect(await store.readStream(streamId)).toHaveLength(6);
    const { rows } = await operator.query(`SELECT FROM pg_class WHERE relname LIKE '%moved%'`);
    expect(rows).toEqual([]);
  },
  2 * testTimeoutMs,
);
