import { setTimeout as wait } from 'node:timers/promises';
import type { Delay } from './attempts.js';

export const abortableDelay: Delay = async (ms, signal) => {
  try {
    await wait(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}

/** Waits for the work, but no longer than the limit. @returns whether it ended in time */
export async function atMost(ms: number, work: Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  const inTime = await Promise.race([
    work.then(() => true),
    abortableDelay(ms, limit.signal).then(() => false),
  ]);
  limit.abort();
  return inTime;
}
