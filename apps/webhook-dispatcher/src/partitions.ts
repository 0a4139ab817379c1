/**
 * The days of the partitioned tables: those to come are made ahead, those past retention are dropped
 * whole. One dispatcher at a time does it, by an advisory lock.
 *
 * What always holds: no row is lost and no delivery waits for this. A day that has no partition goes to
 * the default one, and moves to its own when that is made; locks are waited for briefly and tried again,
 * for whoever waits for a lock holds up all who come after. A row that was on its way to the default
 * partition while its own was attached is refused and written again (delivery-table.ts). (DETACH CONCURRENTLY is not to be had beside
 * a default partition; DROP TABLE of one that nobody writes to is a matter of milliseconds.) What is
 * dropped is past by our clock and by the database's: one that has jumped ahead drops nothing.
 */
import { inTransaction, pause } from '@pis/postgres';
import type { Logger } from '@pis/service-kit';
import type pg from 'pg';

export interface PartitionLimits {
  /** Days made ahead. */
  readonly aheadDays: number;
  readonly everyMs: number;
  /** After a failure. */
  readonly againMs: number;
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
  /** The longest that a delivery is tried for: attempts and bodies are that much older than its end. */
  readonly windowMs: number;
  readonly limits: PartitionLimits;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

interface PartitionedTable {
  readonly name: string;
  /** The column that it is partitioned by. */
  readonly key: string;
  /** What tells the age of a row in the default partition. */
  readonly age: string;
  readonly keptDays: number;
}

export const partitionedTables = [
  'webhook_fan_outs',
  'webhook_finished_deliveries',
  'webhook_attempts',
] as const;

/** Of all dispatchers; any number that nobody else takes. */
const maintenanceLock = 72_707_411;
const dayMs = 24 * 3_600_000;

/** How many days the rows of events that were made into deliveries are kept. */
function fanOutsKeptDays(retentionDays: number, windowMs: number): number {
  return retentionDays + Math.ceil(windowMs / dayMs) + 1;
}

/**
 * Since when it is known of each event whether it was made into deliveries. A day later than the first
 * day that is kept: the clocks of dispatchers may differ.
 */
export function fanOutsKnownSince(
  now: Date,
  { retentionDays, windowMs }: Pick<PartitionsOptions, 'retentionDays' | 'windowMs'>,
): Date {
  return new Date(startOfDay(now) - (fanOutsKeptDays(retentionDays, windowMs) - 1) * dayMs);
}

export class Partitions {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: PartitionsOptions) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { limits, log } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const isDone = await this.maintain().then(
        () => true,
        (error: unknown) => {
          log.warn({ err: error }, 'the days of the webhook tables could not be maintained yet');
          return false;
        },
      );
      await pause(isDone ? limits.everyMs : limits.againMs, signal);
    }
  }

  /** Makes and drops what is to be made and dropped now, unless another dispatcher is at it. */
  async maintain(): Promise<void> {
    const { pool } = this.options;
    const client = await pool.connect();
    try {
      const { rows } = await client.query<{ isOurs: boolean; now: Date }>(
        'SELECT pg_try_advisory_lock($1) AS "isOurs", now() AS now',
        [maintenanceLock],
      );
      const [state] = rows;
      if (state?.isOurs !== true) return;
      for (const table of this.tables()) {
        if (this.stopping.signal.aborted) return;
        await this.makeAhead(table);
        await this.dropPast(table, state.now);
      }
    } finally {
      // Destroyed rather than reused: its end gives the lock up, whatever state it is in.
      client.release(true);
    }
  }

  private tables(): readonly PartitionedTable[] {
    const { retentionDays, windowMs } = this.options;
    const withWindow = fanOutsKeptDays(retentionDays, windowMs);
    return [
      { name: 'webhook_fan_outs', key: 'occurred_at', age: 'created_at', keptDays: withWindow },
      {
        name: 'webhook_finished_deliveries',
        key: 'finished_at',
        age: 'finished_at',
        keptDays: retentionDays,
      },
      { name: 'webhook_attempts', key: 'at', age: 'at', keptDays: withWindow },
    ];
  }

  private async makeAhead(table: PartitionedTable): Promise<void> {
    const today = startOfDay(this.options.now());
    const present = new Set(await this.daysOf(table));
    for (let n = 0; n <= this.options.limits.aheadDays; n += 1) {
      const day = today + n * dayMs;
      if (!present.has(day)) await this.withBriefLocks((client) => make(client, table, day));
    }
  }

  private async dropPast(table: PartitionedTable, databaseNow: Date): Promise<void> {
    const { now, log, limits, pool } = this.options;
    const today = startOfDay(new Date(Math.min(now().getTime(), databaseNow.getTime())));
    const firstKept = today - table.keptDays * dayMs;
    for (const day of await this.daysOf(table)) {
      if (day >= firstKept || this.stopping.signal.aborted) continue;
      await this.withBriefLocks((client) => client.query(`DROP TABLE ${partition(table, day)}`));
      log.info({ partition: partition(table, day) }, 'dropped a day past its retention');
    }
    const { name, age } = table;
    for (let deleted = limits.deleteMax; deleted === limits.deleteMax; ) {
      if (this.stopping.signal.aborted) return;
      const { rowCount } = await pool.query(
        `DELETE FROM ${name}_default WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM ${name}_default WHERE ${age} < $1 LIMIT $2))`,
        [new Date(firstKept).toISOString(), limits.deleteMax],
      );
      deleted = rowCount ?? 0;
    }
  }

  /** The days that have a partition, as the ms of their beginning. Of names that are not ours nothing is said. */
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

  private async withBriefLocks(work: (client: pg.ClientBase) => Promise<unknown>): Promise<void> {
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
        await pause(limits.lockPauseMs, this.stopping.signal);
      }
  }
}

/**
 * Beside the table and then attached: that stops no writer of other days, as CREATE … PARTITION OF would.
 * What the default partition has of that day moves along.
 */
async function make(client: pg.ClientBase, table: PartitionedTable, day: number): Promise<void> {
  const { name, key } = table;
  const made = partition(table, day);
  const [from, to] = [`'${bound(day)}'`, `'${bound(day + dayMs)}'`];
  await client.query(`CREATE TABLE ${made} (LIKE ${name} INCLUDING ALL)`);
  await client.query(
    `WITH moved AS (DELETE FROM ${name}_default WHERE ${key} >= ${from} AND ${key} < ${to} RETURNING *)
     INSERT INTO ${made} SELECT * FROM moved`,
  );
  await client.query(
    `ALTER TABLE ${name} ATTACH PARTITION ${made} FOR VALUES FROM (${from}) TO (${to})`,
  );
}

/** A lock not to be had (55P03), or a row of that day that came into the default one meanwhile (23514). */
function isPassing(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === '55P03' || code === '23514' || code === '40P01';
}

/** A name made of our own words and eight digits. */
function partition({ name }: PartitionedTable, day: number): string {
  return `${name}_${bound(day).slice(0, 10).replaceAll('-', '')}`;
}

function bound(day: number): string {
  return new Date(day).toISOString();
}

function startOfDay(time: Date): number {
  return Math.floor(time.getTime() / dayMs) * dayMs;
}
