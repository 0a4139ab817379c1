/**
 * Handles each unfinished payment of a bank again when its row in rail_pending is due: its message was lost or
 * failed, its claimer died, or the bank still has to settle it. Several executors share the rows.
 *
 * While the bank is unavailable, one row is taken per probe, so that a long outage costs little. The others
 * stay due and are handled when the bank answers.
 */
import { TransferMissing } from '@pis/commands';
import type { Logger } from '@pis/service-kit';
import { type Bank, type Banks, unknownConnection } from './banks.js';
import { retryBackoff } from './claimed-payments.js';
import type { PaymentExecution } from './payment-execution.js';
import type { PendingTransfer, PendingTransfers } from './pending-transfers.js';
import { inquiryBackoff } from './transfer-outcome.js';

export interface SweeperOptions {
  readonly execution: PaymentExecution;
  readonly bank: Bank;
  readonly banks: Pick<Banks, 'former'>;
  /** Rows without a configured connection are looked at by one bank's sweeper. */
  readonly takesUnknown: boolean;
  readonly isOnlyBank: boolean;
  readonly pending: PendingTransfers;
  readonly logger: Logger;
}

const batchMax = 100;
/** Payments handled side by side. Messages need the bank too. */
const concurrencyMax = 16;
/** The pause while the probe of another payment is under way. */
const probePollMs = 100;

export class Sweeper {
  constructor(private readonly options: SweeperOptions) {}

  private get connections(): readonly string[] {
    const { bank, banks, takesUnknown } = this.options;
    return takesUnknown ? [bank.name, unknownConnection, ...banks.former] : [bank.name];
  }

  /**
   * One batch of due payments. Returns the milliseconds until the next one.
   * @throws connection errors of PostgreSQL
   */
  async round(): Promise<number | null> {
    const { pending } = this.options;
    const { circuit } = this.options.bank;
    const state = circuit.state();
    if (state === 'open') return Math.max(circuit.probeInMs(), probePollMs);
    // A look is cheaper than a lease, and mostly nothing is due.
    const firstInMs = await pending.nextDueInMs(this.connections);
    if (firstInMs !== 0) return firstInMs;
    const max = state === 'probe' ? 1 : batchMax;
    const due = [...(await pending.leaseDue(this.connections, max))];
    const isFull = due.length >= max;
    const workers = Array.from({ length: Math.min(concurrencyMax, due.length) }, async () => {
      for (let next = due.shift(); next !== undefined; next = due.shift()) await this.seeTo(next);
    });
    await Promise.all(workers);
    return isFull ? 0 : pending.nextDueInMs(this.connections);
  }

  private async seeTo(due: PendingTransfer): Promise<void> {
    const { execution, pending, logger, bank, isOnlyBank } = this.options;
    const { paymentId } = due;
    try {
      const isForeign = due.connection !== bank.name && !isOnlyBank;
      if (isForeign && (await execution.assignElsewhere(due, bank.name))) return;
      await execution.advance(paymentId, {}, due);
    } catch (error) {
      // A failure of one payment must not delay the others.
      logger.warn({ err: error, paymentId }, 'a due payment will be looked at again');
      // A payment that is missing from the log does not come back by itself.
      const isMissing = error instanceof TransferMissing;
      await pending.again(paymentId, isMissing ? inquiryBackoff : retryBackoff);
    }
  }
}
