/**
 * Fees: the periods that were closed, and the collections. The tables find what is left to do. What is done is decided
 * on the streams.
 */
import {
  collection,
  feePeriod,
  type FeePeriodEvent,
  type FeePeriodStatus,
  feesDueMinor,
  isTransition,
  type PaymentStatus,
  statusAfter,
  unreachable,
} from '@pis/domain';
import { domainEventOf } from '@pis/event-store';
import { laterPrefixesOf, prefixesFollowedBy } from './projected-streams.js';
import { type Projection, readTable, type ReadTableDefinition } from './projection.js';

type FeePeriodRow = {
  readonly feePeriodId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly year: number;
  readonly month: number;
  /** Texts when they were read from the table. */
  readonly discountFeeMinor: number | string;
  readonly flatFeeMinor: number | string;
  readonly returnFeeMinor: number | string;
  readonly status: FeePeriodStatus;
  readonly collectionId: string | null;
  /** When RETRYING ends. GIVEN_UP: since when staff have to be told; null once they were. */
  readonly nextAttemptAt: string | null;
  readonly closedAt: string;
  /** When staff were told of it the last time. */
  readonly debitedTwiceAt: string | null;
  readonly revision: number;
};

function afterPeriodEvent(
  row: FeePeriodRow | null,
  event: FeePeriodEvent,
): Omit<FeePeriodRow, 'revision'> {
  if (event.type === 'FeePeriodClosed') {
    const { feePeriodId, organizationId, originatorId, year, month } = event.data;
    const { discountFeeMinor, flatFeeMinor, returnFeeMinor } = event.data;
    return {
      ...{ feePeriodId, organizationId, originatorId, year, month },
      ...{ discountFeeMinor, flatFeeMinor, returnFeeMinor },
      status: feesDueMinor(event.data) === 0 ? 'FREE' : 'DUE',
      ...{ collectionId: null, nextAttemptAt: null, closedAt: event.at, debitedTwiceAt: null },
    };
  }
  if (row === null) throw new Error('the first event of a fee period closes it');
  switch (event.type) {
    case 'FeeCollectionStarted': {
      const { collectionId } = event.data;
      return { ...row, status: 'COLLECTING', collectionId, nextAttemptAt: null };
    }
    case 'FeesCollected': {
      // Of an earlier collection, when the bank has settled that one after all.
      const { collectionId } = event.data;
      return { ...row, status: 'COLLECTED', collectionId, nextAttemptAt: null };
    }
    case 'FeesDebitedTwice':
      return { ...row, debitedTwiceAt: event.at };
    case 'FeeCollectionReturned':
      return { ...row, status: 'RETRYING', nextAttemptAt: event.data.nextAttemptAt };
    case 'FeeCollectionFailed': {
      const { nextAttemptAt } = event.data;
      return nextAttemptAt === undefined ? row : { ...row, status: 'RETRYING', nextAttemptAt };
    }
    case 'FeePeriodGivenUp':
      return { ...row, status: 'GIVEN_UP', nextAttemptAt: event.at };
    case 'FeePeriodStaffTold':
      return { ...row, nextAttemptAt: null };
    case 'FeePeriodReopened':
      return { ...row, status: 'DUE', nextAttemptAt: null };
    default:
      return unreachable(event);
  }
}

const feePeriodsTable: ReadTableDefinition<FeePeriodRow> = {
  name: 'fee_periods',
  key: 'feePeriodId',
  ownsStream: true,
  columns: {
    feePeriodId: 'uuid',
    organizationId: 'uuid',
    originatorId: 'uuid',
    year: 'integer',
    month: 'integer',
    discountFeeMinor: 'bigint',
    flatFeeMinor: 'bigint',
    returnFeeMinor: 'bigint',
    status: 'text',
    collectionId: 'uuid',
    nextAttemptAt: 'timestamptz(3)',
    closedAt: 'timestamptz(3)',
    debitedTwiceAt: 'timestamptz(3)',
    revision: 'integer',
  },
  category: 'feePeriod',
  begins: ({ revision }) => revision === 0,
  evolve: (row, recorded) => afterPeriodEvent(row, domainEventOf(feePeriod, recorded)),
};

type FeeCollectionRow = {
  readonly collectionId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly amountMinor: number | string;
  readonly status: PaymentStatus;
  /** Whether it ever was FAILED_IN_FLIGHT: only such a one is settled after its period has gone on without it. */
  readonly wasInFlight: boolean;
  readonly createdAt: string;
  readonly revision: number;
};

const feeCollectionsTable: ReadTableDefinition<FeeCollectionRow> = {
  name: 'fee_collections',
  key: 'collectionId',
  ownsStream: true,
  columns: {
    collectionId: 'uuid',
    organizationId: 'uuid',
    originatorId: 'uuid',
    amountMinor: 'bigint',
    status: 'text',
    wasInFlight: 'boolean',
    createdAt: 'timestamptz(3)',
    revision: 'integer',
  },
  category: 'collection',
  begins: ({ revision }) => revision === 0,
  evolve(row, recorded) {
    const event = domainEventOf(collection, recorded);
    if (row === null) {
      if (event.type !== 'PaymentQueued') throw new Error('a collection begins in the queue');
      const { paymentId, organizationId, originatorId, amountMinor } = event.data;
      return {
        ...{ collectionId: paymentId, organizationId, originatorId, amountMinor },
        ...{ status: statusAfter[event.type], wasInFlight: false, createdAt: event.at },
      };
    }
    if (!isTransition(event)) return row;
    const status = statusAfter[event.type];
    // An earlier release writes the status alone.
    const wasInFlight = row.wasInFlight || [row.status, status].includes('FAILED_IN_FLIGHT');
    return { ...row, status, wasInFlight };
  },
};

export const feesProjection: Projection = {
  name: 'fees',
  streamPrefixes: prefixesFollowedBy('fees'),
  laterPrefixes: laterPrefixesOf('fees'),
  tables: [readTable(feePeriodsTable), readTable(feeCollectionsTable)],
  // Nobody waits for it.
  restMs: 500,
};
