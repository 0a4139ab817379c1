/** Reads on the connection that also appends. */
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadOptions } from '../port.js';
import type { LeaderConnection } from './leader-connection.js';
import { LeaderLogRead } from './leader-log-read.js';
import { logRequest, positionIn, recordedIn, streamRequest } from './messages.js';
import type { LogPlace, Namespace } from './namespace.js';
import type { EventStoreDbReads, LogRange, OpenLogRead, ReadEvent } from './reads.js';

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
