/**
 * The partitions of the log in PostgreSQL (migration 20261205000300_events_partitioned). A position belongs to exactly
 * one. There is always an empty one behind the one that is written: processes make it ahead of time. An append that
 * finds none all the same makes it and is repeated.
 */
import { isTransient, reasonOf } from '@pis/postgres';
import type pg from 'pg';
import { StoreUnavailable } from '../port.js';
import { database, type Query, type Statement } from './database.js';

/**
 * Positions of a partition: about 70 GB. So an ordinary installation has two, the one in use and an empty one. The migration
 * has the same number.
 */
export const partitionEventsDefault = 50_000_000;

const timeoutMs = 10_000;
/** Tries of an append, each with a partition made for it. */
const triesMax = 10;

const prepare: Statement = {
  name: 'pis_prepare_event_partitions',
  text: 'SELECT prepare_event_partitions($1::bigint, $2::bigint) AS empty',
};

const countEmpty: Statement = {
  name: 'pis_empty_event_partitions',
  text: `SELECT count(*)::int AS empty FROM event_partitions p
    WHERE p.from_position > (SELECT h.position FROM event_log_head h)`,
};

/**
 * Makes the empty partition behind the one in use if it is missing. Harmless at any time, in any number of processes.
 * @returns the empty partitions that there are
 * @throws StoreUnavailable
 */
export async function prepareLogPartitions(pool: pg.Pool): Promise<number> {
  return emptyOf(await database(pool, timeoutMs)<Empty>(prepare, [0, partitionEventsDefault]));
}

/** The empty partitions that there are. With 0, the one in use is the last. @throws StoreUnavailable */
export async function emptyLogPartitions(pool: pg.Pool): Promise<number> {
  return emptyOf(await database(pool, timeoutMs)<Empty>(countEmpty, []));
}

interface Empty {
  readonly empty: number;
}

const emptyOf = ([row]: readonly Empty[]) => row?.empty ?? 0;

export interface AppendToPartition<Result> {
  /** Events of the append, at most. */
  readonly events: number;
  readonly partitionEvents: number;
  /** Writes nothing when it fails, and may be repeated. */
  readonly append: () => Promise<Result>;
}

/** @throws StoreUnavailable there is no partition for the events and none can be made; nothing was written */
export async function appendToPartition<Result>(
  query: Query,
  { events, partitionEvents, append }: AppendToPartition<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries += 1)
    try {
      if (tries > 1) await query(prepare, [events, partitionEvents]);
      return await append();
    } catch (error) {
      if (tries === 1 && !isPartitionMissing(error)) throw error;
      // Others may have filled what was made.
      if (tries < triesMax && isPartitionMissing(error)) continue;
      if (!isPartitionMissing(error) && !isTransient(error)) throw error;
      const message = `the log has no partition for the next events: see "PisLogLastPartition" in docs/runbooks/log.md: ${reasonOf(error)}`;
      throw new StoreUnavailable(message, { cause: error });
    }
}

/** PostgreSQL calls it a violated check (23514) of the table, without the name of a constraint. */
function isPartitionMissing(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, table, constraint } = error as Partial<pg.DatabaseError>;
  return code === '23514' && table === 'events' && constraint === undefined;
}
