import { randomUUID } from 'node:crypto';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { dispatcherLimits } from './limits.js';
import { Partitions, type PartitionsOptions } from './partitions.js';

const dayMs = 24 * 3_600_000;
const retentionDays = 30;
const windowDays = 14;

describe('The days of the webhook tables', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let time: number;
  const warnings: unknown[] = [];
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 10);
    time = Date.now();
    warnings.length = 0;
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const partitions = (limits: Partial<PartitionsOptions['limits']> = {}) =>
    new Partitions({
      pool,
      now: () => new Date(time),
      retentionDays,
      windowMs: windowDays * dayMs,
      limits: { ...dispatcherLimits.partitions, lockPauseMs: 10, ...limits },
      log: { info: () => undefined, warn: (...args: unknown[]) => void warnings.push(args) },
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
    await partitions().maintain();
    const made = await names();
    for (let n = 0; n <= 7; n++) expect(made).toContain(nameOf(time + n * dayMs));
    await partitions().maintain();
    expect(await names()).toEqual(made);
    expect(await placeOf(await finish(time + 7 * dayMs))).toBe(nameOf(time + 7 * dayMs));
  });

  it('without a partition keep their rows in the default partition until it is created', async () => {
    const later = time + 40 * dayMs;
    const id = await finish(later);
    const never = await finish(time + 4_000 * dayMs);
    expect(await placeOf(id)).toBe('webhook_finished_deliveries_default');
    time = later;
    await partitions().maintain();
    expect(await placeOf(id)).toBe(nameOf(later));
    expect(await placeOf(never)).toBe('webhook_finished_deliveries_default');
  });

  it('past retention are dropped, and newer days and newer rows of the default partition stay', async () => {
    time -= 31 * dayMs;
    await partitions().maintain();
    const old = await finish(time);
    const kept = await finish(time + 2 * dayMs);
    const stray = await finish(time - 400 * dayMs);
    expect(await placeOf(old)).toBe(nameOf(time));
    expect(await placeOf(stray)).toBe('webhook_finished_deliveries_default');
    time += 31 * dayMs;
    await partitions({ deleteMax: 1 }).maintain();
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
    await partitions().maintain();
    expect(await placeOf(id)).toBeDefined();
  });

  it('are the work of one dispatcher at a time', async () => {
    await Promise.all([1, 2, 3].map(() => partitions().maintain()));
    expect(await names()).toContain(nameOf(time + 7 * dayMs));
    const other = await pool.connect();
    await other.query('SELECT pg_advisory_lock(72707411)');
    time += 20 * dayMs;
    await partitions().maintain();
    expect(await names()).not.toContain(nameOf(time + 7 * dayMs));
    other.release(true);
  });

  it('wait only briefly for readers of the tables, and never hold up writers', async () => {
    time -= 31 * dayMs;
    await partitions().maintain();
    const old = await finish(time);
    time += 31 * dayMs;
    const reader = await pool.connect();
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM webhook_finished_deliveries');
    const limits = { lockTimeoutMs: 50, lockTriesMax: 3 };
    await expect(partitions(limits).maintain()).rejects.toThrow('lock timeout');
    expect(await placeOf(await finish(time))).toBe(nameOf(time));
    expect(await placeOf(old)).toBeDefined();
    await reader.query('COMMIT');
    reader.release();
    await partitions(limits).maintain();
    expect(await placeOf(old)).toBeUndefined();
  });

  it('are maintained again after the database was unavailable', async () => {
    const away = openTestPool('postgres://nobody@127.0.0.1:1/none', 1);
    const options = { ...dispatcherLimits.partitions, againMs: 5 };
    const lonely = new Partitions({
      pool: new Proxy(pool, {
        get: (target, property) =>
          property === 'connect' && warnings.length < 2
            ? away.connect.bind(away)
            : (Reflect.get(target, property) as unknown),
      }),
      now: () => new Date(time),
      retentionDays,
      windowMs: windowDays * dayMs,
      limits: options,
      log: { info: () => undefined, warn: (...args: unknown[]) => void warnings.push(args) },
    });
    lonely.start();
    await until(async () => (await names()).includes(nameOf(time + 7 * dayMs)), {
      timeoutMs: 20_000,
    });
    await lonely.stop();
    expect(warnings).toHaveLength(2);
    await away.end();
  });
});
