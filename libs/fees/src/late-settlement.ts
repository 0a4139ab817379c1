/**
 * What follows when the bank settles a collection that it has rejected before. A later collection of the period that was
 * not sent is withdrawn: its own stream decides between that and the executor's claim. Of one that was sent, staff are told.
 */
import { railReferenceOf } from '@pis/bank-rails';
import { restoredAt } from '@pis/bank-rails/connections';
import type { SettlementAccountMissing } from '@pis/commands';
import {
  collection as collections,
  currentCollectionId,
  type FeePeriod,
  type FeePeriodCommand,
  feesDueMinor,
  operatorNotice,
  type Payment,
  type PaymentCommand,
  type PaymentState,
} from '@pis/domain';
import { type EventStore, repository, WrongExpectedRevision } from '@pis/event-store';
import { KeyDestroyed } from '@pis/keyring';
import { orUnavailable } from '@pis/read-models';
import type pg from 'pg';
import type { CollectionOptions } from './collection-options.js';
import { queueCommand } from './new-collection.js';

/** The settled collections of a period, without the one that its status is about. @throws StoreUnavailable */
export async function settledBeside(
  store: EventStore,
  period: FeePeriod,
): Promise<readonly Payment[]> {
  const isCounted = period.status === 'COLLECTING' || period.status === 'COLLECTED';
  const current = isCounted ? currentCollectionId(period) : null;
  const settled: Payment[] = [];
  for (const { collectionId, isUnsent } of period.collections) {
    if (isUnsent || collectionId === current) continue;
    const { state } = await repository(store, collections).load(collectionId);
    if (state?.status === 'COMPLETED') settled.push(state);
  }
  return settled;
}

/**
 * @param settled as `settledBeside` has found them, at least one
 * @returns what to record on the period, null when there is nothing to do now
 * @throws StoreUnavailable
 */
export async function afterLateSettlement(
  options: CollectionOptions,
  period: FeePeriod,
  settled: readonly Payment[],
  at: string,
): Promise<FeePeriodCommand | SettlementAccountMissing | 'as before' | null> {
  const [first] = settled;
  if (first === undefined) return 'as before';
  const collected = (withdrawnId: string | null): FeePeriodCommand => {
    const collectionId = first.paymentId;
    const data = withdrawnId === null ? { collectionId } : { collectionId, withdrawnId };
    return { type: 'RecordFeesCollected', at, data };
  };
  if (period.status !== 'COLLECTING' && period.status !== 'COLLECTED') return collected(null);
  const otherId = currentCollectionId(period);
  if (otherId === null) throw new Error('a collection is under way without its ID');
  const other = await withdrawn(options, period, { collectionId: otherId, at });
  // It can never be created: the originator was erased.
  if (other === 'never sent') return collected(otherId);
  if (other === null || 'refused' in other) return other;
  if (hasEnded(other)) return collected(isUnsent(other) ? otherId : null);
  const untold = settled.find(({ paymentId }) => !period.debitedTwice.includes(paymentId));
  if (untold === undefined) return 'as before';
  await notify(options, period, [untold, other]);
  const data = { collectionId: untold.paymentId, otherId };
  return { type: 'RecordFeesDebitedTwice', at, data };
}

/** No money moves by it, as far as the bank has said. */
function hasEnded({ status, lateRejection }: Payment): boolean {
  const ended = status === 'FAILED' || status === 'BLOCKED' || status === 'RETURNED';
  return ended || (status === 'FAILED_IN_FLIGHT' && lateRejection !== null);
}

function isUnsent({ status, railReference }: Payment): boolean {
  return status === 'FAILED' && railReference === null;
}

/**
 * Withdraws a collection unless it was sent. One that does not exist yet is created withdrawn, in one append: another
 * collector may be about to create it. One that a restored database or log knows as unsent may have been sent: its bank
 * is compared first, and its record at ACH is left to the executor.
 * @returns the collection; null while it cannot be decided
 */
async function withdrawn(
  options: CollectionOptions,
  period: FeePeriod,
  { collectionId, at }: { readonly collectionId: string; readonly at: string },
): Promise<Payment | SettlementAccountMissing | 'never sent' | null> {
  const repo = repository(options.store, collections);
  const loaded = await repo.load(collectionId);
  const { state }: { readonly state: PaymentState } = loaded;
  if (state !== null && state.status !== 'QUEUED') return state;
  const { pool } = options.sources;
  if ((await orUnavailable(() => restoredAt(pool))) !== null) return null;
  const isRecorded = await hasRecord(pool, collectionId);
  if (state !== null && isRecorded) return null;
  const commands: PaymentCommand[] = [];
  if (state === null) {
    const queue = await queueCommand(options, period, { collectionId, at });
    if (queue === null || 'refused' in queue) return queue;
    if (queue.type !== 'QueuePayment') return 'never sent';
    commands.push(queue);
  }
  const data = {
    failureCode: 'INTERNAL_ERROR',
    failureMessage: 'The fees were collected already.',
    failureReason: 'withdrawn: the bank has settled an earlier collection of the same fees',
  } as const;
  if (!isRecorded) commands.push({ type: 'FailPayment', at, data });
  try {
    await repo.record(collectionId, loaded, commands, options.by);
  } catch (error) {
    if (error instanceof KeyDestroyed) return 'never sent';
    // The executor has claimed it, or another collector was first.
    if (!(error instanceof WrongExpectedRevision)) throw error;
  }
  const { state: after } = await repo.load(collectionId);
  // Another collector has created it meanwhile: the next round withdraws it.
  return after?.status === 'QUEUED' ? null : after;
}

/** Whether ACH has an entry of it that may have been sent. */
async function hasRecord(pool: pg.Pool, collectionId: string): Promise<boolean> {
  const { rowCount } = await orUnavailable(() =>
    pool.query({
      name: 'fees.record_of_collection',
      text: `SELECT FROM ach_entries WHERE reference = $1 AND status NOT IN ('voided', 'rejected')`,
      values: [railReferenceOf(collectionId)],
    }),
  );
  return rowCount !== 0;
}

/** A crash before it is recorded on the period repeats the notice, which is given once. */
async function notify(
  { store, by, now, onDebitedTwice }: CollectionOptions,
  period: FeePeriod,
  both: readonly [settled: Payment, other: Payment],
): Promise<void> {
  const { feePeriodId, organizationId, originatorId, year, month } = period;
  const subject = {
    ...{ feePeriodId, organizationId, originatorId, year, month },
    amountMinor: feesDueMinor(period),
    collections: both.map(({ paymentId, railReference }) => ({
      collectionId: paymentId,
      railReference,
    })),
  };
  const given = await repository(store, operatorNotice).create(
    `feesDebitedTwice-${both[0].paymentId}`,
    {
      type: 'GiveOperatorNotice',
      at: now().toISOString(),
      data: { notice: 'fees debited twice', subject },
    },
    by,
  );
  if (!('refused' in given)) onDebitedTwice(subject);
}
