/**
 * Daily partitions of the partitioned tables. Partitions are created ahead, and dropped whole after their
 * retention. An advisory lock lets one dispatcher at a time do it.
 *
 * What always holds:
 *
 * - No row is lost and no delivery waits. Rows of a day without a partition go to the default partition, and
 *   move when the partition of the day is created. A row that was on its way to the default partition
 *   meanwhile is rejected and written again (delivery-table.ts).
 * - Locks are waited for briefly and retried, because whoever waits for a lock holds up everybody after it.
 *   DETACH CONCURRENTLY is not possible with a default partition. DROP TABLE of a partition that nobody
 *   writes to takes milliseconds.
 * - A partition is dropped only when both clocks, ours and the database's, say that it is past its
 *   retention. A clock that has jumped ahead drops nothing.
 */
import { asSingleton, inTransaction, pause, sqlStateOf } from '@pis/postgres';
import type pg from 'pg';

export interface PartitionLimits {
  /** Days created ahead. */
  readonly aheadDays: number;
  readonly lockTimeoutMs: number;
  readonly lockTriesMax: number;
  readonly lockPauseMs: number;
  /** Rows deleted from a default partition in one statement. */
  readonly deleteMax: number;
}

export interface PartitionsOptions {
  readonly pool: pg.Pool;
  readonly now: () => Date;
  readonly retentionDays: number;
  /** The longest retry window. Attempts and bodies are up to this much older than the end of their delivery. */
  readonly windowMs: number;
  readonly limits: PartitionLimits;
  /** Called with the name of each dropped partition. */
  readonly onDropped: (partition: string) => void;
}

interface PartitionedTable {
  readonly name: string;
  /** The column that the table is partitioned by. */
  readonly key: string;
  /** The column with the age of a row in the default partition. */
  readonly age: string;
  /** The column with texts about people: PostgreSQL takes no samples of it, because they would outlive the row. */
  readonly personal: string;
  readonly keptDays: number;
}

export const partitionedTables = [
  'webhook_fan_outs',
  'webhook_finished_deliveries',
  'webhook_attempts',
] as const;

/** Shared by all dispatchers. Any number that no other lock uses. */
const maintenanceLock = { key: 72_707_411 };
const dayMs = 24 * 3_600_000;

/** How many days the rows of fanned-out events are kept. */
function fanOutsKeptDays(retentionDays: number, windowMs: number): number {
  return retentionDays + Math.ceil(windowMs / dayMs) + 1;
}

/**
 * Since when it is known for each event whether it was fanned out. This is a day later than the first day
 * that is kept, because the clocks of dispatchers may differ.
 */
export function fanOutsKnownSince(
  now: Date,
  { retentionDays, windowMs }: Pick<PartitionsOptions, 'retentionDays' | 'windowMs'>,
): Date {
  return new Date(startOfDay(now) - (fanOutsKeptDays(retentionDays, windowMs) - 1) * dayMs);
}

export class Partitions {
  constructor(private readonly options: PartitionsOptions) {}

  /** Creates and drops the partitions that are due, unless another dispatcher does. @param signal ends it early */
  async maintain(signal: AbortSignal): Promise<void> {
    await asSingleton(this.options.pool, maintenanceLock, undefined, async (client) => {
      const { rows } = await client.query<{ now: Date }>('SELECT now() AS now');
      const [database] = rows;
      if (database === undefined) throw new Error('PostgreSQL returned no time');
      for (const table of this.tables()) {
        if (signal.aborted) return;
        await this.createAhead(table, signal);
        await this.dropPast(table, database.now, signal);
      }
    });
  }

  private tables(): readonly PartitionedTable[] {
    const { retentionDays, windowMs } = this.options;
    const withWindow = fanOutsKeptDays(retentionDays, windowMs);
    return [
      {
        name: 'webhook_fan_outs',
        key: 'occurred_at',
        age: 'created_at',
        personal: 'body',
        keptDays: withWindow,
      },
      {
        name: 'webhook_finished_deliveries',
        key: 'finished_at',
        age: 'finished_at',
        personal: 'body',
        keptDays: retentionDays,
      },
      {
        name: 'webhook_attempts',
        key: 'at',
        age: 'at',
        personal: 'response_excerpt',
        keptDays: withWindow,
      },
    ];
  }

