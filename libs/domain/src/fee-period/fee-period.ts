/**
 * Fee period: the fees of an originator for one month, and their collection. One stream for each originator and month.
 *
 *   (none) ──► FREE                       nothing is due
 *     ▼
 *    DUE ──────► COLLECTING ──► COLLECTED
 *     │            ▲  │  │          │
 *     │            │  │  └────┬─────┘ returned, or not sent
 *     ▼            │  ▼       ▼
 *  GIVEN_UP ◄──────┼──┴── (policy) ──► RETRYING
 *                  └──────────────────────┘
 *
 * Staff are told of each period that is GIVEN_UP. They may reopen it, which makes it DUE again.
 *
 * The bank may settle a collection that it has rejected before, in any status. The period is then COLLECTED by it, unless
 * a later collection has been sent. Then both debits stand, and staff are told.
 *
 * What always holds: a period is closed once and its sums never change; each collection has an ID that follows from the
 * period and the attempt, so it exists once; and a new one starts only after the one before
 * it was returned or failed.
 */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import { assertRecord, type FeePeriodRecord, feesDueMinor } from './fee-period-record.js';
import { collectionsMax, isRetryInTime, retryAt, retryUnsentAt } from './retry-policy.js';

export type GiveUpCause =
  /** The bank returned the collection, and policy does not present it again. */
  | 'RETURNED'
  /** The collection failed or was blocked: no money was moved. */
  | 'NOT_SENT'
  /** It was blocked or did not start, because the bank may have debited the fees before the log was restored. */
  | 'SENT_BEFORE'
  /** The originator was erased, or is being erased: there is no account to debit. */
  | 'ORIGINATOR_ERASED'
  /** More than an ACH entry can hold. */
  | 'AMOUNT_TOO_LARGE'
  /** The last return came so late that the collection may not be presented again. */
  | 'TOO_LATE';

interface OfCollection {
  readonly collectionId: string;
}

interface CollectedBy extends OfCollection {
  /** A later collection that is not sent any more: this one was settled after all. */
  readonly withdrawnId?: string;
}

interface DebitedTwice extends OfCollection {
  readonly otherId: string;
}

export type FeePeriodEvent =
  | DomainEvent<'FeePeriodClosed', FeePeriodRecord>
  | DomainEvent<'FeeCollectionStarted', OfCollection & { readonly amountMinor: number }>
  | DomainEvent<'FeesCollected', CollectedBy>
  /** Staff were told that the bank has settled a collection beside another one that was sent. */
  | DomainEvent<'FeesDebitedTwice', DebitedTwice>
  | DomainEvent<
      'FeeCollectionReturned',
      OfCollection & {
        readonly returnReasonCode: string | null;
        /** When it is tried again; null when it is not. */
        readonly nextAttemptAt: string | null;
      }
    >
  | DomainEvent<
      'FeeCollectionFailed',
      OfCollection & {
        readonly status: FailedCollectionStatus;
        /** Of a collection that was not sent: when the next one may start; null when there is none. */
        readonly nextAttemptAt?: string | null;
      }
    >
  | DomainEvent<'FeePeriodGivenUp', { readonly cause: GiveUpCause }>
  /** Staff were told that the fees were not collected. */
  | DomainEvent<'FeePeriodStaffTold', Record<string, never>>
  /** Staff want the fees to be collected after all. Who did it is in the metadata. */
  | DomainEvent<'FeePeriodReopened', Record<string, never>>;

/** FAILED_IN_FLIGHT: the bank has rejected it after its normal time. */
export type FailedCollectionStatus = 'FAILED' | 'BLOCKED' | 'FAILED_IN_FLIGHT';

export const feePeriodStatuses = [
  'FREE',
  'DUE',
  'COLLECTING',
  'COLLECTED',
  'RETRYING',
  'GIVEN_UP',
] as const;
export type FeePeriodStatus = (typeof feePeriodStatuses)[number];

export interface FeePeriod extends FeePeriodRecord {
  readonly status: FeePeriodStatus;
  readonly closedAt: string;
  readonly collections: readonly StartedCollection[];
  /** By which collection the fees were collected the last time; null before that. */
  readonly collectedBy: string | null;
  /** Collections that were settled beside another one, as staff know. */
  readonly debitedTwice: readonly string[];
  /** The number of collections before the period was last reopened: the policy does not count those. */
  readonly reopenedAfter: number;
  /** Null unless RETRYING. */
  readonly nextAttemptAt: string | null;
  readonly returnReasonCode: string | null;
  readonly givenUp: GiveUpCause | null;
  /** How often it was given up. */
  readonly timesGivenUp: number;
  /** Whether staff know that it was given up the last time. */
  readonly isTold: boolean;
  /** Whether staff have said that the bank has not debited, or has given back, what it had before the log was restored. */
  readonly isVouchedFor: boolean;
}

