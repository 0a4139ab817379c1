/**
 * Keeps every part of a process away from its stores until they are known to be the right ones. Loops
 * start while a database may still be away, so the check cannot simply come first: what they ask of the
 * event store or the pool before the gate opens waits for a moment, and then fails as it does when a
 * store is away.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type EventStore, StoreUnavailable } from '@pis/event-store';
import type pg from 'pg';

const waitMs = 2_000;

type Connected = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void;

export class StoreGate {
  private isOpen = false;
  private readonly opening = Promise.withResolvers<void>();

  /** The stores are the right ones. */
  open(): void {
    this.isOpen = true;
    this.opening.resolve();
  }

  /** @throws StoreUnavailable while the gate is closed, after a moment */
  async pass(): Promise<void> {
    if (this.isOpen) return;
    const waiting = new AbortController();
    const tooLong = delay(waitMs, undefined, { signal: waiting.signal, ref: false }).then(() => {
      throw new StoreUnavailable('this process has not checked its stores yet');
    });
    try {
      await Promise.race([this.opening.promise, tooLong]);
    } finally {
      waiting.abort();
    }
  }

  /** Nothing but `ping` and `close` passes before the gate opens. */
  guardStore(store: EventStore): EventStore {
    const after = <Result>(work: () => Promise<Result>) =>
      this.isOpen ? work() : this.pass().then(work);
    return {
      append: (...args) => after(() => store.append(...args)),
      readStream: (...args) => after(() => store.readStream(...args)),
      readStreams: (...args) => after(() => store.readStreams(...args)),
      readLog: (...args) => after(() => store.readLog(...args)),
      lastPosition: () => after(() => store.lastPosition()),
      lastEvent: (...args) => after(() => store.lastEvent(...args)),
      subscribe: (options) => this.subscribe(store, options),
      ping: () => store.ping(),
      close: () => store.close(),
    };
  }

  /** No connection is given out before the gate opens; then the pool is as it was. */
  guardPool(pool: pg.Pool): void {
    const connect = pool.connect.bind(pool);
    const guarded = (callback?: Connected) => {
      const client = this.pass().then(() => connect());
      if (callback === undefined) return client;
      client.then(
        (given) => callback(undefined, given, () => given.release()),
        (error: unknown) => callback(error as Error),
      );
      return undefined;
    };
    pool.connect = guarded as pg.Pool['connect'];
    void this.opening.promise.then(() => {
      pool.connect = connect;
    });
  }

  /** A subscription waits for as long as it takes: it is to survive whatever is away. */
  private async *subscribe(
    store: EventStore,
    options: Parameters<EventStore['subscribe']>[0],
  ): AsyncIterable<Awaited<ReturnType<EventStore['readLog']>>> {
    if (!this.isOpen) {
      const { signal } = options;
      const aborted = Promise.withResolvers<void>();
      const abort = () => aborted.resolve();
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      await Promise.race([this.opening.promise, aborted.promise]);
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return;
    }
    yield* store.subscribe(options);
  }
}
