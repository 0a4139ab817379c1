/**
 * Turns payments that were not confirmed in their normal time into FAILED_IN_FLIGHT, even while the bank
 * cannot be reached. A confirmation that is in the feed but not recorded yet, for example after a restart,
 * was in time. So a deadline waits for the feed. A payment whose claimer died before the bank answered is
 * submitted once more before it fails.
 *
 * A payment that waits for the file of a cutoff is not late: its normal time counts from when the file is due, which over
 * a weekend is days after the claim. Nor is one that waits in a queue of ours: in a burst the sandbox's normal time may pass
 * before its file is built and the answer read. That counts for a limited time.
 *
 * PostgreSQL's clock decides when to check. The claim's time in the payment's stream and this process's
 * clock decide whether the time has passed. So a jump of one clock fails no payment.
 */
import { TransferMissing, type TransferStream } from '@pis/commands';
import { type Payment, type PaymentCommand, unreachable } from '@pis/domain';
import type { Logger } from '@pis/service-kit';
import type { BankFeed } from './bank-feed.js';
import { type Bank, type Banks, unknownConnection } from './banks.js';
import type { PaymentExecution } from './payment-execution.js';
import type { PendingTransfer, PendingTransfers } from './pending-transfers.js';

export interface DeadlinesOptions {
  readonly payments: TransferStream;
  readonly bank: Bank;
  readonly banks: Pick<Banks, 'former'>;
  /** See SweeperOptions. */
  readonly takesUnknown: boolean;
  readonly isOnlyBank: boolean;
  readonly feed: Pick<BankFeed, 'unrecorded'>;
  readonly pending: PendingTransfers;
  readonly logger: Logger;
  readonly execution: Pick<PaymentExecution, 'advance' | 'assignElsewhere' | 'overdueInMs'>;
}

const batchMax = 100;
/** A deadline that could not be handled is checked again after this. */
const retryAfterMs = 5_000;
/** How long the bank may take to show its feed and to take a last submission. Deadlines do not wait longer. */
const bankLimitMs = 3_000;
/** If a timer of bankLimitMs takes longer than this, the process was frozen. */
const frozenFromMs = 2 * bankLimitMs;
/** How long after its submission a payment may wait in a queue of ours. The sandbox's normal time is shorter. */
const queuedMaxMs = 30_000;
/** A payment that waits in a queue of ours is checked again after this. */
const queuedAgainMs = 1_000;
/** A clock that is set back postpones a deadline by at most this. */
const postponeMaxMs = 3_600_000;

export class Deadlines {
  constructor(private readonly options: DeadlinesOptions) {}

  private get connections(): readonly string[] {
    const { bank, banks, takesUnknown } = this.options;
    return takesUnknown ? [bank.name, unknownConnection, ...banks.former] : [bank.name];
  }

  /**
   * One batch of due deadlines. Returns the milliseconds until the next one.
   * @throws connection errors of PostgreSQL
   */
  async round(): Promise<number | null> {
    const { pending } = this.options;
    // A look is cheaper than a lease, and mostly nothing is due.
    const firstInMs = await pending.nextOverdueInMs(this.connections);
    if (firstInMs !== 0) return firstInMs;
    const due = await pending.leaseOverdue(this.connections, batchMax);
    if (due.length > 0) {
      const [isReported, queued, sentAt] = await Promise.all([
        this.reported(),
        this.queued(due),
        this.sentAt(due.map(({ reference }) => reference)),
      ]);
      await Promise.all(
        due.map((transfer) => this.seeTo(transfer, { isReported, queued, sentAt })),
      );
    }
    return due.length >= batchMax ? 0 : pending.nextOverdueInMs(this.connections);
  }

  /** Which transfers the bank has reported on. A feed that hangs is not waited for: deadlines pass. */
  private async reported(): Promise<(reference: string) => boolean> {
    return (await withinLimit(this.options.feed.unrecorded())) ?? (() => false);
  }

  /** Which transfers wait in a queue of ours, and not for long. None when that cannot be said. */
  private async queued(due: readonly PendingTransfer[]): Promise<ReadonlySet<string>> {
    const { connection } = this.options.bank;
    const young = due.filter(({ notedMsAgo }) => (notedMsAgo ?? Infinity) < queuedMaxMs);
    if (connection.queued === undefined || young.length === 0) return noReferences;
    try {
      const references = young.map(({ reference }) => reference);
      return (await withinLimit(connection.queued(references))) ?? noReferences;
    } catch (error) {
      this.options.logger.warn({ err: error }, 'it is not known which payments wait to be sent');
      return noReferences;
    }
  }