export interface StartedCollection extends OfCollection {
  readonly startedAt: string;
  /** Whether it failed before it was sent: the bank has not seen it. */
  readonly isUnsent: boolean;
}
export type FeePeriodState = FeePeriod | null;

export type FeePeriodCommand =
  | DomainCommand<'CloseFeePeriod', FeePeriodRecord>
  /** The ID follows from the period and the number of collections before. */
  | DomainCommand<'StartFeeCollection', OfCollection>
  | DomainCommand<'RecordFeesCollected', CollectedBy>
  | DomainCommand<'RecordFeesDebitedTwice', DebitedTwice>
  | DomainCommand<'RecordFeesReturned', OfCollection & { readonly returnReasonCode: string | null }>
  | DomainCommand<
      'RecordFeesFailed',
      OfCollection & {
        readonly status: FailedCollectionStatus;
        readonly isUnsent: boolean;
        /** A connection has a record of it from before the log was restored. */
        readonly isSentBefore?: boolean;
      }
    >
  | DomainCommand<'GiveUpFeePeriod', { readonly cause: GiveUpCause }>
  | DomainCommand<'RecordStaffTold', Record<string, never>>
  /** After SENT_BEFORE staff must say that the bank has not debited it, or has given it back. */
  | DomainCommand<'ReopenFeePeriod', { readonly isNotDebited?: boolean }>;

export type FeePeriodRefusal =
  | 'FEE_PERIOD_ALREADY_CLOSED'
  | 'FEE_PERIOD_NOT_FOUND'
  | 'NOT_ALLOWED_IN_STATUS'
  | 'OTHER_COLLECTION'
  | 'COLLECTION_SENT_BEFORE'
  | 'TOO_EARLY';

/** The largest amount of an ACH entry: ten digits of cents. */
export const collectionAmountMaxMinor = 9_999_999_999;

function decide(
  command: FeePeriodCommand,
  state: FeePeriodState,
): Decision<FeePeriodEvent, FeePeriodRefusal> {
  const { at } = command;
  if (command.type === 'CloseFeePeriod') {
    if (state !== null) return { refused: 'FEE_PERIOD_ALREADY_CLOSED' };
    assertRecord(command.data);
    return [{ type: 'FeePeriodClosed', at, data: command.data }];
  }
  if (state === null) return { refused: 'FEE_PERIOD_NOT_FOUND' };
  switch (command.type) {
    case 'StartFeeCollection':
      return start(command, state);
    case 'RecordFeesCollected': {
      const { collectionId } = command.data;
      // An earlier one, too: the bank may settle a collection that it has rejected before.
      if (!hasStarted(state, collectionId)) return { refused: 'OTHER_COLLECTION' };
      if (state.status === 'COLLECTED' && state.collectedBy === collectionId) return [];
      return [{ type: 'FeesCollected', at, data: command.data }];
    }
    case 'RecordFeesDebitedTwice': {
      const { collectionId, otherId } = command.data;
      const areOfPeriod = hasStarted(state, collectionId) && hasStarted(state, otherId);
      if (!areOfPeriod || collectionId === otherId) return { refused: 'OTHER_COLLECTION' };
      if (state.debitedTwice.includes(collectionId)) return [];
      return [{ type: 'FeesDebitedTwice', at, data: command.data }];
    }
    case 'RecordFeesReturned':
      return returned(command, state);
    case 'RecordFeesFailed':
      return failed(command, state);
    case 'GiveUpFeePeriod':
      if (state.status === 'GIVEN_UP') return [];
      if (state.status === 'FREE' || state.status === 'COLLECTED')
        return { refused: 'NOT_ALLOWED_IN_STATUS' };
      return [{ type: 'FeePeriodGivenUp', at, data: command.data }];
    case 'RecordStaffTold':
      if (state.status !== 'GIVEN_UP' || state.isTold) return [];
      return [{ type: 'FeePeriodStaffTold', at, data: {} }];
    case 'ReopenFeePeriod':
      return reopen(command, state);
    default:
      return unreachable(command);
  }
}

