/**
 * A claimed payment on its way to the bank. Each submission is noted in the row before it is sent, and may be
 * repeated: it carries the claimed reference. No answer of the bank is thrown: the row is handled later.
 */
import { BankRefused, BankUnavailable, maySubmit, stopwatch } from '@pis/bank-rails';
import type { Cause, LoadedTransfer, TransferStream } from '@pis/commands';
import type { Payment } from '@pis/domain';
import type { Keyring } from '@pis/keyring';
import { currentTraceparent, type Logger, traced } from '@pis/service-kit';
import type { Banks } from './banks.js';
import type { ClockGate } from './clock-gate.js';
import type { Backoff, PendingTransfer, PendingTransfers, Transfer } from './pending-transfers.js';
import { instructionUnlessErased } from './transfer-instruction.js';
import { transferOf } from './transfer-of.js';
import type { TransferOutcome } from './transfer-outcome.js';

export interface ClaimedPaymentsOptions {
  readonly payments: TransferStream;
  readonly banks: Banks;
  readonly clocks: Pick<ClockGate, 'pass'>;
  readonly keyring: Keyring;
  readonly pending: PendingTransfers;
  readonly outcome: TransferOutcome;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Handles a payment that is not PROCESSING any more. */
  readonly moved: (current: LoadedTransfer, cause: Cause, due?: PendingTransfer) => Promise<void>;
}

/** While the bank or a dependency of ours is unavailable. */
export const retryBackoff: Backoff = { initialMs: 500, maxMs: 60_000 };

export class ClaimedPayments {
  constructor(private readonly options: ClaimedPaymentsOptions) {}

  /** Claimed without a recorded outcome: the claimer may have died at any point. */
  async resume(current: LoadedTransfer, cause: Cause, due?: PendingTransfer): Promise<void> {
    const { payments, banks, pending, outcome } = this.options;
    const { state } = current;
    const row = due ?? (await pending.find(state.paymentId));
    if (row?.stage === 'submitted' || row?.stage === 'in_flight') {
      // The row knows more than the stream, which was restored from a backup.
      if (row.stage === 'in_flight')
        await pending.setOverdue(state.paymentId, outcome.overdueInMs(state));
      if (due !== undefined) await outcome.ask(current, cause);
      return;
    }
    const transfer = transferOf(state, banks);
    if (!banks.isConfigured(transfer.connection)) {
      banks.noticed(transfer.connection);
      return this.wait(state, transfer, 'the connection of a payment is not configured');
    }
    const bank = banks.of(state);
    const resolve = () => this.afterClaim(current, () => outcome.resolve(current, cause));
    const { clock } = this.options;
    // Before the look at the time: the submission must arrive while what that look decides still holds.
    const sinceNotedMs = stopwatch(clock);
    const isLate = !maySubmit(bank.connection.terms, Date.parse(state.statusAt), clock());
    if (row?.isSealed === true || isLate) return resolve();
    const untilResumed = () => this.wait(state, transfer, 'the connection of a payment is paused');
    if (await bank.isPaused()) return untilResumed();
    const noted = await pending.note(transfer, outcome.overdueInMs(state));
    if (noted === 'paused') return untilResumed();
    // An earlier release has claimed it for this connection. It is in doubt at its deadline.
    if (typeof noted === 'object')
      return this.wait(state, transfer, 'another connection has a record of a payment');
    if (noted === 'refused') {
      // Sealed meanwhile, or settled or accepted through another executor's submission.
      const isSealed = (await pending.find(state.paymentId))?.isSealed === true;
      return isSealed ? resolve() : undefined;
    }
    // Read after the note: an executor that fails the payment seals it first, and then no note succeeds.
    const claimed = await payments.load(state.paymentId);
    if (claimed.state.status !== 'PROCESSING') return this.options.moved(claimed, cause, due);
    return this.submit(claimed, transfer, cause, sinceNotedMs);
  }

  /** @param sinceNotedMs counts from before the note of this submission */
  submit(
    claimed: LoadedTransfer,
    transfer: Transfer,
    cause: Cause,
    sinceNotedMs: () => number,
  ): Promise<void> {
    const { banks, clocks, keyring, logger, outcome } = this.options;
    return this.afterClaim(claimed, async () => {
      const bank = banks.of(claimed.state);
      const instruction = await instructionUnlessErased(claimed, transfer.reference, keyring);
      if (typeof instruction === 'string') return outcome.resolve(claimed, cause);
      await clocks.pass();
      await bank.pass();
      // This process was paused: by now others may assume that the noted submission cannot arrive. Nothing is waited for
      // between this look and the call.
      if (sinceNotedMs() > bank.connection.terms.submissionInFlightMaxMs)
        throw new BankUnavailable('the submission was noted too long ago to be sent');
      try {
        const answer = await traced('submit to bank', spanOf(claimed, transfer), () =>
          bank.connection.submit(instruction),
        );
        await outcome.submitted(claimed, answer, cause);
      } catch (error) {
        if (!(error instanceof BankRefused)) throw error;
        // The refusal concerns this request only: an earlier one may be on its way.
        logger.error(
          { err: error, paymentId: transfer.paymentId },
          'the bank refused a submission',
        );
        await outcome.resolve(claimed, cause);
      }
    });
  }

  /** Nothing can be sent now. The payment's deadline passes. */
  private async wait(state: Payment, transfer: Transfer, why: string): Promise<void> {
    const { pending, logger, outcome } = this.options;
    const { paymentId, connection } = transfer;
    logger.warn({ paymentId, connection }, why);
    await pending.wait(transfer, retryBackoff);
    // The bank may have begun to hold it meanwhile: an earlier submission.
    await pending.setOverdue(paymentId, outcome.overdueInMs(state), ['queued', 'claimed']);
  }

  /** The row exists: whatever fails, the payment is handled again, and its message is done. */
  private async afterClaim(claimed: LoadedTransfer, work: () => Promise<void>): Promise<void> {
    const { pending, logger } = this.options;
    const { paymentId } = claimed.state;
    try {
      await work();
    } catch (error) {
      logger.warn({ err: error, paymentId }, 'a submitted payment will be looked at again');
      await pending.again(paymentId, retryBackoff);
    }
  }
}

/** A message begins most submissions. One that is repeated later continues the trace of the claim. */
function spanOf(
  { lastEvent }: LoadedTransfer,
  { paymentId, rail, connection }: Transfer,
): Parameters<typeof traced>[1] {
  return {
    kind: 'client',
    traceparent: currentTraceparent() ?? lastEvent?.metadata.traceparent,
    attributes: {
      'pis.payment.id': paymentId,
      'pis.payment.rail': rail,
      'pis.bank.connection': connection,
    },
  };
}
