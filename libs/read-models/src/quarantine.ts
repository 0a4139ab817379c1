/**
 * Quarantine: streams that a reader of the log holds back because it cannot read one of their events, or,
 * for the relay, cannot pass it on. All other streams continue. The events that were held back follow in
 * the order of the stream, once the first one can be read and passed on or an operator has skipped it.
 *
 * What always holds: a stream is recorded here before the reader's checkpoint passes its event, and
 * stays until what was held back has been handled. One row per stream and reader bounds the list.
 */
import { type Position, type RecordedEvent, UnreadableEvent } from '@pis/event-store';
import { heldRows } from '@pis/postgres';
import type pg from 'pg';
import { storableText } from './projection.js';

type Database = pg.ClientBase | pg.Pool;

/** A stream to hold back, from `first` on, because of `cause`. */
export interface UnreadableStream {
  readonly first: RecordedEvent;
  readonly cause: UnreadableEvent;
}

export interface DueStream {
  readonly streamId: string;
  readonly fromRevision: number;
  readonly heldSince: Date;
}

export interface QuarantinedStream {
  readonly reader: string;
  readonly streamId: string;
  readonly position: Position;
  readonly eventId: string;
  readonly eventType: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly heldSince: string;
}

const reasonLengthMax = 1_000;

/** The reader name of a projection, in addition to the consumer groups. */
export function projectionReader(projection: string): string {
  return `projection:${projection}`;
}

export interface HoldOptions {
  /** Everything before `first` was handled: a stream that is already held is now held only from there on. */
  readonly beginsThere?: boolean;
}

/**
 * Holds streams back. A stream that is already held continues from the earlier of the two events, unless
 * the options say otherwise: another process of the group may have found it later in the log.
 */
export async function holdStreams(
  db: Database,
  reader: string,
  streams: readonly UnreadableStream[],
  { beginsThere = false }: HoldOptions = {},
): Promise<void> {
  if (streams.length === 0) return;
  await db.query(
    `INSERT INTO quarantined_streams AS q
       (reader, stream_id, from_revision, position, event_id, event_type, reason, tried_at)
     SELECT $1, s.*, now() FROM unnest($2::text[], $3::integer[], $4::text[], $5::uuid[], $6::text[], $7::text[]) s
     ON CONFLICT (reader, stream_id) DO UPDATE
       SET event_id = excluded.event_id, event_type = excluded.event_type, reason = excluded.reason,
         tried_at = excluded.tried_at, released_to = NULL,
         from_revision = CASE WHEN $8 THEN excluded.from_revision ELSE least(q.from_revision, excluded.from_revision) END,
         position = CASE WHEN $8 THEN excluded.position ELSE least(q.position, excluded.position) END`,
    [
      reader,
      streams.map(({ first }) => first.streamId),
      streams.map(({ first }) => first.revision),
      streams.map(({ first }) => first.position),
      streams.map(({ cause }) => cause.event.id),
      streams.map(({ cause }) => storableText(cause.event.type)),
      streams.map(({ cause }) => storableText(cause.reason).slice(0, reasonLengthMax)),
      beginsThere,
    ],
  );
}

export async function holdsAny(db: Database, reader: string): Promise<boolean> {
  const { rows } = await db.query<{ any: boolean }>(
    'SELECT EXISTS (SELECT FROM quarantined_streams WHERE reader = $1) AS any',
    [reader],
  );
  return rows[0]?.any === true;
}

/** @returns the revision from which each of the streams is held back */
export async function heldAmong(
  db: Database,
  reader: string,
  streamIds: Iterable<string>,
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ streamId: string; fromRevision: number }>(
    `SELECT stream_id AS "streamId", from_revision AS "fromRevision" FROM quarantined_streams
     WHERE reader = $1 AND stream_id = ANY($2::text[])`,
    [reader, [...new Set(streamIds)]],
  );
  return new Map(rows.map(({ streamId, fromRevision }) => [streamId, fromRevision]));
}

/**
 * Before a group continues after `after`: if it was on Kafka until now, it holds back what the relay held
 * back for it up to that position.
 */
export async function adoptQuarantine(
  db: Database,
  group: string,
  relay: string,
  after: Position,
): Promise<void> {
  if (group === relay) return;
  await db.query(
    `INSERT INTO quarantined_streams AS q
       (reader, stream_id, from_revision, position, event_id, event_type, reason, held_since)
     SELECT $1, stream_id, from_revision, position, event_id, event_type, reason, held_since
     FROM quarantined_streams
     WHERE reader = $2 AND position <= $3 AND EXISTS (
       SELECT FROM consumer_checkpoints WHERE consumer_group = $1 AND transport = 'kafka')
     ON CONFLICT (reader, stream_id) DO UPDATE
       SET from_revision = least(q.from_revision, excluded.from_revision),
         position = least(q.position, excluded.position)`,
    [group, relay, after],
  );
}

/** The revision from which each of these streams is held back. */
export async function heldRevisions(
  db: Database,
  reader: string,
  streamIds: Iterable<string>,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ stream_id: string; from_revision: number }>(
    'SELECT stream_id, from_revision FROM quarantined_streams WHERE reader = $1 AND stream_id = ANY($2::text[])',
    [reader, [...new Set(streamIds)]],
  );
  return new Map(rows.map(({ stream_id, from_revision }) => [stream_id, from_revision]));
}

