/**
 * A time limit for everything that a request asks of the event store, however deep its calls are. Once
 * the limit has passed, no further append begins, so that nothing is half done after the request was
 * answered. An append that was sent before may still happen: the same event ids tell. One that still waits
 * in this process for its turn is not sent any more.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type EventStore, StoreUnavailable } from './port.js';

const limits = new AsyncLocalStorage<TimeLimit>();

/** One for each request, so it costs little: an AbortSignal is an event target with listeners. */
export class TimeLimit {
  #isOver = false;
  readonly #waiting = new Set<() => void>();

  get isOver(): boolean {
    return this.#isOver;
  }

  /** What waits under the limit rejects, and nothing begins under it any more. */
  end(): void {
    this.#isOver = true;
    for (const giveUp of this.#waiting) giveUp();
    this.#waiting.clear();
  }

  /** Begins the call and settles as it does. @throws StoreUnavailable once the limit is over */
  race<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isOver) return Promise.reject(outOfTime());
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(outOfTime());
      this.#waiting.add(giveUp);
      call().then(
        (result) => {
          this.#waiting.delete(giveUp);
          resolve(result);
        },
        (error: unknown) => {
          this.#waiting.delete(giveUp);
          reject(error as Error);
        },
      );
    });
  }
}

/** Runs `act`; what it asks of a store that is timeLimited() rejects once the limit is over. */
export function withTimeLimit<Result>(limit: TimeLimit, act: () => Result): Result {
  return limits.run(limit, act);
}

/**
 * The limit that the caller runs under, if any. A store in which calls wait for their turn asks for it when
 * a call comes, and drops the call when its turn comes too late: nobody waits for it any more.
 */
export function timeLimitOfCaller(): TimeLimit | undefined {
  return limits.getStore();
}

/** What a call ends with that was not begun in time. */
export function outOfTime(): StoreUnavailable {
  return new StoreUnavailable('the request ran out of time');
}

/** The same store for whoever runs under a time limit; subscriptions have none. */
export function timeLimited(store: EventStore): EventStore {
  const limited =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      const limit = limits.getStore();
      return limit === undefined ? call(...args) : limit.race(() => call(...args));
    };
  return {
    append: limited(store.append.bind(store)),
    readStream: limited(store.readStream.bind(store)),
    readStreams: limited(store.readStreams.bind(store)),
    readLog: limited(store.readLog.bind(store)),
    lastPosition: limited(store.lastPosition.bind(store)),
    lastEvent: limited(store.lastEvent.bind(store)),
    ping: limited(store.ping.bind(store)),
    subscribe: store.subscribe.bind(store),
    close: store.close.bind(store),
  };
}
