/**
 * Snapshots of long streams in PostgreSQL, for every event store. They only save time. Each has a MAC made
 * with the keyring, so that nobody can change a state, for example a bank account, by changing a row. The
 * state of a party is sealed under the party's key, so that erasure covers its snapshots.
 */
import { timingSafeEqual } from 'node:crypto';
import { ownerOfStream } from '@pis/domain';
import { type Snapshot, type SnapshotStore, StreamStates } from '@pis/event-store';
import { type Keyring, KeyDestroyed, type Owner } from '@pis/keyring';
import type pg from 'pg';
import type { Logger } from './logging.js';

const purpose = 'stream-snapshot';
/** Shorter than the time limit of a request, which can still read the stream instead. */
const queryTimeoutMs = 2_000;

interface Row {
  readonly revision: number;
  readonly event_id: string;
  readonly state: string;
  readonly code: string;
}

const readOne =
  'SELECT revision, event_id, state, code FROM stream_snapshots WHERE stream_id = $1 AND version = $2';

/**
 * Snapshots of former releases are deleted after a month, when no process of those releases runs. Plain text
 * of a party is deleted at once.
 */
const writeOne = `WITH stale AS (
    DELETE FROM stream_snapshots
    WHERE stream_id = $1 AND version <> $2
      AND (written_at < now() - interval '30 days' OR ($7 AND left(state, 1) = '{'))
  )
  INSERT INTO stream_snapshots (stream_id, version, revision, event_id, state, code)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (stream_id, version) DO UPDATE SET revision = excluded.revision,
    event_id = excluded.event_id, state = excluded.state, code = excluded.code, written_at = now()`;

export function pgSnapshots(pool: Pick<pg.Pool, 'query'>, keyring: Keyring): SnapshotStore {
  const codeOf = ({ streamId, version, revision, eventId }: Snapshot, state: string) =>
    keyring.mac(purpose, JSON.stringify([streamId, version, revision, eventId, state]));
  return {
    async read(streamId, version) {
      const values = [streamId, version];
      const query = {
        name: 'pis_read_snapshot',
        text: readOne,
        values,
        query_timeout: queryTimeoutMs,
      };
      const [row] = (await pool.query<Row>(query)).rows;
      if (row === undefined) return null;
      const { revision, event_id: eventId } = row;
      const expected = codeOf({ streamId, version, revision, eventId, state: null }, row.state);
      if (!isEqual(row.code, expected)) return null;
      const owner = ownerOfStream(streamId);
      const [state] =
        owner === null ? [row.state] : await keyring.openAll([{ sealed: row.state, owner }]);
      // The party was erased.
      if (state === undefined || state === null) return null;
      return { streamId, version, revision, eventId, state: JSON.parse(state) as unknown };
    },

    async write(snapshot) {
      const { streamId, version, revision, eventId } = snapshot;
      const owner = ownerOfStream(streamId);
      const plain = JSON.stringify(snapshot.state);
      const state = owner === null ? plain : await sealedUnlessErased(keyring, owner, plain);
      if (state === null) return;
      const code = codeOf(snapshot, state);
      const values = [streamId, version, revision, eventId, state, code, owner !== null];
      const query = {
        name: 'pis_write_snapshot',
        text: writeOne,
        values,
        query_timeout: queryTimeoutMs,
      };
      await pool.query(query);
    },
  };
}

/** Null for an erased party: its state is not kept. */
async function sealedUnlessErased(
  keyring: Keyring,
  owner: Owner,
  plain: string,
): Promise<string | null> {
  try {
    return await keyring.seal(owner, plain);
  } catch (error) {
    if (error instanceof KeyDestroyed) return null;
    throw error;
  }
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The cached states of a process, with snapshots of long streams in PostgreSQL. */
export function streamStates(
  pool: Pick<pg.Pool, 'query'>,
  keyring: Keyring,
  logger: Logger,
): StreamStates {
  return new StreamStates({
    snapshots: pgSnapshots(pool, keyring),
    onSnapshotError: (err) => logger.warn({ err }, 'a snapshot could not be read or written'),
  });
}

const plainOfParties = `SELECT stream_id, version FROM stream_snapshots
  WHERE (stream_id LIKE 'contact-%' OR stream_id LIKE 'originator-%') AND left(state, 1) = '{'
  LIMIT $1`;

const deleteBatchMax = 500;

/** Deletes snapshots of parties that an older release has written in plain text. Returns how many. */
export async function deletePlainSnapshots(pool: Pick<pg.Pool, 'query'>): Promise<number> {
  for (let deleted = 0; ; ) {
    const { rowCount } = await pool.query(
      `DELETE FROM stream_snapshots WHERE (stream_id, version) IN (${plainOfParties})`,
      [deleteBatchMax],
    );
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < deleteBatchMax) return deleted;
  }
}
