/**
 * When a returned collection is tried again. Nacha Operating Rules, "Reinitiation": an entry that was returned for
 * insufficient or uncollected funds may be presented two more times, within 180 days of the first one.
 */

const retriedCodes: readonly (string | null)[] = ['R01', 'R09'];

/** How long after each return. Its length is the number of times a collection is presented again. */
const pausesDays = [3, 10] as const;
export const collectionsMax = 1 + pausesDays.length;
const withinDays = 180;
const dayMs = 86_400_000;

export interface ReturnedCollection {
  readonly returnReasonCode: string | null;
  /** When it was returned. */
  readonly at: string;
  /** How many collections of the period there have been. */
  readonly collections: number;
  /** When the first one started. */
  readonly firstAt: string;
}

/** How long after each collection that failed before it was sent. They are no presentations in the sense of the rule. */
const unsentPausesDays = [1, 3, 10] as const;

/**
 * When the next collection may start after one that was not sent, ISO 8601; null when there is none.
 * @param at when it failed
 * @param unsent how many were not sent, this one included
 */
export function retryUnsentAt(at: string, unsent: number): string | null {
  const pauseDays = unsentPausesDays[unsent - 1];
  return pauseDays === undefined
    ? null
    : new Date(Date.parse(at) + pauseDays * dayMs).toISOString();
}

/** When the next collection may start, ISO 8601; null when there is none. */
export function retryAt({
  returnReasonCode,
  at,
  collections,
  firstAt,
}: ReturnedCollection): string | null {
  const pauseDays = pausesDays[collections - 1];
  if (pauseDays === undefined || !retriedCodes.includes(returnReasonCode)) return null;
  const next = new Date(Date.parse(at) + pauseDays * dayMs);
  return isRetryInTime(firstAt, next.toISOString()) ? next.toISOString() : null;
}

/** Whether a collection may be presented again, at a time after the first one. Both ISO 8601. */
export function isRetryInTime(firstAt: string, at: string): boolean {
  return Date.parse(at) - Date.parse(firstAt) <= withinDays * dayMs;
}
