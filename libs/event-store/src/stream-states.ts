/**
 * States of streams that clients can make arbitrarily long, read in bounded time: a remembered state is
 * continued with the new events of its stream.
 *
 * What always holds: a state is as current as a read that began after its request. The store is always
 * asked for the last remembered event and for those after it. If that event is missing, because another log
 * was restored, the stream is read from the beginning. Streams are read and folded in pages, and the event
 * loop is free between them.
 *
 * A long stream that is not in memory is read from its snapshot. Snapshots may be absent, lost or late at
 * any time. A snapshot of another version of the aggregate, or of another log, is not used.
 */
import type { EventStore, RecordedEvent } from './port.js';
import { type MemoryLimits, type Remembered, StateMemory } from './state-memory.js';

export interface Snapshot {
  readonly streamId: string;
  /** The version of the aggregate's code: snapshots of another version are not used. */
  readonly version: string;
  readonly revision: number;
  /** The id of the event at that revision. */
  readonly eventId: string;
  readonly state: unknown;
}

export interface SnapshotStore {
  /** Null without one of this version. */
  read(streamId: string, version: string): Promise<Snapshot | null>;
  /** Replaces the one of the same stream and version. */
  write(snapshot: Snapshot): Promise<void>;
}

export interface StreamStatesOptions extends Partial<MemoryLimits> {
  readonly snapshots?: SnapshotStore;
  /** Snapshots only save time: their failures are reported only here. */
  readonly onSnapshotError?: (error: unknown) => void;
}

/** The result of a fold. */
export interface FoldedStream<State> {
  readonly state: State;
  /** Null before the first event. */
  readonly lastEvent: RecordedEvent | null;
}

/** Folds the events of a stream into a state. */
export interface Folder<State> {
  fold(events: readonly RecordedEvent[], onto: FoldedStream<State>): FoldedStream<State>;
  readonly nothing: FoldedStream<State>;
  /** Null: no snapshots are kept. */
  readonly version: string | null;
}

/** Events per read, and how many events a snapshot may be behind. */
export const streamPageMax = 200;
/** How long to wait for a snapshot before the whole stream is read instead. */
const snapshotWaitMaxMs = 1_000;
const defaultLimits: MemoryLimits = {
  bytesMax: 64 * 1024 * 1024,
  shareBytesMax: 8 * 1024 * 1024,
  // With the third that may come on top, an hour.
  unusedMaxMs: 45 * 60_000,
};

export class StreamStates {
  private readonly memory: StateMemory;
  /** Streams that are read from their beginning or snapshot. Other callers wait, and then read the rest. */
  private readonly beginnings = new Map<string, Promise<unknown>>();

  constructor(private readonly options: StreamStatesOptions = {}) {
    this.memory = new StateMemory({ ...defaultLimits, ...options });
  }

  /** Streams in memory. */
  get size(): number {
    return this.memory.size;
  }

  /**
   * @param share whose part of the memory it takes, for example an organization's id
   * @throws StoreUnavailable, and what `fold` throws
   */
  async load<State>(
    store: EventStore,
    streamId: string,
    share: string,
    folder: Folder<State>,
  ): Promise<FoldedStream<State>> {
    // A caller that waited reads the rest: the other read may have begun before this call.
    const underWay = this.beginnings.get(streamId);
    if (underWay !== undefined) await underWay.catch(() => undefined);
    const known = this.memory.get(streamId);
    if (known !== undefined) {
      const current = await this.readOn(store, streamId, share, folder, known);
      if (current !== null) return current;
    }
    const beginning = this.readFromBeginning(store, streamId, share, folder);
    this.beginnings.set(streamId, beginning);
    try {
      return await beginning;
    } finally {
      if (this.beginnings.get(streamId) === beginning) this.beginnings.delete(streamId);
    }
  }

  /** After an append: the next load reads on from there. Only for streams that are remembered. */
  appended<State>(streamId: string, folder: Folder<State>, folded: FoldedStream<State>): void {
    const known = this.memory.get(streamId);
    if (known !== undefined) this.keep(streamId, '', folder, folded, known.snapshotRevision);
  }

