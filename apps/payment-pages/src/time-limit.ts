import { TimeLimit, withTimeLimit } from '@pis/event-store';

/**
 * Ends `work`, and its calls to the event store, after a time. What was sent already may still take effect.
 * @throws StoreUnavailable when the time is over
 */
export async function within<Result>(
  timeoutMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const limit = new TimeLimit();
  const timer = setTimeout(() => limit.end(), timeoutMs);
  try {
    return await withTimeLimit(limit, () => limit.race(work));
  } finally {
    clearTimeout(timer);
  }
}
