/**
 * What is on the statement of one originator for one month. docs/statements.md says how each figure is computed.
 * All amounts are minor units. Everything is as it was when the period ended.
 */
import type { Direction, PaymentStatus, StatementBalance, StatementFigures } from '@pis/domain';

export interface StatementContent {
  readonly statementId: string;
  readonly organizationName: string;
  /** The organization's logo, a PNG file. Null: it has none. */
  readonly logo: Uint8Array | null;
  readonly originatorId: string;
  readonly originatorName: string;
  /** IANA name. Dates are days of this time zone. */
  readonly timeZone: string;
  readonly periodYear: number;
  /** 1 to 12. */
  readonly periodMonth: number;
  /** First instant after the period. */
  readonly periodEnd: Date;
  readonly opening: StatementBalance;
  /** In order of `at`. Read once; totals() is called after the last line. */
  readonly lines: AsyncIterable<StatementLine>;
  totals(): StatementTotals;
}

/** REJECTED: the bank rejected a payment that was FAILED_IN_FLIGHT. It has no status of its own in the API. */
export type LineStatus = PaymentStatus | 'REJECTED';

/** Seen from the originator's account: a credit is money in, a debit is money out. */
export type StatementSide = 'credit' | 'debit';

export type StatementLine = PaymentLine | ReturnLine | CollectionLine | CollectionReturnLine;

interface PaymentFacts {
  readonly at: Date;
  readonly paymentId: string;
  readonly externalPaymentId: string | null;
  /** Null: nobody is named, or the person was erased. */
  readonly counterparty: string | null;
  /** What the payment moves: the amount, and for a payment link the processing fee. */
  readonly amountMinor: number;
  /** Charged by what this line shows. 0: nothing. */
  readonly feeMinor: number;
}

/**
 * A payment. It is listed in the month in which it moved money (`at` is that moment), and in each month in which it
 * was created or changed its status without moving money (`at` is the last such change of the month).
 */
export interface PaymentLine extends PaymentFacts {
  readonly kind: 'payment';
  readonly direction: Direction;
  /** At the end of the period. */
  readonly status: LineStatus;
  /** Null: the payment moved no money in the period. */
  readonly side: StatementSide | null;
}

/** A return of a payment, in the month in which it happened. The payment may be of an earlier month. */
export interface ReturnLine extends PaymentFacts {
  readonly kind: 'return';
  /** Whether the payment was returned before, and this is more of it. */
  readonly isLater: boolean;
  readonly side: StatementSide;
  /** As in R01. Null: the bank gave none. */
  readonly returnReasonCode: string | null;
  /** Of the payment's money, by banks on the way. 0: all of it came back. The line of a later return does not say it. */
  readonly keptMinor: number;
  /** When the returned payment completed. Null: it was returned without that. */
  readonly completedAt: Date | null;
}

interface CollectionFacts {
  readonly at: Date;
  readonly collectionId: string;
  /** The month whose fees are collected. */
  readonly feesYear: number;
  readonly feesMonth: number;
  readonly amountMinor: number;
}

/** Fees of a month were debited. */
export interface CollectionLine extends CollectionFacts {
  readonly kind: 'collection';
}

/** The debit of fees came back: the fees are due again. */
export interface CollectionReturnLine extends CollectionFacts {
  readonly kind: 'collection_return';
  readonly returnReasonCode: string | null;
}

/** The renderer adds up the lines too, and refuses a statement whose lines give other sums. */
export type StatementTotals = Omit<StatementFigures, 'opening'>;