function start(
  { at, data }: Extract<FeePeriodCommand, { type: 'StartFeeCollection' }>,
  state: FeePeriod,
): Decision<FeePeriodEvent, FeePeriodRefusal> {
  const { status, nextAttemptAt } = state;
  const presented = presentedIn(state);
  if (status === 'COLLECTING')
    return isLast(state, data) ? [] : { refused: 'NOT_ALLOWED_IN_STATUS' };
  if (status !== 'DUE' && status !== 'RETRYING') return { refused: 'NOT_ALLOWED_IN_STATUS' };
  if (hasStarted(state, data.collectionId)) return { refused: 'OTHER_COLLECTION' };
  const [first] = presented;
  if (nextAttemptAt !== null && at < nextAttemptAt) return { refused: 'TOO_EARLY' };
  const givenUp = (cause: GiveUpCause): readonly FeePeriodEvent[] => [
    { type: 'FeePeriodGivenUp', at, data: { cause } },
  ];
  if (presented.length >= collectionsMax) return givenUp('RETURNED');
  if (first !== undefined && !isRetryInTime(first.startedAt, at)) return givenUp('TOO_LATE');
  const amountMinor = feesDueMinor(state);
  if (amountMinor > collectionAmountMaxMinor) return givenUp('AMOUNT_TOO_LARGE');
  const { collectionId } = data;
  return [{ type: 'FeeCollectionStarted', at, data: { collectionId, amountMinor } }];
}

function returned(
  { at, data }: Extract<FeePeriodCommand, { type: 'RecordFeesReturned' }>,
  state: FeePeriod,
): Decision<FeePeriodEvent, FeePeriodRefusal> {
  if (currentCollectionId(state) !== data.collectionId) return { refused: 'OTHER_COLLECTION' };
  const { status } = state;
  const presented = presentedIn(state);
  if (status !== 'COLLECTING' && status !== 'COLLECTED') return [];
  const { collectionId, returnReasonCode } = data;
  const nextAttemptAt = retryAt({
    ...{ returnReasonCode, at, collections: presented.length },
    firstAt: presented[0]?.startedAt ?? at,
  });
  const event: FeePeriodEvent = {
    type: 'FeeCollectionReturned',
    at,
    data: { collectionId, returnReasonCode, nextAttemptAt },
  };
  return nextAttemptAt === null
    ? [event, { type: 'FeePeriodGivenUp', at, data: { cause: 'RETURNED' } }]
    : [event];
}

function failed(
  { at, data }: Extract<FeePeriodCommand, { type: 'RecordFeesFailed' }>,
  state: FeePeriod,
): Decision<FeePeriodEvent, FeePeriodRefusal> {
  if (!isLast(state, data)) return { refused: 'OTHER_COLLECTION' };
  if (state.status !== 'COLLECTING') return [];
  const { collectionId, status, isUnsent, isSentBefore = false } = data;
  const cause = isSentBefore ? 'SENT_BEFORE' : 'NOT_SENT';
  const givenUp: FeePeriodEvent = { type: 'FeePeriodGivenUp', at, data: { cause } };
  // Staff look at what a review has blocked, and at what the bank has refused.
  if (!isUnsent || status !== 'FAILED')
    return [{ type: 'FeeCollectionFailed', at, data: { collectionId, status } }, givenUp];
  const unsentBefore = countedIn(state).length - presentedIn(state).length;
  const nextAttemptAt = retryUnsentAt(at, unsentBefore + 1);
  const event: FeePeriodEvent = {
    type: 'FeeCollectionFailed',
    at,
    data: { collectionId, status, nextAttemptAt },
  };
  return nextAttemptAt === null ? [event, givenUp] : [event];
}

/** A period that is not given up has nothing to reopen: it is collected, or on its way. */
function reopen(
  { at, data }: Extract<FeePeriodCommand, { type: 'ReopenFeePeriod' }>,
  { status, givenUp }: FeePeriod,
): Decision<FeePeriodEvent, FeePeriodRefusal> {
  if (status !== 'GIVEN_UP') return [];
  if (givenUp === 'ORIGINATOR_ERASED' || givenUp === 'AMOUNT_TOO_LARGE')
    return { refused: 'NOT_ALLOWED_IN_STATUS' };
  if (givenUp === 'SENT_BEFORE' && data.isNotDebited !== true)
    return { refused: 'COLLECTION_SENT_BEFORE' };
  return [{ type: 'FeePeriodReopened', at, data: {} }];
}

/** The collections that the policy counts. */
function countedIn({ collections, reopenedAfter }: FeePeriod): readonly StartedCollection[] {
  return collections.slice(reopenedAfter);
}

/** Those of them that the bank has seen, or will see. */
function presentedIn(state: FeePeriod): readonly StartedCollection[] {
  return countedIn(state).filter(({ isUnsent }) => !isUnsent);
}

/**
 * The returned collection whose entry this one presents again; null if the bank sees the debit for the first time. What
 * staff start after the period was given up is a debit of its own, on which they have agreed with the client.
 */
