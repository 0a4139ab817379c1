/**
 * A time limit for everything that a request asks of the event store, however deep its calls are. Once
 * the limit has passed, no further append begins, so that nothing is half done after the request was
 * answered. An append that was sent before may still happen: the same event ids tell. One that still waits
 * in this process for its turn is not sent any more.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type EventStore, StoreUnavailable } from './port.js';

const limits = new AsyncLocalStorage<AbortSignal>();

/** Runs `act`; what it asks of a store that is timeLimited() rejects once the signal is aborted. */
export function withTimeLimit<Result>(signal: AbortSignal, act: () => Result): Result {
  return limits.run(signal, act);
}

/**
 * The limit that the caller runs under, if any. A store in which calls wait for their turn asks for it when
 * a call comes, and drops the call when its turn comes too late: nobody waits for it any more.
 */
export function timeLimitOfCaller(): AbortSignal | undefined {
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
      const signal = limits.getStore();
      return signal === undefined ? call(...args) : untilAborted(signal, () => call(...args));
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

async function untilAborted<Result>(
  signal: AbortSignal,
  call: () => Promise<Result>,
): Promise<Result> {
  if (signal.aborted) throw outOfTime();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(outOfTime());
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([call(), promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
