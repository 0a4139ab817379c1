/**
 * A time limit for all event store calls of a request, however deep they are. After the limit no further
 * append begins, so that nothing is half done after the request was answered. An append that was sent
 * before may still happen: its event IDs show that. An append that still waits in this process is not sent.
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

  /** Waiting calls under the limit reject, and no new call begins under it. */
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

/** Runs `act`. Its calls to a timeLimited() store reject once the limit is over. */
export function withTimeLimit<Result>(limit: TimeLimit, act: () => Result): Result {
  return limits.run(limit, act);
}

/** Runs `act` without the limit of its caller: for what must be written also after the limit is over. */
export function outsideTimeLimit<Result>(act: () => Result): Result {
  return limits.exit(act);
}

/**
 * The limit that the caller runs under, if any. A store with a queue reads it when a call arrives, and
 * drops the call if its turn comes after the limit.
 */
export function timeLimitOfCaller(): TimeLimit | undefined {
  return limits.getStore();
}

/** The error of a call that did not begin in time. */
export function outOfTime(): StoreUnavailable {
  return new StoreUnavailable('the request ran out of time');
}

/** The same store for callers with a time limit. Subscriptions have none. */
export function timeLimited(store: EventStore): EventStore {
  const limited =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      const limit = limits.getStore();
      return limit === undefined ? call(...args) : limit.race(() => call(...args));
    };
  const { sealing } = store;
  return {
    sealing: sealing && {
      seal: limited(sealing.seal.bind(sealing)),
      openAll: limited(sealing.openAll.bind(sealing)),
      destroyedOf: limited(sealing.destroyedOf.bind(sealing)),
    },
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
