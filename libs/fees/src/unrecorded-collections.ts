/**
 * Collections that the records of ACH have and the log lacks, because it was restored from an older backup. The collector
 * closes the months again, and takes up the last attempt of each that debits the originator. One of a month that is free
 * now holds up the month after it: see next-collection.ts.
 */
import {
  feePeriod as feePeriods,
  type FeePeriodStatus,
  type Month,
  monthBefore,
  settlementPartyId,
  streamIdOf,
} from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { isTransient } from '@pis/postgres';
import type pg from 'pg';
import { attemptOf, feePeriodIdOf } from './fee-ids.js';

export interface UnrecordedCollection {
  readonly originatorId: string;
  readonly collectionId: string;
  /** Of the banks file. */
  readonly connection: string;
  readonly status: 'waiting' | 'filed' | 'accepted' | 'returned';
  readonly amountMinor: number;
  readonly submittedAt: Date;
  readonly individualId: string | null;
  readonly traceNumber: string | null;
  readonly returnReasonCode: string | null;
  /** Which month it collects. Null: its ID is that of no month. */
  readonly period: UnrecordedPeriod | null;
}

export interface UnrecordedPeriod extends Month {
  readonly feePeriodId: string;
  /** From 1. */
  readonly attempt: number;
  /** As the log has the month now. Null: it is not closed, or cannot be read. */
  readonly status: FeePeriodStatus | null;
  /** Why the month cannot be read. */
  readonly unreadable?: string;
}

interface Row extends Omit<UnrecordedCollection, 'amountMinor' | 'period'> {
  readonly amountMinor: string;
  readonly reference: string;
}

/** A month is searched for as far back: collections may be retried by hand for years. */
const monthsMax = 60;
const pageMax = 200;

/**
 * By originator and time. A page begins after the last entry of the page before, so an entry that the bank rejects
 * meanwhile takes no other one off the list.
 * @throws StoreUnavailable
 */
export async function* unrecordedCollections({
  pool,
  store,
}: {
  readonly pool: pg.Pool;
  readonly store: EventStore;
}): AsyncGenerator<UnrecordedCollection> {
  let last: Row | undefined;
  for (;;) {
    const { rows }: pg.QueryResult<Row> = await pool.query<Row>(
      `SELECT contact_id AS "originatorId", payment_id AS "collectionId", bank AS connection, status,
          amount_minor AS "amountMinor", submitted_at AS "submittedAt",
          individual_id AS "individualId", trace_number AS "traceNumber",
          return_reason_code AS "returnReasonCode", reference
        FROM ach_entries
        WHERE organization_id = $1 AND status IN ('waiting', 'filed', 'accepted', 'returned')
          AND ($2::uuid IS NULL OR (contact_id, submitted_at, reference) > ($2, $3::timestamptz(3), $4::text))
        ORDER BY contact_id, submitted_at, reference LIMIT $5`,
      [
        ...[settlementPartyId, last?.originatorId ?? null, last?.submittedAt ?? null],
        ...[last?.reference ?? null, pageMax],
      ],
    );
    for (const row of rows) {
      // The log itself, not a list that may have events that it lacks.
      const stream = streamIdOf('collection', row.collectionId);
      const [first] = await store.readStream(stream, { maxCount: 1, leaveSealed: true });
      if (first !== undefined) continue;
      const period = await periodOf(store, row);
      const { reference: _reference, ...shown } = row;
      yield { ...shown, amountMinor: Number(row.amountMinor), period };
    }
    last = rows.at(-1);
    if (rows.length < pageMax) return;
  }
}

async function periodOf(
  store: EventStore,
  { originatorId, collectionId, submittedAt }: Row,
): Promise<UnrecordedPeriod | null> {
  const found = monthOfCollection(originatorId, collectionId, submittedAt);
  if (found === null) return null;
  try {
    const { state } = await repository(store, feePeriods).load(found.feePeriodId);
    return { ...found, status: state?.status ?? null };
  } catch (error) {
    // One month that cannot be read ends no list.
    if (isTransient(error)) throw error;
    return { ...found, status: null, unreadable: (error as Error).message };
  }
}

function monthOfCollection(
  originatorId: string,
  collectionId: string,
  submittedAt: Date,
): Omit<UnrecordedPeriod, 'status'> | null {
  // The month of its submission counts, too: it may have ended already in the time zone of the organization.
  let month: Month = { year: submittedAt.getUTCFullYear(), month: submittedAt.getUTCMonth() + 1 };
  for (let months = 0; months < monthsMax; months += 1) {
    const feePeriodId = feePeriodIdOf(originatorId, month);
    const attempt = attemptOf(feePeriodId, collectionId);
    if (attempt !== null) return { ...month, feePeriodId, attempt };
    month = monthBefore(month);
  }
  return null;
}
