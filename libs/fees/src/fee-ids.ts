/** IDs that follow from what they name, so that two collectors make the same streams. */
import { type FeePeriod, type Month, monthName } from '@pis/domain';
import { v5 as uuidV5 } from 'uuid';

export function feePeriodIdOf(originatorId: string, month: Month): string {
  return uuidV5(monthName(month), originatorId);
}

/** Attempts of one period that are looked at: more than a period has, also when it is reopened several times. */
export const attemptsMax = 30;

/** Of the next collection, from 1: after those that have started. A restored log may lack some of them. */
export function nextAttemptOf({ feePeriodId, collections }: FeePeriod): number {
  const last = collections.at(-1);
  const found = last === undefined ? 0 : attemptOf(feePeriodId, last.collectionId);
  return Math.max(collections.length, found ?? 0) + 1;
}

/** Which attempt of the period a collection is, from 1. Null when it is none of the first ones. */
export function attemptOf(feePeriodId: string, collectionId: string): number | null {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1)
    if (collectionIdOf(feePeriodId, attempt) === collectionId) return attempt;
  return null;
}

/** @param attempt from 1 */
export function collectionIdOf(feePeriodId: string, attempt: number): string {
  return uuidV5(`collection ${attempt}`, feePeriodId);
}
