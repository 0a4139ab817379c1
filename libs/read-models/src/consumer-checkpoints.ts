/**
 * The checkpoints of all readers of the log, for operators and for the monitoring of the log: consumer
 * groups by their name, projections as `projection:<name>`.
 */
import { type Anchor, beginning, type Position } from '@pis/event-store';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import { earliestRead, type KindsRead, kindsReadTo, type ReadPlace } from './passed-over.js';

export interface ReaderCheckpoint {
  readonly reader: string;
  readonly position: Position;
  /** Null before the first event, and in a checkpoint that an older release saved. */
  readonly anchor: Anchor | null;
  /** How often an operator has moved it; 0 for projections. */
  readonly generation: number;
}

export type Transport = 'embedded' | 'kafka';

export interface CheckpointsOfStore {
  readonly checkpoints: readonly ReaderCheckpoint[];
  /** The event store that the database belongs to. Null before the first. */
  readonly storeId: string | null;
}

/** @throws StoreUnavailable */
export async function readCheckpoints(db: pg.Pool): Promise<readonly ReaderCheckpoint[]> {
  return (await readCheckpointsOfStore(db)).checkpoints;
}

/** In one statement: the monitoring of the log reads them every few seconds. @throws StoreUnavailable */
export async function readCheckpointsOfStore(db: pg.Pool): Promise<CheckpointsOfStore> {
  const { rows } = await orUnavailable(() =>
    db.query<{
      storeId: string | null;
      reader: string | null;
      position: string;
      eventId: string | null;
      streamId: string | null;
      revision: number | null;
      generation: number;
    }>({
      name: 'checkpoints-of-store',
      text: `SELECT store.id AS "storeId", reader, position, event_id AS "eventId", stream_id AS "streamId", revision,
           generation
         FROM (SELECT (SELECT store_id FROM store_binding) AS id) store
         LEFT JOIN (
           SELECT consumer_group AS reader, position, event_id, stream_id, revision, generation
             FROM consumer_checkpoints
           UNION ALL
           SELECT 'projection:' || name, position, event_id, stream_id, revision, 0
             FROM projection_checkpoints) checkpoints ON true
        ORDER BY reader`,
    }),
  );
  const checkpoints = rows.flatMap(
    ({ reader, position, generation, eventId, streamId, revision }): ReaderCheckpoint[] => {
      // Without checkpoints there is one row, for the store alone.
      if (reader === null) return [];
      const hasEvent = eventId !== null && streamId !== null && revision !== null;
      const anchor = hasEvent ? { position, eventId, streamId, revision } : null;
      return [{ reader, position, generation, anchor }];
    },
  );
  return { checkpoints, storeId: rows[0]?.storeId ?? null };
}

interface Place extends ReadPlace {
  /** Of the event that the checkpoint stands on. Null at the beginning, and for a checkpoint of an older release. */
  readonly eventId: string | null;
  readonly generation: number;
}

/** Of one consumer group. */
export async function readPlace(db: pg.Pool, group: string): Promise<Place> {
  const { rows } = await orUnavailable(() =>
    db.query<Place>(
      `SELECT position, event_id AS "eventId", generation, kinds_read AS "kindsRead"
       FROM consumer_checkpoints WHERE consumer_group = $1`,
      [group],
    ),
  );
  return rows[0] ?? { position: beginning, eventId: null, generation: 0, kindsRead: {} };
}

/**
 * Moves the checkpoint of a consumer group, forwards or backwards. A process that continues from the former
 * one saves nothing more. Events that are held back after the new one come again with the log. Forwards, what was passed over
 * until now is left out as well.
 * @param anchor null moves it before every event
 * @param laterPrefixes of the group: see passed-over.ts
 * @param kindsRead what is read up to the new one; backwards, no more than what was read. Default: everything
 */
