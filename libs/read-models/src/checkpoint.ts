/** The progress of a projection: one row, written in the transaction that writes the tables. */
import {
  type Anchor,
  anchorOf,
  beginning,
  type EventStore,
  EventsLost,
  type LogPage,
  type Position,
  StoreUnavailable,
} from '@pis/event-store';
import { sqlStateOf } from '@pis/postgres';
import type pg from 'pg';
import { type KindsRead, kindsReadTo, type PassedOver } from './passed-over.js';

/** The right to run a projection. */
export const runnerLock = (projection: string) => ({ key: 0x70_69_73_01, name: projection });

/** The right to rebuild it. A different lock than the runner's, which continues during the rebuild. */
export const rebuildLock = (projection: string) => ({ key: 0x70_69_73_02, name: projection });

export async function createCheckpoint(client: pg.ClientBase, projection: string): Promise<void> {
  await client.query(
    `INSERT INTO projection_checkpoints (name, position) VALUES ($1, $2)
     ON CONFLICT (name) DO NOTHING`,
    [projection, beginning],
  );
}

export async function readCheckpoint(
  client: pg.ClientBase | pg.Pool,
  projection: string,
): Promise<Position> {
  return (await readReached(client, projection)).position;
}

/** The position of the checkpoint, and the id of the event there; null at the beginning, and for one of an older release. */
export interface Reached {
  readonly position: Position;
  readonly eventId: string | null;
}

/** @throws StoreUnavailable while the migrations are under way */
export async function readReached(
  client: pg.ClientBase | pg.Pool,
  projection: string,
): Promise<Reached & { readonly kindsRead: KindsRead }> {
  const asked = client.query<Reached & { readonly kindsRead: KindsRead }>({
    name: 'projection_checkpoints.read',
    text: `SELECT position, event_id AS "eventId", kinds_read AS "kindsRead"
             FROM projection_checkpoints WHERE name = $1`,
    values: [projection],
  });
  const { rows } = await asked.catch((cause: unknown) => {
    if (sqlStateOf(cause) !== columnMissing) throw cause;
    throw new StoreUnavailable('a column of projection_checkpoints is yet to come', { cause });
  });
  return rows[0] ?? { position: beginning, eventId: null, kindsRead: {} };
}

const columnMissing = '42703';

/** Inside a transaction: the holder of the row lock may write the tables of the projection. */
export async function lockCheckpoint(
  client: pg.ClientBase,
  projection: string,
): Promise<Position | undefined> {
  const { rows } = await client.query<{ position: Position }>({
    name: 'projection_checkpoints.lock',
    text: 'SELECT position FROM projection_checkpoints WHERE name = $1 FOR UPDATE',
    values: [projection],
  });
  return rows[0]?.position;
}

/** Null is before every event. @param laterPrefixes of the projection, which was read up to there */
export async function saveCheckpoint(
  client: pg.ClientBase,
  projection: string,
  anchor: Anchor | null,
  laterPrefixes: readonly string[],
): Promise<void> {
  await client.query({
    name: 'projection_checkpoints.save',
    text: `${setCheckpoint} WHERE name = $1`,
    values: [projection, ...placeOf(anchor, laterPrefixes)],
  });
}

/**
 * Saves the checkpoint if it is still at `from`. Inside a transaction it locks the row as `lockCheckpoint` does, so it
 * comes before the tables are written.
 * @returns false if another process has moved the checkpoint: nothing is saved
 */
export async function advanceCheckpoint(
  client: pg.ClientBase,
  projection: string,
  from: Position,
  to: Anchor,
  laterPrefixes: readonly string[],
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'projection_checkpoints.move',
    text: `${setCheckpoint} WHERE name = $1 AND position = $7`,
    values: [projection, ...placeOf(to, laterPrefixes), from],
  });
  return rowCount === 1;
}

/**
 * Saves that a part of what was passed over is read, if the checkpoint is still at `at` and the part is still to be read: a
 * rebuild reads all kinds, and leaves the checkpoint where it is if nothing was appended. Inside a transaction it locks the row
 * as `advanceCheckpoint` does.
 * @returns false if another process has moved the checkpoint or read one of the kinds: nothing is saved
 */
export async function saveKindsRead(
  client: pg.ClientBase,
  projection: string,
  at: Position,
  { prefixes, after, readTo }: Omit<PassedOver, 'events'>,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE projection_checkpoints SET kinds_read = kinds_read || $3::jsonb
      WHERE name = $1 AND position = $2
        AND (SELECT bool_and(coalesce(kinds_read->>prefix, $6) = $5) FROM unnest($4::text[]) AS prefix)`,
    [projection, at, JSON.stringify(kindsReadTo(readTo, prefixes)), prefixes, after, beginning],
  );
  return rowCount === 1;
}

const setCheckpoint = `UPDATE projection_checkpoints SET position = $2, event_id = $3, stream_id = $4,
        revision = $5, kinds_read = kinds_read || $6::jsonb, updated_at = now()`;

function placeOf(anchor: Anchor | null, laterPrefixes: readonly string[]) {
  const position = anchor?.position ?? beginning;
  return [
    position,
    anchor?.eventId ?? null,
    anchor?.streamId ?? null,
    anchor?.revision ?? null,
    JSON.stringify(kindsReadTo(position, laterPrefixes)),
  ];
}

/**
 * The event that a projection stands on once it has applied a page.
 * @throws StoreUnavailable, and EventsLost when the log lacks what was already read
 */
export async function anchorOfPage(
  store: Pick<EventStore, 'lastEvent'>,
  { events, position, eventId }: LogPage,
): Promise<Anchor> {
  const last = events.at(-1);
  if (last?.position === position) return anchorOf(last);
  const event = await store.lastEvent(position);
  const isLost =
    event === null ||
    event.position < (last?.position ?? beginning) ||
    (eventId !== undefined && event.id !== eventId);
  if (isLost) throw new EventsLost(position);
  return anchorOf(event);
}