export function reinitiatedBy(period: FeePeriod, collectionId: string): string | null {
  const before = presentedIn(period).filter((one) => one.collectionId !== collectionId);
  return before.at(-1)?.collectionId ?? null;
}

/** The collection that the status is about; null before the first one. */
export function currentCollectionId(period: FeePeriod): string | null {
  const { status, collectedBy, collections } = period;
  return status === 'COLLECTED' ? collectedBy : (collections.at(-1)?.collectionId ?? null);
}

function hasStarted({ collections }: FeePeriod, id: string): boolean {
  return collections.some(({ collectionId }) => collectionId === id);
}

function unsent(
  collections: readonly StartedCollection[],
  id: string | undefined,
): readonly StartedCollection[] {
  return collections.map((one) => (one.collectionId === id ? { ...one, isUnsent: true } : one));
}

function isLast({ collections }: FeePeriod, { collectionId }: OfCollection): boolean {
  return collections.at(-1)?.collectionId === collectionId;
}

function evolve(state: FeePeriodState, event: FeePeriodEvent): FeePeriodState {
  if (event.type === 'FeePeriodClosed') {
    const status = feesDueMinor(event.data) === 0 ? 'FREE' : 'DUE';
    const nothing = { nextAttemptAt: null, returnReasonCode: null, givenUp: null } as const;
    const never = { reopenedAfter: 0, timesGivenUp: 0, isTold: false, isVouchedFor: false };
    const collected = { collections: [], collectedBy: null, debitedTwice: [] } as const;
    return { ...event.data, status, closedAt: event.at, ...collected, ...nothing, ...never };
  }
  if (state === null) throw new Error('the first event of a fee period closes it');
  switch (event.type) {
    case 'FeeCollectionStarted': {
      const { collectionId } = event.data;
      const collection = { collectionId, startedAt: event.at, isUnsent: false };
      const collections = [...state.collections, collection];
      return { ...state, status: 'COLLECTING', collections, nextAttemptAt: null };
    }
    case 'FeesCollected': {
      const { collectionId: collectedBy, withdrawnId } = event.data;
      const collections = unsent(state.collections, withdrawnId);
      // An earlier one counts again: if it comes back, it is presented again as if the period had not been reopened.
      const index = collections.findIndex(({ collectionId }) => collectionId === collectedBy);
      const reopenedAfter = Math.min(state.reopenedAfter, index);
      const ended = { nextAttemptAt: null, givenUp: null, reopenedAfter } as const;
      return { ...state, status: 'COLLECTED', collections, collectedBy, ...ended };
    }
    case 'FeesDebitedTwice':
      return { ...state, debitedTwice: [...state.debitedTwice, event.data.collectionId] };
    case 'FeeCollectionReturned': {
      const { nextAttemptAt, returnReasonCode } = event.data;
      return { ...state, status: 'RETRYING', nextAttemptAt, returnReasonCode };
    }
    case 'FeeCollectionFailed': {
      const { collectionId, nextAttemptAt } = event.data;
      if (nextAttemptAt === undefined) return state;
      const collections = unsent(state.collections, collectionId);
      return { ...state, status: 'RETRYING', collections, nextAttemptAt };
    }
    case 'FeePeriodGivenUp': {
      const givenUp = event.data.cause;
      const timesGivenUp = state.timesGivenUp + 1;
      const isTold = false;
      return { ...state, status: 'GIVEN_UP', nextAttemptAt: null, givenUp, timesGivenUp, isTold };
    }
    case 'FeePeriodStaffTold':
      return { ...state, isTold: true };
    case 'FeePeriodReopened': {
      const reopenedAfter = state.collections.length;
      const isVouchedFor = state.isVouchedFor || state.givenUp === 'SENT_BEFORE';
      const ended = { givenUp: null, returnReasonCode: null } as const;
      return { ...state, status: 'DUE', reopenedAfter, isVouchedFor, ...ended };
    }
    default:
      return unreachable(event);
  }
}

export const feePeriod: Aggregate<
  FeePeriodState,
  FeePeriodCommand,
  FeePeriodEvent,
  FeePeriodRefusal
> = {
  category: 'feePeriod',
  initial: null,
  decide,
  evolve,
  schemaVersions: {
    FeePeriodClosed: 1,
    FeeCollectionStarted: 1,
    FeesCollected: 1,
    FeesDebitedTwice: 1,
    FeeCollectionReturned: 1,
    FeeCollectionFailed: 1,
    FeePeriodGivenUp: 1,
    FeePeriodStaffTold: 1,
    FeePeriodReopened: 1,
  },
};
