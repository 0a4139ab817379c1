/**
 * Payments and collections that were submitted and not confirmed in time, and those that the bank has held for longer than a day, with
 * everything that is known of them.
 */
import { railReferenceOf } from '@pis/bank-rails';
import { type LoadedTransfer, TransferMissing, TransferStream } from '@pis/commands';
import { type RailRejection, transferAmountMinor, type TransferOwner } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { heldRows, isTransient } from '@pis/postgres';
import type pg from 'pg';
import { describe } from '../output.js';

export interface PaymentInDoubt {
  /** Of a collection its own ID. */
  readonly paymentId: string;
  readonly transfer: TransferOwner;
  readonly organizationId: string;
  readonly status: string;
  /** Since when it is in doubt. */
  readonly since: string;
  readonly createdAt: string;
  /** Minor units. */
  readonly paymentAmount: number;
  /** What the bank moves: for the payer of a link also the processing fee. Minor units. */
  readonly transferAmount: number;
  readonly currencyCode: string;
  readonly paymentRail: string;
  readonly direction: string;
  /** Name of the connection to the bank; null for a claim of an older release. */
  readonly connection: string | null;
  /** Under which the bank knows it. */
  readonly reference: string | null;
  /** Why the bank rejected it after its time; null when it did not. */
  readonly lateRejection: RailRejection | null;
  /** Null when the bank is not asked any more. */
  readonly inquiries: Inquiries | null;
  /** What the bank reported and could not be recorded. */
  readonly unmatchedNotifications: readonly Unmatched[];
}

/** One whose stream cannot be read, with what is known without it. It may have settled. */
export interface UnreadableInDoubt
  extends Pick<PaymentInDoubt, 'paymentId' | 'inquiries' | 'unmatchedNotifications'> {
  /** Under which the bank knows it, if it has it. */
  readonly reference: string;
  readonly unreadable: string;
}

export interface Inquiries {
  readonly submissions: number;
  readonly lastSubmissionAt: string | null;
  /** Since the last progress. */
  readonly inquiriesMade: number;
  readonly nextInquiryAt: string;
}

export interface Unmatched {
  readonly connection: string;
  readonly type: string;
  readonly at: string;
  readonly reason: string | null;
}

/** As long as the executor waits before it asks the bank about a payment that the bank has taken. */
const heldAfterMs = 24 * 3_600_000;

/**
 * All of them, the newest first. Each is read when it is wanted: there may be many. One that cannot be read is listed, too.
 * @throws StoreUnavailable, connection errors
 */
export async function* paymentsInDoubt(
  store: EventStore,
  pool: pg.Pool,
): AsyncGenerator<PaymentInDoubt | UnreadableInDoubt, void, undefined> {
  const transfers = new TransferStream(store, 'system:cli');
  for await (const { payment_id: paymentId, is_held: isHeld } of listed(pool)) {
    const transfer = await transfers.load(paymentId).catch(orReason);
    if (transfer === null) continue;
    if ('unreadable' in transfer) {
      yield await unreadableInDoubt(pool, paymentId, transfer.unreadable);
      continue;
    }
    const { status } = transfer.state;
    // The list lags behind: it has settled meanwhile.
    const isInDoubt = status === 'FAILED_IN_FLIGHT' || (isHeld && status === 'PROCESSING');
    if (isInDoubt) yield await inDoubt(pool, transfer);
  }
}

interface Listed {
  readonly payment_id: string;
  readonly is_held: boolean;
}

function listed(pool: pg.Pool): AsyncGenerator<Listed, void, undefined> {
  return heldRows<Listed>(
    pool,
    `SELECT payment_id, bool_or(is_held) AS is_held FROM (
       SELECT payment_id, created_at, false AS is_held FROM payments WHERE status = 'FAILED_IN_FLIGHT'
        UNION ALL
       SELECT payment_id, submitted_at, stage = 'submitted' FROM rail_pending
        WHERE stage = 'in_flight' OR stage = 'submitted' AND overdue_at IS NULL
          AND submitted_at < now() - $1 * interval '1 millisecond') p
      GROUP BY payment_id ORDER BY max(created_at) DESC, payment_id`,
    [heldAfterMs],
  );
}

/** Null when a row of it is left, and the log does not have it. @throws what would befall every payment */
function orReason(error: unknown): { readonly unreadable: string } | null {
  if (error instanceof TransferMissing) return null;
  if (isTransient(error)) throw error;
  return { unreadable: describe(error) };
}

async function unreadableInDoubt(
  pool: pg.Pool,
  paymentId: string,
  unreadable: string,
): Promise<UnreadableInDoubt> {
  const reference = railReferenceOf(paymentId);
  return {
    ...{ paymentId, reference, unreadable },
    inquiries: await inquiriesOf(pool, paymentId),
    unmatchedNotifications: await unmatchedOf(pool, reference),
  };
}

async function inDoubt(pool: pg.Pool, { owner, state }: LoadedTransfer): Promise<PaymentInDoubt> {
  return {
    paymentId: state.paymentId,
    transfer: owner,
    organizationId: state.organizationId,
    status: state.status,
    since: state.statusAt,
    createdAt: state.createdAt,
    paymentAmount: state.amountMinor,
    transferAmount: transferAmountMinor(state),
    currencyCode: state.currencyCode,
    paymentRail: state.paymentRail,
    direction: state.direction,
    connection: state.connection,
    reference: state.railReference,
    lateRejection: state.lateRejection,
    inquiries: await inquiriesOf(pool, state.paymentId),
    unmatchedNotifications: await unmatchedOf(pool, state.railReference),
  };
}

/** The row of a payment that has not ended; null when nothing waits for it. */
export async function inquiriesOf(pool: pg.Pool, paymentId: string): Promise<Inquiries | null> {
  const { rows } = await pool.query<{
    submissions: number;
    last_submission_at: Date | null;
    attempts: number;
    deadline_at: Date;
  }>(
    `SELECT submissions, last_submission_at, attempts, deadline_at
       FROM rail_pending WHERE payment_id = $1`,
    [paymentId],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return {
    submissions: row.submissions,
    lastSubmissionAt: row.last_submission_at?.toISOString() ?? null,
    inquiriesMade: row.attempts,
    nextInquiryAt: row.deadline_at.toISOString(),
  };
}

/** All of them, the oldest first. */
export async function unmatchedOf(
  pool: pg.Pool,
  reference: string | null,
): Promise<readonly Unmatched[]> {
  if (reference === null) return [];
  const { rows } = await pool.query<{
    feed: string;
    type: string;
    at: Date;
    reason: string | null;
  }>(
    'SELECT feed, type, at, reason FROM rail_notifications WHERE reference = $1 ORDER BY arrival',
    [reference],
  );
  return rows.map(({ feed, type, at, reason }) => ({
    connection: feed,
    type,
    at: at.toISOString(),
    reason,
  }));
}
