import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { Partitions, type PartitionsOptions } from './partitions.js';

const dayMs = 24 * 3_600_000;
const retentionDays = 30;
const windowDays = 14;
const limits: PartitionsOptions['limits'] = {
  aheadDays: 7,
  lockTimeoutMs: 200,
  lockTriesMax: 20,
  lockPauseMs: 10,
  deleteMax: 5_000,
};
const { signal } = new AbortController();

describe('The days of the webhook tables', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let time: number;
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 10);
    time = Date.now();
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const partitions = (changes: Partial<PartitionsOptions['limits']> = {}) =>
    new Partitions({
      pool,
      now: () => new Date(time),
      retentionDays,
      windowMs: windowDays * dayMs,
      limits: { ...limits, ...changes },
      onDropped: () => undefined,
    });
  const rows = async <Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []) =>
    (await pool.query<Row>(sql, values)).rows;
  const finish = async (at: number) => {
    const id = randomUUID();
    await pool.query(
      `INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type,
         occurred_at, created_at, window_ends_at, state, finished_at)
       VALUES ($1, $1, $1, $1, 'payment.queued', $2, $2, $2, 'delivered', $2)`,
      [id, new Date(at).toISOString()],
    );
    return id;
  };
  const placeOf = async (id: string) => {
    const [row] = await rows<{ place: string }>(
      'SELECT tableoid::regclass::text AS place FROM webhook_finished_deliveries WHERE id = $1',
      [id],
    );
    return row?.place;
  };
  const nameOf = (at: number) =>
    `webhook_finished_deliveries_${new Date(at).toISOString().slice(0, 10).replaceAll('-', '')}`;
  const names = async () =>
    (
      await rows<{ name: string }>(
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits
           WHERE inhparent = 'webhook_finished_deliveries'::regclass ORDER BY 1`,
      )
    ).map(({ name }) => name);

  it('are created a week ahead, and only once', async () => {
    await partitions().maintain(signal);
    const made = await names();
    for (let n = 0; n <= 7; n++) expect(made).toContain(nameOf(time + n * dayMs));
    await partitions().maintain(signal);
    expect(await names()).toEqual(made);
    expect(await placeOf(await finish(time + 7 * dayMs))).toBe(nameOf(time + 7 * dayMs));
  });

  it('leave no samples of their texts in the statistics of PostgreSQL', async () => {
    await partitions().maintain(signal);
    const [days] = await rows<{ sampled: number; unsampled: number }>(
      `SELECT count(*) FILTER (WHERE coalesce(attstattarget, -1) <> 0)::int AS sampled,
         count(*) FILTER (WHERE attstattarget = 0)::int AS unsampled
       FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
       WHERE c.relkind IN ('r', 'p') AND c.relname LIKE 'webhook%' AND attname IN ('body', 'response_excerpt')`,
    );
    expect(days?.sampled).toBe(0);
    expect(days?.unsampled).toBeGreaterThan(3 * 8);
  });

  it('without a partition keep their rows in the default partition until it is created', async () => {
    const later = time + 40 * dayMs;
    const id = await finish(later);
    const never = await finish(time + 4_000 * dayMs);
    expect(await placeOf(id)).toBe('webhook_finished_deliveries_default');
    time = later;
    await partitions().maintain(signal);
    expect(await placeOf(id)).toBe(nameOf(later));
    expect(await placeOf(never)).toBe('webhook_finished_deliveries_default');
  });

  it('past retention are dropped, and newer days and newer rows of the default partition stay', async () => {
    time -= 31 * dayMs;
    await partitions().maintain(signal);
    const old = await finish(time);
    const kept = await finish(time + 2 * dayMs);
    const stray = await finish(time - 400 * dayMs);
    expect(await placeOf(old)).toBe(nameOf(time));
    expect(await placeOf(stray)).toBe('webhook_finished_deliveries_default');
    time += 31 * dayMs;
    await partitions({ deleteMax: 1 }).maintain(signal);
    expect(await placeOf(old)).toBeUndefined();
    expect(await placeOf(stray)).toBeUndefined();
    expect(await placeOf(kept)).toBe(nameOf(time - 29 * dayMs));
    expect(await names()).not.toContain(nameOf(time - 31 * dayMs));
    // What was tried and said is kept for as long again as a delivery may take.
    const [attempts] = await rows<{ found: string | null }>(
      `SELECT to_regclass($1)::text AS found`,
      [nameOf(time - 31 * dayMs).replace('finished_deliveries', 'attempts')],
    );
    expect(attempts?.found).not.toBeNull();
  });

  it('are not dropped by a dispatcher whose clock has jumped ahead', async () => {
    const id = await finish(time);
    time += 10 * 365 * dayMs;
    await partitions().maintain(signal);
    expect(await placeOf(id)).toBeDefined();
  });

  it('are the work of one dispatcher at a time', async () => {
    await Promise.all([1, 2, 3].map(() => partitions().maintain(signal)));
    expect(await names()).toContain(nameOf(time + 7 * dayMs));
    const other = await pool.connect();
    await other.query('SELECT pg_advisory_lock(72707411)');
    time += 20 * dayMs;
    await partitions().maintain(signal);
    expect(await names()).not.toContain(nameOf(time + 7 * dayMs));
    other.release(true);
  });

  it('wait only briefly for readers of the tables, and never hold up writers', async () => {
    time -= 31 * dayMs;
    await partitions().maintain(signal);
    const old = await finish(time);
    time += 31 * dayMs;
    const reader = await pool.connect();
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM webhook_finished_deliveries');
    const impatient = { lockTimeoutMs: 50, lockTriesMax: 3 };
    await expect(partitions(impatient).maintain(signal)).rejects.toThrow('lock timeout');
    expect(await placeOf(await finish(time))).toBe(nameOf(time));
    expect(await placeOf(old)).toBeDefined();
    await reader.query('COMMIT');
    reader.release();
    await partitions(impatient).maintain(signal);
    expect(await placeOf(old)).toBeUndefined();
  });
});
