/**
 * Statement: the document of one originator for one month. The stream is `statement-<id>`, and the ID comes from
 * originator and month: there is one statement of a month, however often it is generated. Its bytes are stored
 * before the event is appended.
 */
import { monthOf } from '../calendar/month.js';
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

export interface StatementSum {
  readonly count: number;
  readonly amountMinor: number;
}

/** What was open at one moment: the opening and the closing figures. */
export interface StatementBalance {
  /**
   * Payments that were accepted and had neither settled nor ended: QUEUED, PROCESSING, and FAILED_IN_FLIGHT that the bank
   * has not rejected.
   */
  readonly inProgressIn: StatementSum;
  readonly inProgressOut: StatementSum;
  /** Fees that were charged and not yet collected. */
  readonly feesDueMinor: number;
}

/** The figures of a statement, without which its lines could not be checked years later. */
export interface StatementFigures {
  readonly opening: StatementBalance;
  /** Payments that moved money. */
  readonly paymentsIn: StatementSum;
  readonly paymentsOut: StatementSum;
  /** Payments that moved no money in the period; the amount is what they would have moved. */
  readonly withoutMovement: StatementSum;
  /** Returns of payments out: money that came back. */
  readonly returnsIn: StatementSum;
  /** Returns of payments in: money that was taken back. */
  readonly returnsOut: StatementSum;
  readonly collections: StatementSum;
  readonly collectionReturns: StatementSum;
  /** The sum of the fees of all lines. The count is of the lines with a fee. */
  readonly fees: StatementSum;
  readonly closing: StatementBalance;
}

/** The events dated before `to` (ISO 8601), up to a position in the log. A later event may be dated earlier. */
export interface StatementCutoff {
  readonly to: string;
  readonly through: string;
  /**
   * Whether a payment that the bank rejected when it was FAILED_IN_FLIGHT is no longer in progress. It was in statements of
   * earlier releases, which lack the field.
   */
  readonly endsRejected?: boolean;
}

/** A statement shows what is in its own cutoff and not in `after`: no event is on two statements, or on none. */
export interface StatementRecord extends StatementCutoff {
  readonly statementId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly periodYear: number;
  /** 1 to 12. */
  readonly periodMonth: number;
  /** IANA name: the period ends when the month ended in this time zone. */
  readonly timeZone: string;
  /** The cutoff of the statement before. Null: there is none. */
  readonly after: StatementCutoff | null;
  /**
   * Names the stored document. Each attempt to generate a statement writes one of its own, so that none replaces the one
   * that is recorded. Absent in statements of earlier releases.
   */
  readonly documentId?: string;
  /** Of the PDF, hex. */
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly figures: StatementFigures;
}

export type StatementEvent = DomainEvent<'StatementGenerated', StatementRecord>;
export type Statement = StatementRecord & { readonly generatedAt: string };
export type StatementState = Statement | null;
export type StatementCommand = DomainCommand<'RecordStatement', StatementRecord>;
export type StatementRefusal = 'STATEMENT_EXISTS';

function decide(
  { at, data }: StatementCommand,
  state: StatementState,
): Decision<StatementEvent, StatementRefusal> {
  if (state !== null) return { refused: 'STATEMENT_EXISTS' };
  return [{ type: 'StatementGenerated', at, data }];
}

export const statement: Aggregate<
  StatementState,
  StatementCommand,
  StatementEvent,
  StatementRefusal
> = {
  category: 'statement',
  initial: null,
  decide,
  evolve: (_state, { data, at }) => ({ ...data, generatedAt: at }),
  schemaVersions: { StatementGenerated: 2 },
  upcast: (_type, schemaVersion, data) =>
    schemaVersion < 2 ? withCutoffs(data as FirstStatementRecord) : data,
};

type FirstStatementRecord = Omit<StatementRecord, keyof StatementCutoff | 'after'> &
  Pick<StatementRecord, 'through'>;

/** Version 1 went from the beginning of the month to its end, and left out what was recorded late. */
function withCutoffs(data: FirstStatementRecord): StatementRecord {
  const { timeZone, periodYear, periodMonth, through } = data;
  const { from, to } = monthOf(timeZone, periodYear, periodMonth);
  return { ...data, to: to.toISOString(), after: { to: from.toISOString(), through } };
}
