/** A read of the log on the leader's connection that stays open while its reader is busy. */
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import { Bell } from '@pis/postgres';
import { StoreUnavailable } from '../port.js';
import type { LeaderConnection, OpenCall } from './leader-connection.js';
import type { OpenLogRead, ReadEvent } from './reads.js';

/** The server is held back while so many events wait for the reader. */
const waitingMax = 1_000;

export class LeaderLogRead implements OpenLogRead {
  readonly #closing = new AbortController();
  readonly #bell = new Bell();
  #waiting: ReadEvent[] = [];
  #call: OpenCall | null = null;
  #isOpened = false;
  #isPaused = false;
  #end: { readonly error: unknown } | null = null;

  /** Begins with the first call of next(). */
  constructor(
    private readonly connection: LeaderConnection,
    private readonly request: ReadReq,
    private readonly eventIn: (response: ReadResp) => ReadEvent | null,
  ) {}

  async next(timeoutMs: number): Promise<readonly ReadEvent[] | null> {
    const { signal } = this.#closing;
    const endsAtMs = performance.now() + timeoutMs;
    if (!this.#isOpened) await this.#open(timeoutMs);
    for (;;) {
      const { rung } = this.#bell;
      if (signal.aborted) throw new StoreUnavailable('this read was closed');
      // What came before a failure is not given out: the log is read again from there.
      if (this.#end !== null && this.#end.error !== null) throw this.#end.error;
      if (this.#waiting.length > 0) return this.#takeWaiting();
      if (this.#end !== null) return null;
      const leftMs = endsAtMs - performance.now();
      if (leftMs <= 0) throw new StoreUnavailable(`EventStoreDB sent nothing in ${timeoutMs} ms`);
      await this.#bell.wait(rung, leftMs, signal);
    }
  }

  close(): void {
    this.#closing.abort();
    this.#waiting = [];
    this.#call?.cancel();
  }

  async #open(timeoutMs: number): Promise<void> {
    this.#isOpened = true;
    this.#call = await this.connection.subscribe(this.request, timeoutMs, {
      response: (response) => this.#arrived(this.eventIn(response)),
      ended: (error) => {
        this.#end ??= { error };
        this.#bell.ring();
      },
    });
    if (this.#closing.signal.aborted) this.#call.cancel();
  }

  #arrived(event: ReadEvent | null): void {
    if (event === null || this.#closing.signal.aborted) return;
    this.#waiting.push(event);
    if (this.#waiting.length >= waitingMax && !this.#isPaused) {
      this.#isPaused = true;
      this.#call?.pause();
    }
    this.#bell.ring();
  }

  #takeWaiting(): readonly ReadEvent[] {
    const events = this.#waiting;
    this.#waiting = [];
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#call?.resume();
    }
    return events;
  }
}
