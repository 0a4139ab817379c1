/**
 * States in memory, bounded in total and per share (an organization), so that an organization with many or
 * large records does not evict the states of others. Beyond a bound the least recently used state is
 * evicted: first in the share that grew, then in the least recently used share.
 */
import { LRUCache } from 'lru-cache';
import type { RecordedEvent } from './port.js';

export interface Remembered {
  readonly state: unknown;
  readonly lastEvent: RecordedEvent;
  /** Of the last snapshot that is known, -1 without one. */
  readonly snapshotRevision: number;
}

export interface MemoryLimits {
  readonly bytesMax: number;
  readonly shareBytesMax: number;
}

interface Entry {
  readonly remembered: Remembered;
  /** Never less than it takes. */
  readonly bytes: number;
  /** When it was last measured. */
  readonly measuredBytes: number;
}

/** The approximate memory of one JSON character as objects. */
const bytesPerCharacter = 3;

type Share = LRUCache<string, Entry>;

export class StateMemory {
  /** The least recently used first. */
  private readonly shares = new Map<string, Share>();
  /** The share of each stream. */
  private readonly shareOf = new Map<string, string>();
  private bytes = 0;

  constructor(private readonly limits: MemoryLimits) {}

  get size(): number {
    return this.shareOf.size;
  }

  get(streamId: string): Remembered | undefined {
    const name = this.shareOf.get(streamId);
    const share = name === undefined ? undefined : this.shares.get(name);
    if (name === undefined || share === undefined) return undefined;
    moveToEnd(this.shares, name, share);
    return share.get(streamId)?.remembered;
  }

  /** A stream stays in its first share. */
  set(streamId: string, shareName: string, remembered: Remembered): void {
    const name = this.shareOf.get(streamId) ?? shareName;
    const share = this.shares.get(name) ?? this.newShare();
    const entry = entryOf(remembered, share.peek(streamId));
    share.delete(streamId);
    moveToEnd(this.shares, name, share);
    if (entry.bytes <= this.limits.shareBytesMax) {
      this.shareOf.set(streamId, name);
      this.bytes += entry.bytes;
      share.set(streamId, entry);
    }
    this.keepBounds(name);
  }

  delete(streamId: string): void {
    const name = this.shareOf.get(streamId);
    if (name === undefined) return;
    this.shares.get(name)?.delete(streamId);
    this.keepBounds(name);
  }

  private newShare(): Share {
    return new LRUCache({
      maxSize: this.limits.shareBytesMax,
      sizeCalculation: ({ bytes }) => bytes,
      dispose: ({ bytes }, streamId) => {
        this.bytes -= bytes;
        this.shareOf.delete(streamId);
      },
    });
  }

  private keepBounds(changed: string): void {
    while (this.bytes > this.limits.bytesMax) {
      const [longestUnused] = this.shares;
      if (longestUnused === undefined) break;
      longestUnused[1].pop();
      this.dropIfEmpty(longestUnused[0]);
    }
    this.dropIfEmpty(changed);
  }

  private dropIfEmpty(name: string): void {
    if (this.shares.get(name)?.size === 0) this.shares.delete(name);
  }
}

/**
 * A large state is not measured at each of its events. It grows at most by the size of the events, and is
 * measured again when that could have doubled it.
 */
function entryOf(remembered: Remembered, former: Entry | undefined): Entry {
  const { state, lastEvent } = remembered;
  if (former !== undefined && lastEvent.revision - former.remembered.lastEvent.revision <= 1) {
    const bytes = former.bytes + bytesOf(lastEvent);
    if (bytes <= 2 * former.measuredBytes)
      return { remembered, bytes, measuredBytes: former.measuredBytes };
  }
  const bytes = bytesOf([state, lastEvent]);
  return { remembered, bytes, measuredBytes: bytes };
}

function bytesOf(value: unknown): number {
  return bytesPerCharacter * JSON.stringify(value).length;
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}
