/**
 * Takes one payment from QUEUED to the bank's outcome. A collection goes the same way: what is said here of payments
 * holds for both.
 *
 *   QUEUED ─ review ─► blocked, rejected, held, or clear
 *     clear ─ its rail is open, and the bank is prepared ─ note ─► PROCESSING (the claim) ─ submit ─► accepted, error, pending, refused or silence
 *
 * The claim is an append at the revision that was read, so only one of two executors gets it. The row in
 * rail_pending is written before the claim, and each submission is noted in the row before it is sent. So a
 * crash at any point leaves a row that is handled later. A submission may be repeated: it carries the
 * claimed reference, and the bank executes a reference once, for as long as it remembers it.
 *
 * After the claim no answer of the bank is thrown: the row is handled later. `submission-rule.ts` decides
 * when such a payment is FAILED, and TransferOutcome applies it.
 */
import { BankAnswerUnclear, BankUnavailable } from '@pis/bank-rails';
import type { Cause, LoadedTransfer } from '@pis/commands';
import { type Payment, unreachable } from '@pis/domain';
import { WrongExpectedRevision } from '@pis/event-store';
import { isTransient } from '@pis/postgres';
import { NoBank, unknownConnection } from './banks.js';
import { ConnectionPaused } from './connection-gate.js';
import { ClaimedPayments, type ClaimedPaymentsOptions, retryBackoff } from './claimed-payments.js';
import type { Backoff, PendingTransfer, Transfer } from './pending-transfers.js';
import { QueuedPayments, type QueuedPaymentsOptions } from './queued-payments.js';
import { transferOf } from './transfer-of.js';
import { internalError, TransferOutcome, type TransferOutcomeOptions } from './transfer-outcome.js';

export type PaymentExecutionOptions = Omit<QueuedPaymentsOptions, 'claimed'> &
  Pick<TransferOutcomeOptions, 'tellStaff' | 'keepNotification'>;

/** While the connection is paused, which may take hours. When it is resumed, its payments are due at once. */
const pausedBackoff: Backoff = { initialMs: 500, maxMs: 600_000 };
/** After this many unexpected errors before the claim the payment is FAILED. */
export const failuresMax = 8;
/**
 * The bank answers, but not for this payment, or in an unknown form, or no bank is configured for the rail.
 * Somebody may fix that: this many tries before the claim take about six hours.
 */
const unclearBackoff: Backoff = { initialMs: 500, maxMs: 600_000 };
export const unclearMax = 48;

export class PaymentExecution {
  private readonly outcome: TransferOutcome;
  private readonly queued: QueuedPayments;
  private readonly claimed: ClaimedPayments;

  /** See TransferOutcome. */
  readonly overdueInMs: TransferOutcome['overdueInMs'];

  constructor(private readonly options: PaymentExecutionOptions) {
    this.outcome = new TransferOutcome(options);
    this.overdueInMs = this.outcome.overdueInMs;
    const { outcome } = this;
    const moved: ClaimedPaymentsOptions['moved'] = (...args) => this.step(...args);
    this.claimed = new ClaimedPayments({ ...options, outcome, moved });
    this.queued = new QueuedPayments({ ...options, claimed: this.claimed });
  }

  /**
   * Does what the payment's status requires. Repeating it is safe. When it returns, the payment has ended
   * or has a row in rail_pending.
   * @param due the due row, if that is the reason for the call
   * @throws StoreUnavailable and connection errors of PostgreSQL: try again
   */
  async advance(paymentId: string, cause: Cause, due?: PendingTransfer): Promise<void> {
    let queued: Payment | null = null;
    try {
      const suits = (known: LoadedTransfer) => this.isStart(known, cause, due);
      await this.options.payments.work(paymentId, suits, async (current) => {
        queued = current.state.status === 'QUEUED' ? current.state : null;
        await this.step(current, cause, due);
      });
    } catch (error) {
      if (queued === null || isOurs(error)) throw error;
      await this.tryLater(transferOf(queued, this.options.banks), error, cause);
    }
  }

  /**
   * Whether the remembered payment is reviewed as it is. The claim that follows is an append: it fails if another executor was
   * first. A message must be about the remembered event: after a restore of the log, a payment may have been created again with
   * the same ID and another amount.
   */
  private isStart(
    { state, lastEvent }: LoadedTransfer,
    { eventId }: Cause,
    due: PendingTransfer | undefined,
  ): boolean {
    return state.status === 'QUEUED' && (due !== undefined || lastEvent?.id === eventId);
  }

  /**
   * Hands a row without a configured connection over to the payment's bank. What may have been sent stays with the
   * connection that the row names.
   * @returns whether it is another bank than `bankName`
   */
  async assignElsewhere(
    { paymentId, connection, stage }: PendingTransfer,
    bankName: string,
  ): Promise<boolean> {
    const { payments, banks, pending } = this.options;
    if (connection !== unknownConnection && stage !== 'queued') return false;
    const { state } = await payments.load(paymentId);
    const name = banks.nameOf(state);
    if (name === bankName || !banks.isConfigured(name)) return false;
    await pending.assign(paymentId, name);
    return true;
  }

  private step(current: LoadedTransfer, cause: Cause, due?: PendingTransfer): Promise<void> {
    const { status, paymentId } = current.state;
    switch (status) {
      case 'QUEUED':
        return this.queued.start(current, cause);
      case 'PROCESSING':
        return this.claimed.resume(current, cause, due);
      case 'FAILED_IN_FLIGHT':
        // A repeated message is no reason to act. The row is.
        return due === undefined ? Promise.resolve() : this.outcome.ask(current, cause);
      case 'AWAITING_CONFIRMATION':
      case 'COMPLETED':
      case 'FAILED':
      case 'BLOCKED':
      case 'RETURNED':
      case 'CANCELED':
        return this.options.pending.done(paymentId);
      default:
        return unreachable(status);
    }
  }

  private async tryLater(transfer: Transfer, error: unknown, cause: Cause): Promise<void> {
    const { payments, pending, logger } = this.options;
    const { paymentId } = transfer;
    const isUnclear = error instanceof BankAnswerUnclear || error instanceof NoBank;
    const isAway = error instanceof BankUnavailable && !isUnclear;
    if (isAway || error instanceof WrongExpectedRevision) {
      logger.warn({ err: error, paymentId }, 'a queued payment will be looked at again');
      const isPaused = error instanceof ConnectionPaused;
      await pending.wait(transfer, isPaused ? pausedBackoff : retryBackoff);
      return;
    }
    const [backoff, triesMax] = isUnclear
      ? [unclearBackoff, unclearMax]
      : [retryBackoff, failuresMax];
    const failures = await pending.wait(transfer, backoff, true);
    logger.error(
      { err: error, paymentId, failures, triesMax },
      'a queued payment cannot be submitted',
    );
    if (failures < triesMax) return;
    // Decided at the revision that was read: an earlier claim is not affected.
    try {
      await payments.againOnConflict(paymentId, async () => {
        const current = await payments.load(paymentId);
        if (current.state.status === 'QUEUED')
          await this.queued.end(current, internalError(), cause);
      });
    } catch (after) {
      // It has its row, and is tried again.
      if (!(after instanceof ConnectionPaused)) throw after;
    }
  }
}

/** Our stores are unavailable: every payment would fail alike. */
function isOurs(error: unknown): boolean {
  return !(error instanceof BankUnavailable) && isTransient(error);
}
