/**
 * What a reader has passed over. While a process of an earlier release runs, it moves the checkpoint past events of kinds of
 * streams that it does not follow. So a checkpoint also has, for each kind that not every release follows, how far a process
 * that follows it has read. Earlier releases leave that alone, and the next process that follows the kind reads what is between
 * the two.
 *
 * What always holds: whoever follows a kind saves both places together.
 */
import {
  beginning,
  type EventStore,
  type Position,
  type RecordedEvent,
  StoreUnavailable,
} from '@pis/event-store';

/** How far the kinds of streams were read, by the prefix of their names. A prefix that is not here was never followed. */
export type KindsRead = Readonly<Record<string, Position>>;

export interface ReadPlace {
  readonly position: Position;
  readonly kindsRead: KindsRead;
}

/** What to save in `kinds_read` with a checkpoint at `position`, beside what is there of other kinds. */
export function kindsReadTo(position: Position, prefixes: readonly string[]): KindsRead {
  return Object.fromEntries(prefixes.map((prefix) => [prefix, position]));
}

/** Events of kinds that were read equally far. */
export interface PassedOver {
  readonly prefixes: readonly string[];
  /** How far the kinds were read before them. */
  readonly after: Position;
  /** In the order of the log. */
  readonly events: readonly RecordedEvent[];
  /** How far they are read once the events are handled. */
  readonly readTo: Position;
}

/** How far all kinds were read: the checkpoint, or before it if one of them was passed over. */
export function earliestRead(
  { position, kindsRead }: ReadPlace,
  prefixes: readonly string[],
): Position {
  const read = prefixes.map((prefix) => kindsRead[prefix] ?? beginning);
  return read.reduce((least, one) => (one < least ? one : least), position);
}

/**
 * Reads the events up to the checkpoint that were passed over, in pages. Most readers have passed over nothing, and read nothing.
 * Reads no part of the log twice: the kind that was read least comes first, and goes on together with the next one from its place.
 * @param prefixes of the kinds that not every release follows
 * @throws StoreUnavailable
 */
export async function* passedOver(
  store: Pick<EventStore, 'readLog'>,
  { position, kindsRead }: ReadPlace,
  prefixes: readonly string[],
  pageMax: number,
): AsyncGenerator<PassedOver, void, undefined> {
  const read = new Map(prefixes.map((prefix) => [prefix, kindsRead[prefix] ?? beginning]));
  for (;;) {
    const [after = position, next = position] = [...new Set(read.values())].toSorted();
    if (after >= position) return;
    const behind = prefixes.filter((prefix) => read.get(prefix) === after);
    const end = next < position ? next : position;
    const page = await store.readLog({ after, streamPrefixes: behind, pageMax });
    // The checkpoint stands on an event, so the log is to reach it. A replica may lag behind.
    if (page.position <= after)
      throw new StoreUnavailable(`the log does not reach the checkpoint at ${position}`);
    const readTo = page.position < end ? page.position : end;
    const events = page.events.filter((event) => event.position <= end);
    yield { prefixes: behind, after, events, readTo };
    for (const prefix of behind) read.set(prefix, readTo);
  }
}
