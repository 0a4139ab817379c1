/**
 * Collects one fee period: the next step that its stream and the stream of its collection call for. Each step may be
 * repeated after a crash, and by two collectors at once: appends are made at the revision that was read, and the
 * collection has an ID that follows from the period.
 */
import { settlementAccountToCollect, type SettlementAccountMissing } from '@pis/commands';
import {
  collection as collections,
  collectionSentBefore,
  currentCollectionId,
  type FeePeriod,
  feePeriod as feePeriods,
  type FeePeriodCommand,
  feesDueMinor,
  isRefusal,
  operatorNotice,
  type PaymentBlock,
  unreachable,
} from '@pis/domain';
import { type EventStore, type Loaded, repository, WrongExpectedRevision } from '@pis/event-store';
import { KeyDestroyed } from '@pis/keyring';
import type { CollectionOptions } from './collection-options.js';
import { afterLateSettlement, settledBeside } from './late-settlement.js';
import { giveUp, originatorOf, queueCommand } from './new-collection.js';
import { collectionOfFreeMonth, freeMonthText, nextCollectionId } from './next-collection.js';

type LoadedPeriod = Loaded<FeePeriod | null>;

/** More than any period needs at once. Each conflict with another collector takes one, too. */
const stepsMax = 20;

/**
 * Takes steps until there is nothing to do now. Returns the period, or why nothing can be collected.
 * @throws StoreUnavailable
 */
export async function collectPeriod(
  options: CollectionOptions,
  feePeriodId: string,
): Promise<FeePeriod | SettlementAccountMissing> {
  const periods = repository(options.store, feePeriods);
  for (let steps = 0; steps < stepsMax; steps += 1) {
    const loaded = await periods.load(feePeriodId);
    const { state } = loaded;
    if (state === null) throw new Error(`there is no fee period ${feePeriodId}`);
    const command = await nextCommand(options, state);
    if (command === null) return state;
    if ('refused' in command) return command;
    await record(options, loaded, state, command);
  }
  throw new Error(`fee period ${feePeriodId} did not come to rest`);
}

/** Null when there is nothing to do now. */
async function nextCommand(
  options: CollectionOptions,
  period: FeePeriod,
): Promise<FeePeriodCommand | SettlementAccountMissing | null> {
  const at = options.now().toISOString();
  const settled = await settledBeside(options.store, period);
  if (settled.length > 0) {
    const command = await afterLateSettlement(options, period, settled, at);
    if (command !== 'as before') return command;
  }
  switch (period.status) {
    case 'FREE':
      return null;
    case 'GIVEN_UP':
      return afterGivingUp(options, period, at);
    case 'RETRYING':
      if (period.nextAttemptAt === null || at < period.nextAttemptAt) return null;
      return startCommand(options, period, at);
    case 'DUE':
      return startCommand(options, period, at);
    case 'COLLECTING':
    case 'COLLECTED':
      return outcomeCommand(options, period, at);
    default:
      return unreachable(period.status);
  }
}

async function startCommand(
  options: CollectionOptions,
  period: FeePeriod,
  at: string,
): Promise<FeePeriodCommand | SettlementAccountMissing | null> {
  const account = await settlementAccountToCollect(options.store, options.environment, options);
  if ('refused' in account) return account;
  const { erasure } = await originatorOf(options, period);
  // The erasure is being checked: it goes on or is withdrawn.
  if (erasure === 'requested') return null;
  if (erasure !== null) return giveUp(at, 'ORIGINATOR_ERASED');
  if ((await collectionOfFreeMonth(options.sources, period)) !== null)
    return giveUp(at, 'SENT_BEFORE');
  const collectionId = await nextCollectionId(options.sources.pool, period);
  return { type: 'StartFeeCollection', at, data: { collectionId } };
}

/** Creates the collection if it is missing, and says what has become of it. */
async function outcomeCommand(
  options: CollectionOptions,
  period: FeePeriod,
  at: string,
): Promise<FeePeriodCommand | SettlementAccountMissing | null> {
  const collectionId = currentCollectionId(period);
  if (collectionId === null) throw new Error('a collection is under way without its ID');
  const { state } = await repository(options.store, collections).load(collectionId);
  if (state === null) return create(options, period, collectionId, at);
  switch (state.status) {
    case 'COMPLETED':
      if (period.status === 'COLLECTED') return null;
      return { type: 'RecordFeesCollected', at, data: { collectionId } };
    case 'RETURNED': {
      const { returnReasonCode } = state;
      return { type: 'RecordFeesReturned', at, data: { collectionId, returnReasonCode } };
    }
    case 'FAILED':
    case 'BLOCKED': {
      const isUnsent = state.railReference === null;
      const isSentBefore =
        state.status === 'BLOCKED' && (await sentBefore(options.store, collectionId)) !== null;
      const data = { collectionId, status: state.status, isUnsent, isSentBefore };
      return { type: 'RecordFeesFailed', at, data };
    }
    case 'FAILED_IN_FLIGHT': {
      // It keeps this status when the bank rejects it late, as a payment does.
      if (state.lateRejection === null) return null;
      const data = { collectionId, status: state.status, isUnsent: false } as const;
      return { type: 'RecordFeesFailed', at, data };
    }
    case 'QUEUED':
    case 'PROCESSING':
    case 'AWAITING_CONFIRMATION':
    case 'CANCELED':
      return null;
    default:
      return unreachable(state.status);
  }
}