  /** Null when the stream does not have the event that is remembered as its last. */
  private async readOn<State>(
    store: EventStore,
    streamId: string,
    share: string,
    folder: Folder<State>,
    known: Remembered,
  ): Promise<FoldedStream<State> | null> {
    const from = known.lastEvent.revision;
    const page = await store.readStream(streamId, {
      from,
      maxCount: streamPageMax,
      leaveSealedUpTo: from,
    });
    const [last, ...gained] = page;
    if (last?.id !== known.lastEvent.id) {
      this.memory.delete(streamId);
      return null;
    }
    // Only this aggregate's states are remembered for this stream.
    const onto = { state: known.state as State, lastEvent: known.lastEvent };
    if (gained.length === 0) return onto;
    const folded = folder.fold(gained, onto);
    const isWhole = page.length < streamPageMax;
    const whole = isWhole ? folded : await readPages(store, streamId, folder, folded);
    this.keep(streamId, share, folder, whole, known.snapshotRevision);
    return whole;
  }

  private async readFromBeginning<State>(
    store: EventStore,
    streamId: string,
    share: string,
    folder: Folder<State>,
  ): Promise<FoldedStream<State>> {
    const page = await store.readStream(streamId, { from: 0, maxCount: streamPageMax });
    let folded = folder.fold(page, folder.nothing);
    let snapshotRevision = -1;
    if (page.length === streamPageMax) {
      const fromSnapshot = await this.readFromSnapshot(store, streamId, folder);
      if (fromSnapshot !== null && fromSnapshot.revision >= page.length) {
        snapshotRevision = fromSnapshot.revision;
        folded = fromSnapshot.folded;
      }
      folded = await readPages(store, streamId, folder, folded);
    }
    this.keep(streamId, share, folder, folded, snapshotRevision);
    return folded;
  }

  /** The state of a snapshot, if the log has its event. */
  private async readFromSnapshot<State>(
    store: EventStore,
    streamId: string,
    { version }: Folder<State>,
  ): Promise<{ readonly folded: FoldedStream<State>; readonly revision: number } | null> {
    const { snapshots } = this.options;
    if (snapshots === undefined || version === null) return null;
    const snapshot = await this.unlessLate(snapshots.read(streamId, version));
    if (snapshot === null) return null;
    const { revision, eventId } = snapshot;
    const [lastEvent] = await store.readStream(streamId, { from: revision, maxCount: 1 });
    if (lastEvent === undefined || lastEvent.id !== eventId) return null;
    return { folded: { state: snapshot.state as State, lastEvent }, revision };
  }

  private keep<State>(
    streamId: string,
    share: string,
    { version }: Folder<State>,
    { state, lastEvent }: FoldedStream<State>,
    snapshotRevision: number,
  ): void {
    if (lastEvent === null) return;
    const { snapshots, onSnapshotError } = this.options;
    const { revision, id: eventId } = lastEvent;
    const isDue = revision - snapshotRevision >= streamPageMax;
    const writes = isDue && snapshots !== undefined && version !== null;
    if (writes)
      snapshots
        .write({ streamId, version, revision, eventId, state })
        .catch((error: unknown) => onSnapshotError?.(error));
    const known = writes ? revision : snapshotRevision;
    this.remember(streamId, share, { state, lastEvent, snapshotRevision: known });
  }

  /** Of concurrent reads, the state with the most events. */
  private remember(streamId: string, share: string, remembered: Remembered): void {
    const known = this.memory.get(streamId);
    if (known !== undefined && known.lastEvent.revision > remembered.lastEvent.revision) return;
    this.memory.set(streamId, share, remembered);
  }

  private async unlessLate(snapshot: Promise<Snapshot | null>): Promise<Snapshot | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, snapshotWaitMaxMs, null);
    });
    const read = snapshot.catch((error: unknown) => {
      this.options.onSnapshotError?.(error);
      return null;
    });
    try {
      return await Promise.race([read, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** From where a fold stands to the end of the stream, a page at a time. @throws StoreUnavailable */
export async function readPages<State>(
  store: EventStore,
  streamId: string,
  { fold }: Folder<State>,
  from: FoldedStream<State>,
): Promise<FoldedStream<State>> {
  let folded = from;
  for (;;) {
    const next = folded.lastEvent === null ? 0 : folded.lastEvent.revision + 1;
    const page = await store.readStream(streamId, { from: next, maxCount: streamPageMax });
    folded = fold(page, folded);
    if (page.length < streamPageMax) return folded;
  }
}
