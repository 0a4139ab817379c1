/**
 * Anchor: the event that a checkpoint stands on. If the log does not have it at its position, it is another
 * log, or it was restored from a backup that is older than the checkpoint.
 */
import {
  beginning,
  type EventStore,
  type Position,
  type ReadLogOptions,
  type RecordedEvent,
} from './port.js';

export interface Anchor {
  readonly position: Position;
  readonly eventId: string;
  readonly streamId: string;
  readonly revision: number;
}

export function anchorOf({ position, id, streamId, revision }: RecordedEvent): Anchor {
  return { position, eventId: id, streamId, revision };
}

/** The anchor of a reader that has read up to `position`; null without an event there. @throws StoreUnavailable */
export async function anchorAt(store: EventStore, position: Position): Promise<Anchor | null> {
  const event = await store.lastEvent(position);
  return event === null ? null : anchorOf(event);
}

/**
 * Where to read the log from to get what comes from now on. The first page also compares the event there: the log may be
 * replaced before it is read.
 * @throws StoreUnavailable
 */
export async function endOf(
  store: Pick<EventStore, 'lastPosition' | 'lastEvent'>,
): Promise<Required<Pick<ReadLogOptions, 'after' | 'afterEventId'>>> {
  const last = await store.lastEvent(await store.lastPosition());
  return { after: last?.position ?? beginning, afterEventId: last?.id };
}

/** Whether the log still has the event at its position. @throws StoreUnavailable */
export async function hasAnchor(
  store: Pick<EventStore, 'readStream'>,
  { position, eventId, streamId, revision }: Anchor,
): Promise<boolean> {
  const options = { from: revision, maxCount: 1, leaveSealed: true };
  const [event] = await store.readStream(streamId, options);
  return event?.id === eventId && event.position === position && event.revision === revision;
}
