/** The progress of a projection: one row, written in the transaction that writes the tables. */
import {
  type Anchor,
  anchorOf,
  beginning,
  type EventStore,
  EventsLost,
  type LogPage,
  type Position,
} from '@pis/event-store';
import type pg from 'pg';

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

export async function readReached(
  client: pg.ClientBase | pg.Pool,
  projection: string,
): Promise<Reached> {
  const { rows } = await client.query<Reached>({
    name: 'projection_checkpoints.read',
    text: 'SELECT position, event_id AS "eventId" FROM projection_checkpoints WHERE name = $1',
    values: [projection],
  });
  return rows[0] ?? { position: beginning, eventId: null };
}

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

/** Null is before every event. */
export async function saveCheckpoint(
  client: pg.ClientBase,
  projection: string,
  anchor: Anchor | null,
): Promise<void> {
  await client.query({
    name: 'projection_checkpoints.save',
    text: `${setCheckpoint} WHERE name = $1`,
    values: [projection, ...placeOf(anchor)],
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
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'projection_checkpoints.move',
    text: `${setCheckpoint} WHERE name = $1 AND position = $6`,
    values: [projection, ...placeOf(to), from],
  });
  return rowCount === 1;
}

const setCheckpoint = `UPDATE projection_checkpoints SET position = $2, event_id = $3, stream_id = $4,
        revision = $5, updated_at = now()`;

function placeOf(anchor: Anchor | null) {
  return [
    anchor?.position ?? beginning,
    anchor?.eventId ?? null,
    anchor?.streamId ?? null,
    anchor?.revision ?? null,
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
