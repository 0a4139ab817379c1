/**
 * Retries an append after conflicts with other writers of the stream, a bounded number of times.
 *
 * Of many writers that try again at once, one succeeds and the others conflict again. Most would give up
 * although the store is well. So the writers of this process take turns, in the order of their first
 * conflict. Every writer also pauses after a conflict, longer each time, because the writers of other
 * processes do not take turns with ours. The revision still guards the stream, so no writer waits for its
 * turn longer than turnWaitMaxMs.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { backoffMs, pause } from '@pis/postgres';
import { type EventStore, WrongExpectedRevision } from './port.js';

/** Tries of one attempt while others keep appending to the same stream. */
export const conflictTriesMax = 10;
const pauseInitialMs = 2;
const pauseMaxMs = 200;
const turnWaitMaxMs = 5_000;

/** By stream: resolves when the last writer in the queue has ended. */
const queues = new WeakMap<EventStore, Map<string, Promise<void>>>();
/** The queue in which the current code has its turn. It must not wait there for itself. */
const turn = new AsyncLocalStorage<{ readonly store: EventStore; readonly streamId: string }>();

/** Loads, decides and appends. `tries` is 1 for the first time. */
type Attempt<Result> = (tries: number) => Promise<Result>;

/**
 * Runs `attempt` at once, and again after each WrongExpectedRevision.
 * @param streamId the stream that several writers append to
 * @throws WrongExpectedRevision after conflictTriesMax of them, and whatever else `attempt` throws
 */
export async function againOnConflict<Result>(
  store: EventStore,
  streamId: string,
  attempt: Attempt<Result>,
): Promise<Result> {
  try {
    return await attempt(1);
  } catch (error) {
    if (!(error instanceof WrongExpectedRevision)) throw error;
  }
  const held = turn.getStore();
  if (held?.store === store && held.streamId === streamId) return again(attempt);
  return inTurn(store, streamId, () => turn.run({ store, streamId }, () => again(attempt)));
}

/** From the second try on, each after a pause. */
async function again<Result>(attempt: Attempt<Result>): Promise<Result> {
  for (let tries = 2; ; tries += 1) {
    await pause(backoffMs(tries - 2, pauseInitialMs, pauseMaxMs));
    try {
      return await attempt(tries);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision) || tries >= conflictTriesMax) throw error;
    }
  }
}

async function inTurn<Result>(
  store: EventStore,
  streamId: string,
  act: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(store) ?? new Map<string, Promise<void>>();
  queues.set(store, queue);
  const before = queue.get(streamId);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  queue.set(streamId, ended);
  try {
    if (before !== undefined) await atMost(before, turnWaitMaxMs);
    return await act();
  } finally {
    end();
    if (queue.get(streamId) === ended) queue.delete(streamId);
  }
}

async function atMost(event: Promise<void>, ms: number): Promise<void> {
  const settled = new AbortController();
  await Promise.race([event, pause(ms, settled.signal)]);
  settled.abort();
}