  private async createAhead(table: PartitionedTable, signal: AbortSignal): Promise<void> {
    const today = startOfDay(this.options.now());
    const present = new Set(await this.daysOf(table));
    for (let n = 0; n <= this.options.limits.aheadDays; n += 1) {
      const day = today + n * dayMs;
      if (!present.has(day))
        await this.withBriefLocks(signal, (client) => create(client, table, day));
    }
  }

  private async dropPast(
    table: PartitionedTable,
    databaseNow: Date,
    signal: AbortSignal,
  ): Promise<void> {
    const { now, onDropped, limits, pool } = this.options;
    const today = startOfDay(new Date(Math.min(now().getTime(), databaseNow.getTime())));
    const firstKept = today - table.keptDays * dayMs;
    for (const day of await this.daysOf(table)) {
      if (day >= firstKept || signal.aborted) continue;
      await this.withBriefLocks(signal, (client) =>
        client.query(`DROP TABLE ${partition(table, day)}`),
      );
      onDropped(partition(table, day));
    }
    const { name, age } = table;
    for (let deleted = limits.deleteMax; deleted === limits.deleteMax; ) {
      if (signal.aborted) return;
      const { rowCount } = await pool.query(
        `DELETE FROM ${name}_default WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM ${name}_default WHERE ${age} < $1 LIMIT $2))`,
        [new Date(firstKept).toISOString(), limits.deleteMax],
      );
      deleted = rowCount ?? 0;
    }
  }

  /** The days that have a partition, as the ms of their start. Ignores tables with other names. */
  private async daysOf({ name }: PartitionedTable): Promise<number[]> {
    const { rows } = await this.options.pool.query<{ day: string }>(
      `SELECT substring(c.relname FROM '^' || $1 || '_(\\d{8})$') AS day
         FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = $1::regclass AND c.relname ~ ('^' || $1 || '_\\d{8}$') ORDER BY 1`,
      [name],
    );
    return rows.map(({ day }) =>
      Date.UTC(Number(day.slice(0, 4)), Number(day.slice(4, 6)) - 1, Number(day.slice(6))),
    );
  }

  private async withBriefLocks(
    signal: AbortSignal,
    work: (client: pg.ClientBase) => Promise<unknown>,
  ): Promise<void> {
    const { pool, limits } = this.options;
    for (let tries = 1; ; tries += 1)
      try {
        await inTransaction(pool, async (client) => {
          await client.query(`SET LOCAL lock_timeout = ${limits.lockTimeoutMs}`);
          await work(client);
        });
        return;
      } catch (error) {
        if (tries >= limits.lockTriesMax || !isPassing(error)) throw error;
        await pause(limits.lockPauseMs, signal);
      }
  }
}

/**
 * Creates the table separately and then attaches it, which holds up no writer of other days, as CREATE …
 * PARTITION OF would. Moves the day's rows out of the default partition.
 */
async function create(client: pg.ClientBase, table: PartitionedTable, day: number): Promise<void> {
  const { name, key, personal } = table;
  const created = partition(table, day);
  const [from, to] = [`'${bound(day)}'`, `'${bound(day + dayMs)}'`];
  await client.query(`CREATE TABLE ${created} (LIKE ${name} INCLUDING ALL)`);
  // Not copied by LIKE.
  await client.query(`ALTER TABLE ${created} ALTER COLUMN ${personal} SET STATISTICS 0`);
  await client.query(
    `WITH moved AS (DELETE FROM ${name}_default WHERE ${key} >= ${from} AND ${key} < ${to} RETURNING *)
     INSERT INTO ${created} SELECT * FROM moved`,
  );
  await client.query(
    `ALTER TABLE ${name} ATTACH PARTITION ${created} FOR VALUES FROM (${from}) TO (${to})`,
  );
}

/** A lock that was not available (55P03), a deadlock (40P01), or a new row of that day in the default partition (23514). */
function isPassing(error: unknown): boolean {
  return ['55P03', '23514', '40P01'].includes(sqlStateOf(error));
}

/** Consists of our own table names and eight digits, so it is safe in SQL. */
function partition({ name }: PartitionedTable, day: number): string {
  return `${name}_${bound(day).slice(0, 10).replaceAll('-', '')}`;
}

function bound(day: number): string {
  return new Date(day).toISOString();
}

function startOfDay(time: Date): number {
  return Math.floor(time.getTime() / dayMs) * dayMs;
}
