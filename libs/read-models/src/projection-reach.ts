/** Whether a projection has applied what the log had up to a position. */
import type { EventStore, Position } from '@pis/event-store';
import type pg from 'pg';
import { readCheckpoint } from './checkpoint.js';
import { orUnavailable } from './or-unavailable.js';
import { prefixesFollowedBy, type ProjectionName } from './projected-streams.js';

export interface ProjectedLog {
  readonly pool: pg.Pool;
  readonly store: Pick<EventStore, 'readLog'>;
}

/**
 * @param streamPrefixes whose events count; all that the projection follows when absent
 * @throws StoreUnavailable
 */
export async function hasReached(
  { pool, store }: ProjectedLog,
  projection: ProjectionName,
  position: Position,
  streamPrefixes: readonly string[] = prefixesFollowedBy(projection),
): Promise<boolean> {
  let after = await orUnavailable(() => readCheckpoint(pool, projection));
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
