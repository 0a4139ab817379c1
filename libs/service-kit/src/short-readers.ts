import { beginning, type EventStore, hasAnchor } from '@pis/event-store';
import type { ReaderCheckpoint } from '@pis/read-models';

/** The readers with a checkpoint on an event that the log lacks. */
export async function shortReaders(
  store: Pick<EventStore, 'readStream' | 'lastPosition'>,
  checkpoints: readonly ReaderCheckpoint[],
): Promise<readonly string[]> {
  const standing = new Map<string, boolean>();
  const short: string[] = [];
  for (const { reader, position, anchor } of checkpoints) {
    // A checkpoint of an older release has no event. Its position may be that of a system event of the server,
    // after our last event. So the only detectable case is an empty log.
    const key = anchor === null ? position : `${anchor.eventId} ${anchor.position}`;
    const stands =
      standing.get(key) ??
      (anchor === null
        ? position === beginning || (await store.lastPosition()) !== beginning
        : await hasAnchor(store, anchor));
    standing.set(key, stands);
    if (!stands) short.push(reader);
  }
  return short;
}