  /** When the connection sends these, where it keeps them until then. @throws BankUnavailable when that is not known */
  private async sentAt(references: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return (await this.options.bank.connection.sentAt?.(references)) ?? noTimes;
  }

  private async seeTo(
    transfer: PendingTransfer,
    { isReported, queued, sentAt }: KnownOfBank,
  ): Promise<void> {
    const { payments, pending, execution, logger, bank, isOnlyBank } = this.options;
    const { paymentId, reference, stage } = transfer;
    try {
      const isForeign = transfer.connection !== bank.name && !isOnlyBank;
      if (isForeign && (await execution.assignElsewhere(transfer, bank.name))) return;
      if (isReported(reference)) return await pending.postponeOverdue(paymentId, retryAfterMs);
      if (queued.has(reference)) return await pending.postponeOverdue(paymentId, queuedAgainMs);
      let sentAtMs = sentAt.get(reference) ?? 0;
      const isUnanswered = stage === 'claimed' || stage === 'queued';
      if (isUnanswered) {
        await withinLimit(this.lastSubmission(transfer));
        sentAtMs = (await this.sentAt([reference])).get(reference) ?? 0;
      }
      // Settled by now, or the bank has it and names no time for it. Its stream does not say that.
      if ((await pending.find(paymentId))?.hasDeadline !== true) return;
      const choose = (payment: Payment) => this.missed(payment, sentAtMs);
      const { state } = await payments.apply(paymentId, {}, choose);
      switch (state.status) {
        case 'FAILED_IN_FLIGHT':
          logger.warn({ paymentId, reference }, 'not confirmed in time; the bank is asked');
          return await pending.inFlight(paymentId);
        case 'PROCESSING': {
          const inMs = Math.min(execution.overdueInMs(state, sentAtMs), postponeMaxMs);
          return await pending.postponeOverdue(paymentId, Math.max(inMs, retryAfterMs));
        }
        case 'QUEUED':
          // Noted, but the claim was never recorded.
          return await pending.notOverdue(paymentId);
        case 'AWAITING_CONFIRMATION':
        case 'COMPLETED':
        case 'FAILED':
        case 'BLOCKED':
        case 'RETURNED':
        case 'CANCELED':
          return await pending.done(paymentId);
        default:
          return unreachable(state.status);
      }
    } catch (error) {
      // A failure of one payment must not delay the others.
      logger.warn({ err: error, paymentId }, 'an overdue payment will be looked at again');
      await pending.postponeOverdue(paymentId, afterMs(error));
    }
  }

  /** Once more, if that is allowed. The deadline passes whatever becomes of it. */
  private async lastSubmission(transfer: PendingTransfer): Promise<void> {
    const { execution, logger } = this.options;
    try {
      await execution.advance(transfer.paymentId, {}, transfer);
    } catch (error) {
      const { paymentId } = transfer;
      logger.warn({ err: error, paymentId }, 'an overdue payment could not be submitted again');
    }
  }

  private missed(payment: Payment, sentAtMs: number): readonly PaymentCommand[] {
    const inMs = this.options.execution.overdueInMs(payment, sentAtMs);
    if (payment.status !== 'PROCESSING' || inMs > 0) return [];
    return [
      {
        type: 'FailPaymentInFlight',
        at: new Date().toISOString(),
        data: {
          failureReason:
            'The bank did not confirm the payment in time. It is under review and may still settle.',
        },
      },
    ];
  }
}

/** What the bank and its connection say of the transfers of a batch. */
interface KnownOfBank {
  readonly isReported: (reference: string) => boolean;
  readonly queued: ReadonlySet<string>;
  /** Milliseconds since the epoch, by reference. */
  readonly sentAt: ReadonlyMap<string, number>;
}

const noReferences: ReadonlySet<string> = new Set();
const noTimes: ReadonlyMap<string, number> = new Map();

/** A payment that is missing from the log does not come back by itself. */
function afterMs(error: unknown): number {
  return error instanceof TransferMissing ? postponeMaxMs : retryAfterMs;
}

/**
 * Undefined when it takes longer than bankLimitMs. It then continues in the background. The time starts over once if the
 * process was frozen meanwhile, because it could not read any answer.
 */
async function withinLimit<Result>(work: Promise<Result>): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  const wait = (isSecond: boolean) => {
    const beganMs = performance.now();
    timer = setTimeout(() => {
      const isFrozen = performance.now() - beganMs > frozenFromMs;
      if (isFrozen && !isSecond) wait(true);
      else late.resolve(undefined);
    }, bankLimitMs);
  };
  wait(false);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
