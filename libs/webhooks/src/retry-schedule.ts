/** When a delivery is tried again, and when it is over (spec, "Delivery contract"). Pure. */

export interface RetryPolicy {
  /** The pause after the first failed attempt. */
  readonly initialMs: number;
  /** The longest pause. */
  readonly maxMs: number;
}

/** The pause after the given failed attempt, 1 for the first: doubling, capped. */
export function backoffMs(attempt: number, { initialMs, maxMs }: RetryPolicy): number {
  return Math.min(maxMs, initialMs * 2 ** (attempt - 1));
}

/**
 * When to try again after a failed attempt, or null when that would be after the window: the
 * delivery has then failed.
 *
 * @param attempt the one that just failed, 1 for the first
 */
export function nextAttemptAt(
  attempt: number,
  now: Date,
  windowEndsAt: Date,
  policy: RetryPolicy,
): Date | null {
  const at = new Date(now.getTime() + backoffMs(attempt, policy));
  return at <= windowEndsAt ? at : null;
}

/** `permanent`: the receiver refused; trying again would change nothing. */
export type OutcomeClass = 'success' | 'permanent' | 'retry';

/** The 4xx that ask for another try: timeout, too early, too many requests. */
const retriedStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/** Redirects are not followed and fail like 5xx. @param status null when there was no response */
export function classify(status: number | null): OutcomeClass {
  if (status === null) return 'retry';
  if (status >= 200 && status < 300) return 'success';
  if (status >= 400 && status < 500 && !retriedStatuses.has(status)) return 'permanent';
  return 'retry';
}