export async function moveCheckpoint(
  pool: pg.Pool,
  group: string,
  anchor: Anchor | null,
  transport: Transport,
  laterPrefixes: readonly string[],
  kindsRead?: KindsRead,
): Promise<void> {
  const position = anchor?.position ?? beginning;
  await pool.query(
    `WITH moved AS (
       INSERT INTO consumer_checkpoints AS c
         (consumer_group, position, event_id, stream_id, revision, generation, transport, kinds_read, updated_at)
       VALUES ($1, $2, $3, $4, $5, 1, $6, $7::jsonb, now())
       ON CONFLICT (consumer_group) DO UPDATE
         SET position = excluded.position, event_id = excluded.event_id,
           stream_id = excluded.stream_id, revision = excluded.revision,
           generation = c.generation + 1, transport = excluded.transport, updated_at = now(),
           kinds_read = CASE WHEN excluded.position >= c.position THEN c.kinds_read || excluded.kinds_read
             ELSE (SELECT coalesce(jsonb_object_agg(kind, least(read COLLATE "C", excluded.position, excluded.kinds_read->>kind)), '{}')
                     FROM jsonb_each_text(c.kinds_read) AS kinds (kind, read)) END)
     DELETE FROM quarantined_streams WHERE reader = $1 AND position > $2`,
    [
      group,
      position,
      anchor?.eventId ?? null,
      anchor?.streamId ?? null,
      anchor?.revision ?? null,
      transport,
      JSON.stringify(kindsRead ?? kindsReadTo(position, laterPrefixes)),
    ],
  );
}

/**
 * After a time on the embedded broker: makes the relay begin at the position of the group that is furthest
 * behind, unless the relay is past it, so that history is not published again. From then on the relay holds
 * back what the groups held back, and publishes what they have passed over.
 * @returns the relay's new position, null if it did not change
 */
export async function carryOverToKafka(
  pool: pg.Pool,
  relay: string,
  groups: readonly string[],
): Promise<Position | null> {
  const { rows } = await pool.query<{ position: Position | null }>(
    `WITH ours AS (SELECT * FROM consumer_checkpoints WHERE consumer_group = ANY($2::text[])),
     moved AS (
       INSERT INTO consumer_checkpoints AS c
         (consumer_group, position, event_id, stream_id, revision, transport, kinds_read, updated_at)
       SELECT $1, position, event_id, stream_id, revision, 'kafka', (
           SELECT coalesce(jsonb_object_agg(kind, least(read, slowest.position)), '{}') FROM (
             SELECT kind, min(read COLLATE "C") FROM ours, jsonb_each_text(ours.kinds_read) AS kinds (kind, read)
              GROUP BY kind) AS least_read (kind, read)), now()
       FROM ours AS slowest
       WHERE (SELECT count(*) = cardinality($2::text[]) AND bool_or(transport = 'embedded') FROM ours)
       ORDER BY position LIMIT 1
       ON CONFLICT (consumer_group) DO UPDATE
         SET position = excluded.position, event_id = excluded.event_id,
           stream_id = excluded.stream_id, revision = excluded.revision, updated_at = now(),
           kinds_read = c.kinds_read || excluded.kinds_read
         WHERE c.position < excluded.position
       RETURNING position),
     held AS (
       DELETE FROM quarantined_streams
       WHERE reader = ANY($2::text[]) AND EXISTS (SELECT FROM moved) RETURNING *),
     carried AS (
       INSERT INTO quarantined_streams AS q
         (reader, stream_id, from_revision, position, event_id, event_type, reason, held_since)
       SELECT DISTINCT ON (stream_id)
         $1, stream_id, from_revision, held.position, event_id, event_type, reason, held_since
       FROM held JOIN moved ON held.position <= moved.position
       ORDER BY stream_id, from_revision
       ON CONFLICT (reader, stream_id) DO UPDATE
         SET from_revision = least(q.from_revision, excluded.from_revision),
           position = least(q.position, excluded.position), released_to = NULL),
     marked AS (
       UPDATE consumer_checkpoints SET transport = 'kafka' WHERE consumer_group = ANY($2::text[]))
     SELECT (SELECT position FROM moved) AS position`,
    [relay, groups],
  );
  return rows[0]?.position ?? null;
}