/** Why a collection was blocked as sent before the log was restored; null when it was not. */
async function sentBefore(store: EventStore, collectionId: string): Promise<PaymentBlock | null> {
  const events = await store.readStream(repository(store, collections).streamIdOf(collectionId));
  const blocked = events.find(({ type }) => type === 'PaymentBlocked');
  const block = blocked?.data as PaymentBlock | undefined;
  return block?.rules?.includes(collectionSentBefore) === true ? block : null;
}

/** Staff are told, once. */
async function afterGivingUp(
  options: CollectionOptions,
  period: FeePeriod,
  at: string,
): Promise<FeePeriodCommand | null> {
  if (period.isTold) return null;
  await notify(options, period);
  return { type: 'RecordStaffTold', at, data: {} };
}

async function create(
  options: CollectionOptions,
  period: FeePeriod,
  collectionId: string,
  at: string,
): Promise<FeePeriodCommand | SettlementAccountMissing | null> {
  const command = await queueCommand(options, period, { collectionId, at });
  if (command === null || 'refused' in command) return command;
  if (command.type !== 'QueuePayment') return command;
  try {
    const repo = repository(options.store, collections);
    const created = await repo.create(collectionId, command, options.by);
    // Another collector has created it: that one is the collection.
    const isThere = 'refused' in created && created.refused === 'PAYMENT_ALREADY_EXISTS';
    if ('refused' in created && !isThere)
      throw new Error(`the collection ${collectionId} was refused: ${created.refused}`);
  } catch (error) {
    if (!(error instanceof KeyDestroyed)) throw error;
    return giveUp(at, 'ORIGINATOR_ERASED');
  }
  return null;
}

async function record(
  options: CollectionOptions,
  loaded: LoadedPeriod,
  period: FeePeriod,
  command: FeePeriodCommand,
): Promise<void> {
  const decision = feePeriods.decide(command, period);
  if (isRefusal(decision))
    throw new Error(`fee period ${period.feePeriodId}: ${command.type}: ${decision.refused}`);
  try {
    const { feePeriodId } = period;
    await repository(options.store, feePeriods).append(feePeriodId, loaded, decision, options.by);
  } catch (error) {
    // Another collector was first: the next step looks at what it did.
    if (!(error instanceof WrongExpectedRevision)) throw error;
  }
}

/** Which collection the bank may have debited before the log was restored, and why we think so. */
async function debitedBefore(
  { store, sources }: Pick<CollectionOptions, 'store' | 'sources'>,
  period: FeePeriod,
): Promise<{ readonly collectionId?: string; readonly reasons?: readonly string[] }> {
  const ofFreeMonth = await collectionOfFreeMonth(sources, period);
  if (ofFreeMonth !== null)
    return { collectionId: ofFreeMonth.collectionId, reasons: [freeMonthText(ofFreeMonth)] };
  const collectionId = currentCollectionId(period);
  const block = collectionId === null ? null : await sentBefore(store, collectionId);
  return block === null || collectionId === null
    ? {}
    : { collectionId, reasons: block.reasons ?? [] };
}

/**
 * The stream of the period says that it was given up: nobody is told of what another collector has decided otherwise.
 * A crash before it is recorded repeats the notice, which is given once.
 */
async function notify(
  { store, sources, by, now, onGivenUp }: CollectionOptions,
  period: FeePeriod,
): Promise<void> {
  const { feePeriodId, organizationId, originatorId, year, month } = period;
  const { givenUp: cause, timesGivenUp } = period;
  const before = cause === 'SENT_BEFORE' ? await debitedBefore({ store, sources }, period) : {};
  const subject = {
    ...{ feePeriodId, organizationId, originatorId, year, month, cause },
    ...before,
    amountMinor: feesDueMinor(period),
  };
  const given = await repository(store, operatorNotice).create(
    `feesNotCollected-${feePeriodId}${timesGivenUp > 1 ? `-${timesGivenUp}` : ''}`,
    {
      type: 'GiveOperatorNotice',
      at: now().toISOString(),
      data: { notice: 'fees not collected', subject },
    },
    by,
  );
  if (!('refused' in given)) onGivenUp(subject);
}
