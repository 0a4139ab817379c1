/**
 * The lines of a statement, in the order of time: movements of money, merged with the payments that changed without
 * moving any. Holds a page of each in memory.
 */
import {
  type Payment,
  type PaymentParty,
  returnAmountsOf,
  streamIdOf,
  transferAmountMinor,
  unreachable,
} from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import {
  type ActivityCutoff,
  type ActivityOwner,
  type ActivityWindow,
  type Movement,
  movementPages,
  type StillPayment,
  stillPayments,
} from '@pis/read-models';
import type pg from 'pg';
import type { StatementLine } from '../content.js';
import { type Moment, pastPayments } from './past-states.js';

export interface LinesOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly owner: ActivityOwner;
  readonly window: ActivityWindow;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** Streams in one read. */
const pageMax = 200;

export function statementLines(options: LinesOptions): AsyncGenerator<StatementLine> {
  return merged(movedLines(options), stillLines(options));
}

function momentOf({ window: { to, through } }: LinesOptions): Moment {
  return { before: to, through };
}

async function* movedLines(options: LinesOptions): AsyncGenerator<StatementLine> {
  const { store, pool, owner, window, signal } = options;
  const { to, through, after } = window;
  const filter = { ...owner, to, through, unless: after ?? undefined };
  for await (const page of movementPages(pool, filter, { limit: pageMax })) {
    signal.throwIfAborted();
    const states = await pastPayments(store, page.map(streamOf), momentOf(options));
    for (const movement of page) {
      const state = states.get(streamOf(movement));
      if (state === undefined) throw new Error('a movement without its transfer');
      yield lineOf(movement, state, window);
    }
  }
}

function streamOf({ paymentId, collectionId }: Movement): string {
  if (paymentId !== null) return streamIdOf('payment', paymentId);
  return streamIdOf('collection', collectionId ?? '');
}

function lineOf(movement: Movement, state: Payment, window: ActivityCutoff): StatementLine {
  const { kind, at, side, amountMinor } = movement;
  const collected = { at, collectionId: state.paymentId, amountMinor };
  switch (kind) {
    case 'transfer':
      return {
        ...{ kind: 'payment', at, side, amountMinor, ...factsOf(state) },
        ...endOf(state, window),
        feeMinor: state.discountFeeMinor + state.flatFeeMinor,
      };
    case 'return':
      return {
        ...{ kind, at, side, amountMinor, ...factsOf(state), feeMinor: state.returnFeeMinor },
        ...{ isLater: false, completedAt: completionOf(state) },
        returnReasonCode: state.returnReasonCode,
        keptMinor: returnAmountsOf(state)?.keptMinor ?? 0,
      };
    case 'later_return':
      return {
        // The fee was charged for the first return.
        ...{ kind: 'return', at, side, amountMinor, ...factsOf(state), feeMinor: 0 },
        ...{ isLater: true, completedAt: completionOf(state) },
        returnReasonCode: movement.returnReasonCode,
        keptMinor: 0,
      };
    case 'collection':
      return { kind, ...collected, ...feesMonthOf(state) };
    case 'collection_return': {
      const { returnReasonCode } = state;
      return { kind, ...collected, ...feesMonthOf(state), returnReasonCode };
    }
    default:
      return unreachable(kind);
  }
}

async function* stillLines(options: LinesOptions): AsyncGenerator<StatementLine> {
  const { store, pool, owner, window, signal } = options;
  const streamOfStill = ({ paymentId }: StillPayment) => streamIdOf('payment', paymentId);
  for await (const page of stillPayments(pool, owner, window, pageMax)) {
    signal.throwIfAborted();
    const states = await pastPayments(store, page.map(streamOfStill), momentOf(options));
    for (const still of page) {
      const state = states.get(streamOfStill(still));
      if (state === undefined) throw new Error('activity without its payment');
      yield {
        ...{ kind: 'payment', at: still.at, side: null, ...factsOf(state), feeMinor: 0 },
        ...{ amountMinor: transferAmountMinor(state) },
        ...endOf(state, window),
      };
    }
  }
}

function completionOf({ completedAt }: Payment): Date | null {
  return completedAt === null ? null : new Date(completedAt);
}

/** What has become of a payment at the end of the period. */
function endOf({ direction, status, lateRejection }: Payment, { endsRejected }: ActivityCutoff) {
  const isRejected = endsRejected && status === 'FAILED_IN_FLIGHT' && lateRejection !== null;
  return { direction, status: isRejected ? ('REJECTED' as const) : status };
}

function factsOf({ paymentId, externalPaymentId, contact, link }: Payment) {
  return { paymentId, externalPaymentId, counterparty: nameOf(contact ?? link?.holder ?? null) };
}

type Named = Pick<PaymentParty, 'firstName' | 'lastName' | 'companyName'>;

/** Null for nobody, and for a person who was erased. */
export function nameOf(party: Named | null): string | null {
  if (party === null) return null;
  const { companyName, firstName, lastName } = party;
  const name = companyName ?? [firstName, lastName].filter((part) => part !== null).join(' ');
  return name === '' ? null : name;
}

/** The note of a collection names the month of its fees: "Fees 2026-10". */
const feesNote = /(\d{4})-(\d{2})$/;

function feesMonthOf({ paymentNote, createdAt }: Payment) {
  const [, year, month] = feesNote.exec(paymentNote ?? '') ?? [];
  if (year !== undefined && month !== undefined)
    return { feesYear: Number(year), feesMonth: Number(month) };
  const created = new Date(createdAt);
  return { feesYear: created.getUTCFullYear(), feesMonth: created.getUTCMonth() + 1 };
}

/** Two sequences in the order of time as one. */
async function* merged(
  one: AsyncGenerator<StatementLine>,
  other: AsyncGenerator<StatementLine>,
): AsyncGenerator<StatementLine> {
  try {
    let [a, b] = [await one.next(), await other.next()];
    while (a.done !== true || b.done !== true) {
      const isFirst = b.done === true || (a.done !== true && a.value.at <= b.value.at);
      if (isFirst && a.done !== true) {
        yield a.value;
        a = await one.next();
      } else if (b.done !== true) {
        yield b.value;
        b = await other.next();
      }
    }
  } finally {
    await one.return(undefined);
    await other.return(undefined);
  }
}