/**
 * Whether the database was restored or failed over since the relay became active. Then the brokers may have the groups further
 * than the database has what they did: what came of those messages, such as deliveries that wait for a retry, is lost with it.
 */
export async function isRestoredSinceRelay(pool: pg.Pool, relay: string): Promise<boolean> {
  const { rows } = await pool.query<{ is_restored: boolean | null }>(
    `SELECT database_identity <> rail_database_identity() AS is_restored FROM consumer_checkpoints
      WHERE consumer_group = $1`,
    [relay],
  );
  return rows[0]?.is_restored === true;
}

/**
 * After a restore or a failover of the database: makes the relay begin at the position of the group that was furthest behind by
 * this database, so that the groups get again what they have read since. A process of an older release may have saved that position:
 * then the relay begins earlier with the kinds of streams of which the groups have read less (passed-over.ts).
 * @returns from where on the relay publishes again, null if it goes on where it was
 */
export async function goBackAfterRestore(
  pool: pg.Pool,
  relay: string,
  groups: readonly string[],
  laterPrefixesOf: (reader: string) => readonly string[],
): Promise<Position | null> {
  const begin = (await isRestoredSinceRelay(pool, relay))
    ? await goBack(pool, relay, groups, laterPrefixesOf)
    : null;
  // Last: if this process dies before, the next relay goes back.
  await pool.query(
    `INSERT INTO consumer_checkpoints AS c (consumer_group, position, transport, database_identity, updated_at)
     VALUES ($1, $2, 'kafka', rail_database_identity(), now())
     ON CONFLICT (consumer_group) DO UPDATE SET database_identity = excluded.database_identity`,
    [relay, beginning],
  );
  return begin;
}

async function goBack(
  pool: pg.Pool,
  relay: string,
  groups: readonly string[],
  laterPrefixesOf: (reader: string) => readonly string[],
): Promise<Position | null> {
  const checkpoints = await readCheckpoints(pool);
  const placeOf = (group: string) => checkpoints.find(({ reader }) => reader === group);
  // A group without a checkpoint has read nothing.
  const places = groups.map((group) => placeOf(group)?.anchor ?? null);
  const [slowest = null] = places.toSorted((a, b) =>
    (a?.position ?? beginning) < (b?.position ?? beginning) ? -1 : 1,
  );
  const begin = slowest?.position ?? beginning;
  const { position, kindsRead } = await readPlace(pool, relay);
  const least: Record<string, Position> = {};
  for (const prefix of laterPrefixesOf(relay)) {
    const followers = groups.filter((group) => laterPrefixesOf(group).includes(prefix));
    const read = await Promise.all(followers.map((group) => readPlace(pool, group)));
    least[prefix] = read
      .map((place) => place.kindsRead[prefix] ?? beginning)
      .reduce((a, b) => (a < b ? a : b), kindsRead[prefix] ?? beginning);
  }
  const isBefore = Object.entries(least).some(
    ([prefix, read]) => read < (kindsRead[prefix] ?? beginning),
  );
  if (isBefore) await lowerKindsRead(pool, relay, least);
  // Backwards: what the relay has passed over before is still to be published.
  if (begin < position) await moveCheckpoint(pool, relay, slowest, 'kafka', []);
  if (isBefore) return earliestRead({ position: begin, kindsRead: least }, Object.keys(least));
  return begin < position ? begin : null;
}

/** As `moveCheckpoint`: a process that continues from the former checkpoint saves nothing more. */
async function lowerKindsRead(pool: pg.Pool, group: string, kindsRead: KindsRead): Promise<void> {
  await pool.query(
    `UPDATE consumer_checkpoints SET kinds_read = kinds_read || $2::jsonb, generation = generation + 1
      WHERE consumer_group = $1`,
    [group, JSON.stringify(kindsRead)],
  );
}
