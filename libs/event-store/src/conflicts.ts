/**
 * What to do when others append to the same stream: begin again, a bounded number of times.
 *
 * Of many writers that begin again at once, one gets through and the others conflict again; most would
 * give up although the store is well. So the writers of this process take turns, in the order of their
 * first conflict, and everybody pauses after a conflict, longer each time, because the writers of other
 * processes do not take turns with ours. The revision still guards the stream: nobody waits for a turn
 * longer than turnWaitMaxMs.
 */
import { type EventStore, WrongExpectedRevision } from './port.js';
import { backoffMs, pause } from './wake-up.js';

/** How often something is tried, at most, when others keep appending to the same stream. */
export const conflictTriesMax = 10;
const pauseInitialMs = 2;
const pauseMaxMs = 200;
const turnWaitMaxMs = 5_000;

/** By stream: resolves when the last one in the queue has ended. */
const queues = new WeakMap<EventStore, Map<string, Promise<void>>>();

/**
 * @param attempt loads, decides and appends; at once, and again after each WrongExpectedRevision
 * @param streamId the stream that is fought over
 * @throws WrongExpectedRevision after conflictTriesMax of them, and whatever else `attempt` throws
 */
export async function untilSettled<Result>(
  store: EventStore,
  streamId: string,
  attempt: () => Promise<Result>,
): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof WrongExpectedRevision)) throw error;
  }
  return inTurn(store, streamId, () => again(attempt));
}

/** From the second try on, each after a pause. */
async function again<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 2; ; tries += 1) {
    await pause(backoffMs(tries - 2, pauseInitialMs, pauseMaxMs));
    try {
      return await attempt();
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
