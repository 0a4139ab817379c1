import type { EventStore, Position, ReadLogOptions } from './port.js';

export interface CountOptions extends Pick<ReadLogOptions, 'after' | 'streamPrefixes'> {
  /** A larger number is returned as this one. */
  readonly max: number;
  /** Pages of the log to look at, at most. All that there are when absent. */
  readonly pagesMax?: number;
}

/** Pages of a count that a metric repeats: about a million events. */
export const countPagesMax = 200;
const pageMax = 1_000;

/**
 * How many events come after a position. If the log goes on behind `pagesMax`, the number is a lower bound, but not 0:
 * 0 says that there is none.
 * @throws StoreUnavailable
 */
export async function countEvents(
  store: Pick<EventStore, 'readLog'>,
  { after: start, streamPrefixes, max, pagesMax = Infinity }: CountOptions,
): Promise<number> {
  let count = 0;
  let after: Position = start;
  // A page looks at a bounded part of the log: it may be empty although more follows.
  for (let pages = 0; count < max; pages += 1) {
    if (pages === pagesMax) return Math.max(count, 1);
    const page = await store.readLog({
      after,
      ...(streamPrefixes !== undefined && { streamPrefixes }),
      pageMax: Math.min(pageMax, max - count),
      leaveSealed: true,
    });
    count += page.events.length;
    if (page.position <= after) break;
    after = page.position;
  }
  return Math.min(count, max);
}
