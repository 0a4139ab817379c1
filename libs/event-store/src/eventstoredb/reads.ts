/** Finite reads of streams and of the log, for every client of EventStoreDB. */
import type { Position, ReadOptions, RecordedEvent } from '../port.js';
import type { LogPlace } from './namespace.js';

export interface LogRange {
  /** Inclusive. */
  readonly from: LogPlace | 'start' | 'end';
  readonly direction?: 'forwards' | 'backwards';
  readonly maxCount: number;
  /** Names of streams begin with one of these; all streams when absent. */
  readonly prefixes?: readonly string[];
}

export interface ReadEvent {
  readonly position: Position;
  /** Null when it is not ours. */
  readonly recorded: RecordedEvent | null;
}

export interface EventStoreDbReads {
  /**
   * @param name the stream's, with its namespace; a stream that does not exist has no events
   * @throws StoreUnavailable
   */
  stream(name: string, options: ReadOptions, timeoutMs: number): Promise<readonly ReadEvent[]>;
  /**
   * @param isEnough asked with each event: the rest is not read once it is true
   * @throws StoreUnavailable
   */
  log(
    range: LogRange,
    timeoutMs: number,
    isEnough?: (event: ReadEvent) => boolean,
  ): Promise<readonly ReadEvent[]>;
  /** The log from a place on, that event included, in one call that goes on until its end. */
  openLog(from: LogPlace): OpenLogRead;
  close(): void;
}

/** A read of the log that waits for whoever reads from it; the server is held back meanwhile. */
export interface OpenLogRead {
  /**
   * What comes next; null at the end of the log, as it was when the read got there.
   * @throws StoreUnavailable nothing more comes from this read
   */
  next(timeoutMs: number): Promise<readonly ReadEvent[] | null>;
  /** May be called again. */
  close(): void;
}
