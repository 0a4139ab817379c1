/** When a delivery is tried again, and when it is over (rules delivery-1 to delivery-6). Pure. */
import { type EventCategory, eventCategoryOf } from '@pis/domain';

/** How long attempts go on, in milliseconds (rules limit-9 and limit-10). */
export type RetryWindows = Readonly<Record<EventCategory, number>>;

export interface RetryWindowsConfig {
  readonly PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: number;
  readonly PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS: number;
}

export function retryWindowsOf(config: RetryWindowsConfig): RetryWindows {
  return {
    payment: config.PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS,
    statement: config.PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS,
  };
}

/** The window of an event; of one whose type this release does not know, a statement's. */
export function retryWindowMs(windows: RetryWindows, eventType: string): number {
  return windows[eventCategoryOf(eventType) ?? 'statement'];
}

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

/** A pause may be longer than the specified one by this fraction, so that retries of one moment spread out. */
const jitterMax = 0.1;

/** The margin before the window's end: an attempt in its last millisecond would begin too late. */
const lastAttemptBeforeEndMs = 60_000;

export interface FailedAttempt {
  /** 1 for the first. */
  readonly attempt: number;
  /** When it ended. */
  readonly now: Date;
  readonly windowEndsAt: Date;
  /** The pause that the receiver asked for, see retryAfterMs. Null if it did not ask. */
  readonly retryAfterMs: number | null;
  /** From 0 to 1, 1 excluded: chooses the jitter. */
  readonly random: number;
}

/**
 * When to try again after a failed attempt, or null when the contract's pause ends after the window: the
 * delivery has then failed.
 *
 * The pause is the contract's or what the receiver asked for, whichever is longer, and up to a tenth more.
 * It is never shorter than the contract's and never beyond its cap: a receiver that asks for two hours is
 * tried again after one. At the cap there is no jitter: the pauses before have spread the attempts. A pause
 * that would reach beyond the window ends shortly before it: one last attempt while it can still be made.
 */
export function nextAttemptAt(failed: FailedAttempt, policy: RetryPolicy): Date | null {
  const { attempt, now, windowEndsAt, random } = failed;
  const contractMs = backoffMs(attempt, policy);
  const leftMs = windowEndsAt.getTime() - now.getTime();
  if (contractMs > leftMs) return null;
  const askedMs = failed.retryAfterMs ?? 0;
  const leastMs = Math.max(contractMs, askedMs);
  const mostMs = Math.min(leftMs - lastAttemptBeforeEndMs, policy.maxMs);
  const pauseMs = Math.max(
    contractMs,
    Math.min(mostMs, Math.ceil(leastMs * (1 + jitterMax * random))),
  );
  return new Date(now.getTime() + pauseMs);
}

/**
 * The number of the attempt in the schedule of its window. All attempts count, except for a delivery that
 * was sent again in a new window: its schedule starts over with that window. The number is derived from the
 * time: the schedule allows only so many attempts since the window began.
 * @param attempts made so far, in all windows
 * @param elapsedMs since the window began
 */
export function attemptInWindow(attempts: number, elapsedMs: number, policy: RetryPolicy): number {
  let attempt = 1;
  let dueAfterMs = backoffMs(1, policy);
  while (
    attempt < attempts &&
    dueAfterMs <= elapsedMs &&
    backoffMs(attempt, policy) < policy.maxMs
  ) {
    attempt += 1;
    dueAfterMs += backoffMs(attempt, policy);
  }
  return attempt;
}

/**
 * How long the receiver asks us to wait: Retry-After in seconds or as an HTTP date (RFC 9110, 10.2.3). Null when it is
 * absent or invalid. It may be longer than any pause.
 */
export function retryAfterMs(retryAfter: string | null, now: Date): number | null {
  if (retryAfter === null) return null;
  const text = retryAfter.trim();
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1000
    : /^[A-Z][a-z]{2,8},? /.test(text)
      ? Date.parse(text) - now.getTime()
      : Number.NaN;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
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
