/** Positions in the event log as operators name them, and moving readers to them. */
import {
  type Anchor,
  anchorAt,
  anchorOf,
  beginning,
  countEvents,
  type EventStore,
  hasAnchor,
  type Position,
  type RecordedEvent,
} from '@pis/event-store';
import {
  carryOverToKafka,
  earliestRead,
  goBackAfterRestore,
  isRestoredSinceRelay,
  type KindsRead,
  kindsReadTo,
  moveCheckpoint,
  readCheckpoints,
  readPlace,
  type Transport,
} from '@pis/read-models';
import type pg from 'pg';
import { consumerGroups, laterPrefixesOf, relayGroup } from './consumer-groups.js';

/** How far the relay has published everything: what it has passed over is yet to come. @throws StoreUnavailable */
export async function relayPlace(
  pool: pg.Pool,
): Promise<{ readonly position: Position; readonly eventId: string | null }> {
  const place = await readPlace(pool, relayGroup);
  const position = earliestRead(place, laterPrefixesOf(relayGroup));
  return { position, eventId: position === place.position ? place.eventId : null };
}

/** Runs before the relay starts: see carryOverToKafka. */
export function carryOverToRelay(pool: pg.Pool): Promise<Position | null> {
  return carryOverToKafka(pool, relayGroup, consumerGroups);
}

/** Runs before the relay starts: see goBackAfterRestore. */
export function goBackToGroups(pool: pg.Pool): Promise<Position | null> {
  return goBackAfterRestore(pool, relayGroup, consumerGroups, laterPrefixesOf);
}

/** Whether the relay has yet to go back after a restore. */
export function isRelayToGoBack(pool: pg.Pool): Promise<boolean> {
  return isRestoredSinceRelay(pool, relayGroup);
}

/** The text does not name a position in this log. */
export class NoSuchPlace extends Error {
  override readonly name = 'NoSuchPlace';
}

const positionForm = /^\d{1,40}$/;
const postgresDigits = 20;
const pageMax = 1_000;
/** Events to read are counted up to here. */
export const eventsToReadMax = 100_000;

/**
 * The event after which a reader continues. Null for the beginning of the log.
 * @param to `beginning`, `end`, a position, or an ISO 8601 time to read events from. A time is searched from
 *   the beginning of the log
 * @throws NoSuchPlace, StoreUnavailable
 */
export async function anchorNamed(store: EventStore, to: string): Promise<Anchor | null> {
  if (to === 'beginning') return null;
  const end = await store.lastPosition();
  if (to === 'end') return anchorAt(store, end);
  if (positionForm.test(to)) {
    const position = to.padStart(postgresDigits, '0');
    if (position > end) throw new NoSuchPlace(`the log ends at ${end || 'its beginning'}`);
    return anchorAt(store, position);
  }
  const time = new Date(to);
  if (!/^\d{4}-\d\d-\d\d/.test(to) || Number.isNaN(time.getTime()))
    throw new NoSuchPlace(`${JSON.stringify(to)} is neither a position nor an ISO 8601 time`);
  return lastBefore(store, time.toISOString());
}

/** The event before the first one that was recorded at or after `time`. */
async function lastBefore(store: EventStore, time: string): Promise<Anchor | null> {
  let last: RecordedEvent | null = null;
  for (let after: Position = ''; ; ) {
    const { events, position } = await store.readLog({ after, pageMax, leaveSealed: true });
    for (const event of events) {
      if (event.metadata.at >= time) return last === null ? null : anchorOf(last);
      last = event;
    }
    if (position === after) return last === null ? null : anchorOf(last);
    after = position;
  }
}

export interface MovedReader {
  readonly reader: string;
  readonly from: Position;
  readonly to: Position;
  /** Events after the new checkpoint, counted up to 100,000, including those that were read before. */
  readonly eventsToRead: number;
}

/**
 * Moves consumer groups to `anchor`.
 * @param transport the broker of the checkpoint. Default: that of each group
 * @param kindsRead what is read there. Default: everything
 */
export async function moveReaders(
  { pool, store }: { readonly pool: pg.Pool; readonly store: EventStore },
  groups: readonly string[],
  anchor: Anchor | null,
  transport?: Transport,
  kindsRead?: KindsRead,
): Promise<readonly MovedReader[]> {
  const checkpoints = await readCheckpoints(pool);
  const eventsToRead = await countEvents(store, {
    after: anchor?.position ?? '',
    max: eventsToReadMax,
  });
  const moved: MovedReader[] = [];
  for (const group of groups) {
    const from = checkpoints.find(({ reader }) => reader === group)?.position ?? '';
    const over = transport ?? transportOf(group);
    await moveCheckpoint(pool, group, anchor, over, laterPrefixesOf(group), kindsRead);
    moved.push({ reader: group, from, to: anchor?.position ?? '', eventsToRead });
  }
  return moved;
}

function transportOf(group: string): Transport {
  return group === relayGroup ? 'kafka' : 'embedded';
}

export interface ExportedCheckpoint {
  readonly group: string;
  readonly position: Position;
  readonly eventId: string;
  readonly streamId: string;
  readonly revision: number;
  /** What a process of an older release has passed over is still to be read. Undefined in an export of that release. */
  readonly kindsRead?: KindsRead | undefined;
}

/** The checkpoints of the consumer groups. A group that has read nothing has none. */
export async function exportCheckpoints(pool: pg.Pool): Promise<readonly ExportedCheckpoint[]> {
  const exported: ExportedCheckpoint[] = [];
  for (const { reader: group, anchor } of await readCheckpoints(pool)) {
    if (anchor === null || group.startsWith('projection:')) continue;
    const { kindsRead } = await readPlace(pool, group);
    exported.push({ group, ...anchor, kindsRead });
  }
  return exported;
}

/**
 * Moves the groups to the exported checkpoints.
 * @throws NoSuchPlace if the log lacks the event of a checkpoint. Then nothing is changed
 */
export async function importCheckpoints(
  { pool, store }: { readonly pool: pg.Pool; readonly store: EventStore },
  checkpoints: readonly ExportedCheckpoint[],
): Promise<readonly MovedReader[]> {
  for (const checkpoint of checkpoints)
    if (!(await hasAnchor(store, checkpoint)))
      throw new NoSuchPlace(
        `the log does not have event ${checkpoint.eventId} at the checkpoint of ${checkpoint.group}: these checkpoints belong to another log`,
      );
  const moved: MovedReader[] = [];
  for (const { group, kindsRead, ...anchor } of checkpoints) {
    // What an export of this release does not name was never read.
    const nothing = kindsReadTo(beginning, laterPrefixesOf(group));
    const read = kindsRead && { ...nothing, ...kindsRead };
    moved.push(...(await moveReaders({ pool, store }, [group], anchor, undefined, read)));
  }
  return moved;
}
