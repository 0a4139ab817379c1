import type { ConsumerState, Delivery, MessagePage } from './message.js';
import { waitingSince } from './message-headers.js';

/** The methods needed of a `pg` Pool. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>;
}

/** Optional for a ConsumerState: an operator in another process requests replays, the consumer runs them. */
export interface ReplayRequests {
  /** Requests a replay of all parked messages. @returns how many there are */
  requestReplay(group: string): Promise<number>;
  /** Parked messages with a replay request, the oldest first. Each is returned once per request. */
  takeReplayRequests(
    group: string,
    max: number,
  ): Promise<readonly { id: string; delivery: Delivery }[]>;
}

/** The event that a checkpoint stands on. */
export interface CheckpointAnchor {
  readonly position: string;
  readonly eventId: string;
  readonly streamId: string;
  readonly revision: number;
}

export interface PgConsumerStateOptions {
  /** The last event at or before a position, null when the log has none. The checkpoint is put onto it. */
  readonly anchorAt?: (position: string) => Promise<CheckpointAnchor | null>;
  /**
   * Prefixes of the streams that the group follows here, and that a process of another release may pass over. How far they were
   * read is saved with the checkpoint. Default: none.
   */
  readonly laterPrefixesOf?: (group: string) => readonly string[];
  /** The broker that the groups use from now on. */
  readonly transport?: 'embedded' | 'kafka';
}

/**
 * An operator has moved the checkpoint since it was loaded, or the log has lost what was read after it: load it again, and
 * read on from there.
 */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
  constructor(group: string, reason = `the checkpoint of ${group} was moved by an operator`) {
    super(reason);
  }
}

/**
 * Checkpoints and dead letters of the embedded mode in PostgreSQL (tables consumer_checkpoints and
 * dead_letters). A checkpoint never moves backwards, and parking the same message again keeps one row,
 * so that a stale or repeated call does no harm.
 */
