/**
 * States in memory, bounded in total and per share (an organization), so that an organization with many or
 * large records does not evict the states of others. Beyond a bound the least recently used state is
 * evicted: first in the share that grew, then in the least recently used share.
 *
 * A state that nobody uses is forgotten after a time: after an erasure, nobody asks for the states of the person, so they
 * would stay as they were.
 */
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
  /** After this time without a use a state is forgotten: at most a third of it later. */
  readonly unusedMaxMs: number;
}

interface Entry {
  readonly remembered: Remembered;
  readonly usedAtMs: number;
  /** Never less than it takes. */
  readonly bytes: number;
  /** When it was last measured. */
  readonly measuredBytes: number;
}

/** Both maps are in the order of use, the longest unused first. */
interface Share {
  readonly entries: Map<string, Entry>;
  bytes: number;
}

/** The approximate memory of one JSON character as objects. */
const bytesPerCharacter = 3;

export class StateMemory {
  private readonly shares = new Map<string, Share>();
  /** The share of each stream. */
  private readonly shareOf = new Map<string, string>();
  private bytes = 0;
  /** Null while there is nothing to forget. */
  private forgetting: NodeJS.Timeout | null = null;

  constructor(private readonly limits: MemoryLimits) {}

  get size(): number {
    return this.shareOf.size;
  }

  get(streamId: string): Remembered | undefined {
    const name = this.shareOf.get(streamId);
    const share = name === undefined ? undefined : this.shares.get(name);
    const entry = share?.entries.get(streamId);
    if (name === undefined || share === undefined || entry === undefined) return undefined;
    moveToEnd(share.entries, streamId, { ...entry, usedAtMs: performance.now() });
    moveToEnd(this.shares, name, share);
    return entry.remembered;
  }

  /** A stream stays in its first share. */
  set(streamId: string, shareName: string, remembered: Remembered): void {
    const name = this.shareOf.get(streamId) ?? shareName;
    const entry = entryOf(remembered, this.shares.get(name)?.entries.get(streamId));
    const { bytes } = entry;
    this.delete(streamId);
    const share = this.shares.get(name) ?? { entries: new Map<string, Entry>(), bytes: 0 };
    moveToEnd(this.shares, name, share);
    share.entries.set(streamId, entry);
    share.bytes += bytes;
    this.bytes += bytes;
    this.shareOf.set(streamId, name);
    while (share.bytes > this.limits.shareBytesMax) this.dropOldestOf(share);
    while (this.bytes > this.limits.bytesMax) {
      const [longestUnused] = this.shares.values();
      if (longestUnused === undefined) break;
      this.dropOldestOf(longestUnused);
    }
    this.forgetLater();
  }

  delete(streamId: string): void {
    const name = this.shareOf.get(streamId);
    const share = name === undefined ? undefined : this.shares.get(name);
    const entry = share?.entries.get(streamId);
    if (name === undefined || share === undefined || entry === undefined) return;
    this.shareOf.delete(streamId);
    share.entries.delete(streamId);
    share.bytes -= entry.bytes;
    this.bytes -= entry.bytes;
    if (share.entries.size === 0) this.shares.delete(name);
  }

  private forgetLater(): void {
    const afterMs = this.limits.unusedMaxMs / 3;
    this.forgetting ??= setTimeout(() => this.forgetUnused(), afterMs).unref();
  }

  private forgetUnused(): void {
    const beforeMs = performance.now() - this.limits.unusedMaxMs;
    for (const { entries } of this.shares.values())
      for (const [streamId, { usedAtMs }] of entries) {
        if (usedAtMs > beforeMs) break;
        this.delete(streamId);
      }
    this.forgetting = null;
    if (this.size > 0) this.forgetLater();
  }

  private dropOldestOf(share: Share): void {
    const [streamId] = share.entries.keys();
    if (streamId !== undefined) this.delete(streamId);
  }
}

/**
 * A large state is not measured at each of its events. It grows at most by the size of the events, and is
 * measured again when that could have doubled it.
 */
function entryOf(remembered: Remembered, former: Entry | undefined): Entry {
  const { state, lastEvent } = remembered;
  const usedAtMs = performance.now();
  if (former !== undefined && lastEvent.revision - former.remembered.lastEvent.revision <= 1) {
    const bytes = former.bytes + bytesOf(lastEvent);
    if (bytes <= 2 * former.measuredBytes)
      return { remembered, usedAtMs, bytes, measuredBytes: former.measuredBytes };
  }
  const bytes = bytesOf([state, lastEvent]);
  return { remembered, usedAtMs, bytes, measuredBytes: bytes };
}

function bytesOf(value: unknown): number {
  return bytesPerCharacter * JSON.stringify(value).length;
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}