/** The streams to try again next, the least recently tried first. Records the try. */
export async function takeDue(
  db: Database,
  reader: string,
  max: number,
): Promise<readonly DueStream[]> {
  const { rows } = await db.query<DueStream>(
    `UPDATE quarantined_streams SET tried_at = now()
     WHERE reader = $1 AND stream_id IN (
       SELECT stream_id FROM quarantined_streams WHERE reader = $1 AND released_to IS NULL
       ORDER BY tried_at NULLS FIRST LIMIT $2)
     RETURNING stream_id AS "streamId", from_revision AS "fromRevision", held_since AS "heldSince"`,
    [reader, max],
  );
  return rows;
}

/** Ends the quarantine of streams whose events were applied. */
export async function freeStreams(
  db: Database,
  reader: string,
  streamIds: readonly string[],
): Promise<void> {
  await db.query(
    'DELETE FROM quarantined_streams WHERE reader = $1 AND stream_id = ANY($2::text[])',
    [reader, streamIds],
  );
}

/** Replaces a reader's quarantine with those of other readers. */
export async function replaceQuarantine(
  db: Database,
  reader: string,
  others: readonly string[],
): Promise<void> {
  await db.query('DELETE FROM quarantined_streams WHERE reader = $1', [reader]);
  await db.query('UPDATE quarantined_streams SET reader = $1 WHERE reader = ANY($2::text[])', [
    reader,
    others,
  ]);
}

/** The held events of these streams are in flight, and done once the checkpoint is at `position`. */
export async function releaseStreams(
  db: Database,
  reader: string,
  streamIds: readonly string[],
  position: Position,
): Promise<void> {
  await db.query(
    'UPDATE quarantined_streams SET released_to = $3 WHERE reader = $1 AND stream_id = ANY($2::text[])',
    [reader, streamIds, position],
  );
}

/** Frees the streams whose released events a consumer group has handled. @returns those streams */
export async function freeHandled(db: Database, group: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ stream_id: string }>(
    `DELETE FROM quarantined_streams q USING consumer_checkpoints c
     WHERE q.reader = $1 AND c.consumer_group = q.reader AND q.released_to <= c.position
     RETURNING q.stream_id`,
    [group],
  );
  return rows.map(({ stream_id }) => stream_id);
}

/** Prepares a group that continues after `after`: unhandled events in flight are held again. */
export async function reopenQuarantine(
  db: Database,
  group: string,
  after: Position,
): Promise<void> {
  await freeHandled(db, group);
  await db.query('DELETE FROM quarantined_streams WHERE reader = $1 AND position > $2', [
    group,
    after,
  ]);
  await db.query(
    'UPDATE quarantined_streams SET released_to = NULL, tried_at = NULL WHERE reader = $1 AND released_to IS NOT NULL',
    [group],
  );
}

/** Which of these events an operator has skipped. */
export async function skippedAmong(
  db: Database,
  eventIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (eventIds.length === 0) return new Set();
  const { rows } = await db.query<{ event_id: string }>(
    'SELECT event_id FROM skipped_events WHERE event_id = ANY($1::uuid[])',
    [eventIds],
  );
  return new Set(rows.map(({ event_id }) => event_id));
}

export async function hasSkips(db: Database, streamId: string): Promise<boolean> {
  const { rows } = await db.query<{ any: boolean }>(
    'SELECT EXISTS (SELECT FROM skipped_events WHERE stream_id = $1) AS any',
    [streamId],
  );
  return rows[0]?.any === true;
}

// For operators.

/** All of them, the oldest first. */
export async function* quarantinedStreams(
  pool: pg.Pool,
): AsyncGenerator<QuarantinedStream, void, undefined> {
  const rows = heldRows<Omit<QuarantinedStream, 'heldSince'> & { heldSince: Date }>(
    pool,
    `SELECT reader, stream_id AS "streamId", position, event_id AS "eventId",
       event_type AS "eventType", reason, held_since AS "heldSince"
     FROM quarantined_streams ORDER BY held_since, reader, stream_id`,
  );
  for await (const row of rows) yield { ...row, heldSince: row.heldSince.toISOString() };
}

/** Streams held back, by reader, counted up to `max` in all. */
export async function countQuarantine(
  db: Database,
  max: number,
): Promise<readonly { readonly reader: string; readonly streams: number }[]> {
  const { rows } = await db.query<{ reader: string; streams: number }>(
    `SELECT reader, count(*)::integer AS streams
     FROM (SELECT reader FROM quarantined_streams LIMIT $1) q GROUP BY reader`,
    [max],
  );
  return rows;
}

/** Moves a stream, or all, to the front of the retries. @returns how many, over all readers */
export async function requestRetry(db: Database, streamId: string | null): Promise<number> {
  const { rowCount } = await db.query(
    'UPDATE quarantined_streams SET tried_at = NULL WHERE $1::text IS NULL OR stream_id = $1',
    [streamId],
  );
  return rowCount ?? 0;
}

/**
 * Makes every reader skip an event that is in quarantine.
 * @returns the stream, null if no reader holds a stream back because of this event
 */
export async function skipEvent(
  pool: pg.Pool,
  eventId: string,
  actor: string,
): Promise<{ readonly streamId: string; readonly readers: readonly string[] } | null> {
  const { rows } = await pool.query<{ stream_id: string; reader: string }>(
    `WITH skipped AS (
       INSERT INTO skipped_events (event_id, stream_id, event_type, actor)
       SELECT DISTINCT event_id, stream_id, event_type, $2 FROM quarantined_streams
       WHERE event_id = $1 ON CONFLICT (event_id) DO NOTHING)
     UPDATE quarantined_streams SET tried_at = NULL WHERE event_id = $1 RETURNING stream_id, reader`,
    [eventId, actor],
  );
  const [first] = rows;
  if (first === undefined) return null;
  return { streamId: first.stream_id, readers: rows.map(({ reader }) => reader).sort() };
}
