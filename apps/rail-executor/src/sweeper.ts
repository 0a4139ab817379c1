/**
 * Looks again at every payment that is not at its end, when its row in rail_pending is due: one whose
 * message was lost or failed, one whose claimer died, one that the bank still has to settle. Several
 * executors share the rows.
 *
 * While the bank is away one row is taken per probe, so that a long outage costs little; the rest stay
 * due and are taken up when the bank answers.
 */
import type { BankCircuit } from '@pis/bank-rails';
import { PaymentMissing } from '@pis/commands';
import type { Logger } from '@pis/service-kit';
import { retryBackoff, type PaymentExecution } from './payment-execution.js';
import type { PendingTransfer, PendingTransfers } from './pending-transfers.js';
import { inquiryBackoff } from './transfer-outcome.js';

export interface SweeperOptions {
  readonly execution: PaymentExecution;
  readonly circuit: BankCircuit;
  readonly pending: PendingTransfers;
  readonly logger: Logger;
}

const batchMax = 100;
/** Payments looked at side by side; the messages need the bank too. */
const concurrencyMax = 16;
/** While another one's probe is under way. */
const probePollMs = 100;

export class Sweeper {
  constructor(private readonly options: SweeperOptions) {}

  /** One batch of what is due; says in how many milliseconds the next is. @throws connection errors of PostgreSQL */
  async round(): Promise<number | null> {
    const { circuit, pending } = this.options;
    const state = circuit.state();
    if (state === 'open') return Math.max(circuit.probeInMs(), probePollMs);
    const max = state === 'probe' ? 1 : batchMax;
    const due = [...(await pending.leaseDue(max))];
    const isFull = due.length === max;
    const workers = Array.from({ length: Math.min(concurrencyMax, due.length) }, async () => {
      for (let next = due.shift(); next !== undefined; next = due.shift()) await this.seeTo(next);
    });
    await Promise.all(workers);
    return isFull ? 0 : pending.nextDueInMs();
  }

  private async seeTo(due: PendingTransfer): Promise<void> {
    const { execution, pending, logger } = this.options;
    const { paymentId } = due;
    try {
      await execution.advance(paymentId, {}, due);
    } catch (error) {
      // One payment's trouble must not keep the others waiting.
      logger.warn({ err: error, paymentId }, 'a due payment will be looked at again');
      // One that the log has lost does not come back by itself.
      const isMissing = error instanceof PaymentMissing;
      await pending.again(paymentId, isMissing ? inquiryBackoff : retryBackoff);
    }
  }
}
