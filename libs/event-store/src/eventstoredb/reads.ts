/** Finite reads of streams and of the log, for every client of EventStoreDB. */
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { Position, ReadOptions, RecordedEvent } from '../port.js';
import type { LeaderConnection } from './leader-connection.js';
import { LeaderLogRead } from './leader-log-read.js';
import { logRequest, positionIn, recordedIn, streamRequest } from './messages.js';
import type { LogPlace, Namespace } from './namespace.js';

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

/** On the connection that also appends. */
export class LeaderReads implements EventStoreDbReads {
  constructor(
    private readonly connection: LeaderConnection,
    private readonly namespace: Namespace,
  ) {}

  stream(name: string, options: ReadOptions, timeoutMs: number): Promise<readonly ReadEvent[]> {
    return this.#read(streamRequest(name, options), timeoutMs);
  }

  log(range: LogRange, timeoutMs: number, isEnough?: (event: ReadEvent) => boolean) {
    return this.#read(logRequest(range), timeoutMs, isEnough);
  }

  openLog(from: LogPlace): OpenLogRead {
    const request = logRequest({ from, maxCount: Number.MAX_SAFE_INTEGER });
    return new LeaderLogRead(this.connection, request, (response) => this.#eventIn(response));
  }

  /** The connection is closed separately. */
  close(): void {}

  async #read(
    request: ReadReq,
    timeoutMs: number,
    isEnough: (event: ReadEvent) => boolean = () => false,
  ): Promise<readonly ReadEvent[]> {
    const events: ReadEvent[] = [];
    await this.connection.read(request, timeoutMs, (response) => {
      const event = this.#eventIn(response);
      if (event === null) return false;
      events.push(event);
      return isEnough(event);
    });
    return events;
  }

  #eventIn(response: ReadResp): ReadEvent | null {
    const position = positionIn(response);
    return position === null ? null : { position, recorded: recordedIn(this.namespace, response) };
  }
}
