/**
 * Blocks the use of a process's stores until they have been checked. The check cannot simply run first,
 * because loops start while a database may still be unavailable. Until the gate opens, calls of the event
 * store or the pool wait for a moment and then fail as if the store were unavailable.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type EventStore, StoreUnavailable } from '@pis/event-store';
import type pg from 'pg';

/** The first start of a fresh system creates its tables meanwhile. A request is answered within 10 s by default. */
const defaultWaitMs = 8_000;

type Connected = (error: Error | undefined, client?: pg.PoolClient, done?: () => void) => void;

/** The stores have not been checked. What the check waits for is logged where it waits (run-app.ts). */
export class StoresNotChecked extends StoreUnavailable {
  override readonly name = 'StoresNotChecked';
}

export class StoreGate {
  private isOpen = false;
  private readonly opening = Promise.withResolvers<void>();

  constructor(private readonly waitMs: number = defaultWaitMs) {
    // Every call that waits handles it. There may be none.
    this.opening.promise.catch(() => undefined);
  }

  /** Call this when the stores have been checked. */
  open(): void {
    this.isOpen = true;
    this.opening.resolve();
  }

  /** Call this when the process ends. Calls that still wait fail at once: the gate will not open any more. */
  end(): void {
    this.opening.reject(
      new StoresNotChecked('this process ends without having checked its stores'),
    );
  }

  /** @throws StoreUnavailable after a moment, if the gate is still closed */
  async pass(): Promise<void> {
    if (this.isOpen) return;
    const waiting = new AbortController();
    const tooLong = delay(this.waitMs, undefined, { signal: waiting.signal, ref: false }).then(
      () => {
        throw new StoresNotChecked('this process has not checked its stores yet');
      },
    );
    try {
      await Promise.race([this.opening.promise, tooLong]);
    } finally {
      waiting.abort();
    }
  }

  /** Only `ping` and `close` pass before the gate opens. */
  guardStore(store: EventStore): EventStore {
    const after = <Result>(work: () => Promise<Result>) =>
      this.isOpen ? work() : this.pass().then(work);
    const { sealing } = store;
    return {
      sealing: sealing && {
        seal: (...args) => after(() => sealing.seal(...args)),
        openAll: (...args) => after(() => sealing.openAll(...args)),
        destroyedOf: (...args) => after(() => sealing.destroyedOf(...args)),
      },
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

  /** The pool lends no connection before the gate opens. After that it is unchanged. */
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
    this.opening.promise.then(
      () => (pool.connect = connect),
      () => undefined,
    );
  }

  /** A subscription waits without a limit: it must survive every outage. */
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
      // A process that ends also aborts its subscriptions.
      const opened = this.opening.promise.catch(() => aborted.promise);
      await Promise.race([opened, aborted.promise]);
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return;
    }
    yield* store.subscribe(options);
  }
}
