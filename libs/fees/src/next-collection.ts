/**
 * What ACH has of a period whose next collection starts. Usually nothing. After the log was restored from an older backup, it
 * may have collections that the log lacks and that debit the originator, or have debited it. A later attempt of the same period is started again:
 * the executor and the bank recognize it by its reference. One of a month that is free now has fees that count in a later
 * month: that month waits for staff. Any other collection would debit the same fees a second time.
 */
import { railReferenceOf } from '@pis/bank-rails';
import {
  type FeePeriod,
  feePeriod as feePeriods,
  type Month,
  monthBefore,
  monthName,
} from '@pis/domain';
import { repository } from '@pis/event-store';
import { type FeeSources, orUnavailable } from '@pis/read-models';
import type pg from 'pg';
import { attemptsMax, collectionIdOf, feePeriodIdOf, nextAttemptOf } from './fee-ids.js';

interface LiveEntry {
  readonly collectionId: string;
  readonly status: string;
  readonly amountMinor: number;
}

/** Free months that are looked at before a period. */
const freeMonthsMax = 12;

/** @throws StoreUnavailable */
export async function nextCollectionId(pool: pg.Pool, period: FeePeriod): Promise<string> {
  const next = nextAttemptOf(period);
  const last = await lastLiveEntry(pool, period.feePeriodId, next);
  return last?.collectionId ?? collectionIdOf(period.feePeriodId, next);
}

export interface FreeMonthCollection extends LiveEntry {
  readonly month: Month;
}

/**
 * A collection of one of the free months right before a period. Null: there is none, the period has started, or staff have
 * vouched for it. @throws StoreUnavailable
 */
export async function collectionOfFreeMonth(
  { store, pool }: FeeSources,
  { originatorId, collections, isVouchedFor, year, month }: FeePeriod,
): Promise<FreeMonthCollection | null> {
  if (collections.length > 0 || isVouchedFor) return null;
  let before: Month = monthBefore({ year, month });
  for (let months = 0; months < freeMonthsMax; months += 1) {
    const feePeriodId = feePeriodIdOf(originatorId, before);
    const { state } = await repository(store, feePeriods).load(feePeriodId);
    if (state?.status !== 'FREE') return null;
    const entry = await lastLiveEntry(pool, feePeriodId, 1);
    if (entry !== null) return { ...entry, month: before };
    before = monthBefore(before);
  }
  return null;
}

/** For staff. */
export function freeMonthText({ month, status, amountMinor }: FreeMonthCollection): string {
  return `the log was restored, and ACH has a collection of ${monthName(month)} as ${status}, over ${amountMinor} cents, although that month is free now`;
}

/** Of the attempts of a period from one on, the last one whose money ACH debits or has debited. */
async function lastLiveEntry(
  pool: pg.Pool,
  feePeriodId: string,
  from: number,
): Promise<LiveEntry | null> {
  const attempts = Array.from({ length: attemptsMax }, (_, index) => {
    const collectionId = collectionIdOf(feePeriodId, from + index);
    return { collectionId, reference: railReferenceOf(collectionId) };
  });
  // Of an entry that was voided, rejected or returned no money was kept.
  const { rows } = await orUnavailable(() =>
    pool.query<{ reference: string; status: string; amount: string }>({
      name: 'fees.entries_of_attempts',
      text: `SELECT reference, status, amount_minor AS amount FROM ach_entries
        WHERE reference = ANY ($1::text[]) AND status IN ('waiting', 'filed', 'accepted')`,
      values: [attempts.map(({ reference }) => reference)],
    }),
  );
  const live = new Map(rows.map((row) => [row.reference, row]));
  for (const { collectionId, reference } of attempts.toReversed()) {
    const entry = live.get(reference);
    if (entry !== undefined)
      return { collectionId, status: entry.status, amountMinor: Number(entry.amount) };
  }
  return null;
}