export function pgConsumerState(
  pool: Queryable,
  { anchorAt, laterPrefixesOf, transport = 'embedded' }: PgConsumerStateOptions = {},
): ConsumerState & ReplayRequests {
  /** Of the checkpoints that were loaded here. */
  const generations = new Map<string, number>();
  return {
    async loadCheckpoint(group) {
      const { rows } = await pool.query(
        'SELECT position, generation FROM consumer_checkpoints WHERE consumer_group = $1',
        [group],
      );
      const [row] = rows as { position: string; generation: number }[];
      generations.set(group, row?.generation ?? 0);
      return row?.position ?? '';
    },

    async saveCheckpoint(group, position, eventId, kindsRead) {
      // Read first: the position belongs to the checkpoint that is loaded now.
      const generation = generations.get(group) ?? null;
      const anchor = await anchorAt?.(position);
      if (anchor !== undefined && eventId !== undefined && anchor?.eventId !== eventId)
        throw new CheckpointMoved(group, `the log has lost the event of ${group} at ${position}`);
      // The log has become shorter: the table decides.
      if (anchor === null) return;
      if (kindsRead !== undefined) await saveKindsRead(pool, group, generation, kindsRead);
      const saved = anchor?.position ?? position;
      const kindsThere = (laterPrefixesOf?.(group) ?? []).map((prefix) => [prefix, saved]);
      const { rows } = await pool.query(
        `WITH saved AS (
           INSERT INTO consumer_checkpoints AS c
             (consumer_group, position, event_id, stream_id, revision, transport, kinds_read, updated_at)
           VALUES ($1, $2, $3, $4, $5, $6, $8::jsonb, now())
           ON CONFLICT (consumer_group) DO UPDATE
             SET position = EXCLUDED.position, event_id = EXCLUDED.event_id,
               stream_id = EXCLUDED.stream_id, revision = EXCLUDED.revision,
               transport = EXCLUDED.transport, kinds_read = c.kinds_read || EXCLUDED.kinds_read,
               updated_at = now()
             WHERE c.position < EXCLUDED.position AND c.generation = coalesce($7::integer, c.generation))
         SELECT generation FROM consumer_checkpoints WHERE consumer_group = $1`,
        [
          group,
          saved,
          anchor?.eventId ?? null,
          anchor?.streamId ?? null,
          anchor?.revision ?? null,
          transport,
          generation,
          JSON.stringify(Object.fromEntries(kindsThere)),
        ],
      );
      const [before] = rows as { generation: number }[];
      const isMoved =
        generation !== null && before !== undefined && before.generation !== generation;
      if (isMoved) throw new CheckpointMoved(group);
    },

    /** An existing one keeps its time of arrival. */
    async park(group, { topic, key, value, headers, offset, attempt }, error) {
      await pool.query(
        `INSERT INTO dead_letters
           (consumer_group, topic, key, value, headers, "offset", attempts, error, parked_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now())
         ON CONFLICT (consumer_group, topic, "offset", key) DO UPDATE
           SET attempts = EXCLUDED.attempts, error = EXCLUDED.error`,
        [
          ...[group, topic, withoutNul(key), withoutNul(value)],
          ...[JSON.stringify(headers), offset, attempt, error],
        ],
      );
    },

    async parked(group, max) {
      const { rows } = await pool.query(
        `SELECT ${columns} FROM dead_letters WHERE consumer_group = $1 ORDER BY dead_letters.id LIMIT $2`,
        [group, max],
      );
      return (rows as DeadLetterRow[]).map(fromRow);
    },

    async unpark(group, id) {
      await pool.query('DELETE FROM dead_letters WHERE consumer_group = $1 AND id = $2', [
        group,
        id,
      ]);
    },

    async requestReplay(group) {
      const { rowCount } = await pool.query(
        'UPDATE dead_letters SET replay_requested_at = now() WHERE consumer_group = $1',
        [group],
      );
      return rowCount ?? 0;
    },

    async takeReplayRequests(group, max) {
      const { rows } = await pool.query(
        `UPDATE dead_letters SET replay_requested_at = NULL
         WHERE id IN (
           SELECT id FROM dead_letters
           WHERE consumer_group = $1 AND replay_requested_at IS NOT NULL
           ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING ${columns}`,
        [group, max],
      );
      const taken = (rows as DeadLetterRow[]).sort((a, b) =>
        BigInt(a.id) < BigInt(b.id) ? -1 : 1,
      );
      return taken.map(fromRow);
    },
  };
}

/** Of kinds of streams before the checkpoint. Never backwards, and nothing if an operator has moved the checkpoint. */
async function saveKindsRead(
  pool: Queryable,
  group: string,
  generation: number | null,
  kindsRead: NonNullable<MessagePage['kindsRead']>,
): Promise<void> {
  await pool.query(
    `UPDATE consumer_checkpoints SET kinds_read = kinds_read || (
         SELECT jsonb_object_agg(kind, greatest(read COLLATE "C", kinds_read->>kind))
           FROM jsonb_each_text($2::jsonb) AS kinds (kind, read))
      WHERE consumer_group = $1 AND generation = coalesce($3::integer, generation) AND $2::jsonb <> '{}'`,
    [group, JSON.stringify(kindsRead), generation],
  );
}

/** PostgreSQL's text cannot hold NUL. JSON cannot either, so a value with NUL was unreadable anyway. */
const withoutNul = (text: string) => text.replaceAll('\0', '\ufffd');

const columns =
  'id::text, topic, key, value, headers::text, "offset", attempts, error, parked_at AS "parkedAt"';

interface DeadLetterRow {
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly value: string;
  readonly headers: string;
  readonly offset: string;
  readonly attempts: number;
  readonly error: string;
  readonly parkedAt: Date;
}

function fromRow({ id, error, attempts, headers, parkedAt, ...message }: DeadLetterRow) {
  const delivery: Delivery = {
    topic: message.topic,
    key: message.key,
    value: message.value,
    headers: waitingSince(parkedAt, JSON.parse(headers) as Record<string, string>),
    offset: message.offset,
    attempt: attempts,
  };
  return { id, delivery, error };
}
