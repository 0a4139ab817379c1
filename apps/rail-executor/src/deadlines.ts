/**
 * Sees to the timers that are due: asks again for a screening, and turns a payment that was not
 * confirmed in time into FAILED_IN_FLIGHT and has the bank look into it. A confirmation that is in the
 * feed and not recorded yet, after a restart for instance, came in time: the feed is waited for.
 * Several executors may do this at once: appends are decided at a revision, and the bank takes a second
 * inquiry as the first.
 */
import { type BankConnection, BankRefused, BankUnavailable } from '@pis/bank-rails';
import type { Payment, PaymentCommand } from '@pis/domain';
import type { Logger } from '@pis/service-kit';
import type { BankFeed } from './bank-feed.js';
import type { PaymentExecution } from './payment-execution.js';
import type { PaymentStream } from './payment-stream.js';
import type { DueTransfer, PendingTransfers } from './pending-transfers.js';

export interface DeadlinesOptions {
  readonly payments: PaymentStream;
  readonly execution: PaymentExecution;
  readonly feed: Pick<BankFeed, 'unrecorded'>;
  readonly bank: BankConnection;
  readonly pending: PendingTransfers;
  readonly logger: Logger;
}

const batchMax = 100;
/** A timer that could not be seen to goes off again after this. */
const retryAfterMs = 5_000;

export class Deadlines {
  constructor(private readonly options: DeadlinesOptions) {}

  /** One batch of what is due; says in how many milliseconds the next is. @throws connection errors of PostgreSQL */
  async round(): Promise<number | null> {
    const { pending } = this.options;
    const due = await pending.due(batchMax);
    const isReported = await this.reported(due);
    await Promise.all(due.map((transfer) => this.seeTo(transfer, isReported)));
    return due.length === batchMax ? 0 : pending.nextDueInMs();
  }

  /** Which of them the bank has reported on. While it is away nobody knows, and time passes all the same. */
  private async reported(due: readonly DueTransfer[]): Promise<(reference: string) => boolean> {
    const none = () => false;
    if (!due.some(({ stage }) => stage === 'submitted')) return none;
    try {
      return await this.options.feed.unrecorded();
    } catch (error) {
      if (error instanceof BankUnavailable || error instanceof BankRefused) return none;
      throw error;
    }
  }

  private async seeTo(
    transfer: DueTransfer,
    isReported: (reference: string) => boolean,
  ): Promise<void> {
    const { execution, pending, logger } = this.options;
    const { paymentId, reference, stage } = transfer;
    try {
      if (stage === 'submitted' && isReported(reference)) {
        await pending.postpone(paymentId, stage, retryAfterMs);
        return;
      }
      if (stage === 'submitted') await this.missed(transfer);
      else if ((await execution.advance(paymentId, {})) === 'in_review') return;
      await pending.remove(paymentId, stage);
    } catch (error) {
      // One payment's trouble must not keep the others waiting.
      logger.warn({ err: error, paymentId, stage }, 'a due payment will be looked at again');
      await pending.postpone(paymentId, stage, retryAfterMs);
    }
  }

  private async missed({ paymentId, reference }: DueTransfer): Promise<void> {
    const { payments, bank, logger } = this.options;
    const { state } = await payments.apply(paymentId, {}, overdue);
    if (state.status !== 'FAILED_IN_FLIGHT') return;
    // Repeated after a crash here: the timer is removed only when the bank has answered.
    const { outcome } = await bank.inquire(reference);
    if (outcome === 'unknown')
      logger.error({ paymentId, reference }, 'the bank does not know a transfer it had taken');
    else logger.warn({ paymentId, reference }, 'not confirmed in time; the bank looks into it');
  }
}

function overdue(payment: Payment): readonly PaymentCommand[] {
  if (payment.status !== 'PROCESSING') return [];
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
