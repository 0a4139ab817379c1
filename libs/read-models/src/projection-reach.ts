/** Whether a projection has applied what the log had up to a position. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Anchor,
  beginning,
  type EventStore,
  hasAnchor,
  type Position,
} from '@pis/event-store';
import type pg from 'pg';
import { readCheckpoint, readReached } from './checkpoint.js';
import { orUnavailable } from './or-unavailable.js';
import { earliestRead } from './passed-over.js';
import { laterPrefixesOf, prefixesFollowedBy, type ProjectionName } from './projected-streams.js';
import { projectionProgress, type ProjectionProgress } from './projection-progress.js';

export interface ProjectedLog {
  readonly pool: pg.Pool;
  readonly store: Pick<EventStore, 'readLog'>;
}

/**
 * False while a process of an older release runs the projection: it may have passed over something (passed-over.ts).
 * @param streamPrefixes whose events count; all that the projection follows when absent
 * @throws StoreUnavailable
 */
export async function hasReached(
  { pool, store }: ProjectedLog,
  projection: ProjectionName,
  position: Position,
  streamPrefixes: readonly string[] = prefixesFollowedBy(projection),
): Promise<boolean> {
  const place = await orUnavailable(() => readReached(pool, projection));
  const later = laterPrefixesOf(projection).filter((prefix) => streamPrefixes.includes(prefix));
  const read = earliestRead(place, later);
  if (read < place.position && read < position) return false;
  let after = place.position;
  // The checkpoint may be left behind while only events of other streams arrive. A page looks at a bounded part
  // of the log: it may be empty although more follows.
  while (after < position) {
    const page = await store.readLog({ after, streamPrefixes, pageMax: 1, leaveSealed: true });
    const [next] = page.events;
    if (next !== undefined) return next.position > position;
    // The end of the log.
    if (page.position <= after) return true;
    after = page.position;
  }
  return true;
}

/**
 * Waits for a projection that any process may run. `projectionProgress` alone would wait in vain at the end of a log that
 * rests: the checkpoint of a projection may stay before events of other streams.
 */
export function projectionReach(log: ProjectedLog, projection: ProjectionName): ProjectionProgress {
  const progress = projectionProgress(log.pool, projection);
  return {
    /** @throws StoreUnavailable */
    waitFor: async (position, timeoutMs) =>
      (await hasReached(log, projection, position)) || progress.waitFor(position, timeoutMs),
  };
}

/** The longest time from the decision of an event to its append, and between the clocks of two processes. */
const lateMaxMs = 60_000;
const reachPollMs = 15;

/**
 * Whether the tables of a projection have everything that was recorded up to a time, possibly after a wait: up to
 * `timeoutMs`, for what the log has now.
 * @param streamPrefixes as of hasReached
 * @throws StoreUnavailable
 */
export async function isCompleteAsOf(
  log: ProjectedLog & { readonly store: Pick<EventStore, 'lastEvent' | 'lastPosition'> },
  projection: ProjectionName,
  at: string,
  timeoutMs: number,
  streamPrefixes?: readonly string[],
): Promise<boolean> {
  const { pool, store } = log;
  const reached = await orUnavailable(() => readCheckpoint(pool, projection));
  const last = reached === beginning ? null : await store.lastEvent(reached);
  // Tables that are behind answer for what is long past.
  if (last !== null && Date.parse(last.metadata.at) > Date.parse(at) + lateMaxMs) return true;
  const end = await store.lastPosition();
  const deadline = performance.now() + timeoutMs;
  while (!(await hasReached(log, projection, end, streamPrefixes))) {
    if (performance.now() >= deadline) return false;
    await delay(reachPollMs);
  }
  return true;
}

/**
 * The first of these projections whose tables have events that the log does not have: the log was restored from an
 * older backup, or is another one. Null when there is none.
 * @throws StoreUnavailable
 */
export async function aheadOfLog(
  { pool, store }: { readonly pool: pg.Pool; readonly store: Pick<EventStore, 'readStream'> },
  projections: readonly ProjectionName[],
): Promise<string | null> {
  const { rows } = await orUnavailable(() =>
    pool.query<Anchor & { readonly name: string }>(
      `SELECT name, position, event_id AS "eventId", stream_id AS "streamId", revision
        FROM projection_checkpoints WHERE name = ANY($1::text[]) AND event_id IS NOT NULL`,
      [projections],
    ),
  );
  for (const { name, ...anchor } of rows) if (!(await hasAnchor(store, anchor))) return name;
  return null;
}
