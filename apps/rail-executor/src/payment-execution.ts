/**
 * Takes one payment from QUEUED to what the bank makes of it.
 *
 *   QUEUED ─ screen ─► blocked, rejected, held, or clear
 *             clear ─► PROCESSING (the claim) ─ submit ─► accepted, error, or pending
 *
 * The claim is an append at the revision that was read: of two executors one gets it. Everything
 * after it may happen twice (a crash, a redelivery, the loser of the race) and is safe, because the
 * submission carries the claimed reference and the bank executes a reference once. A payment whose
 * submission has an unknown outcome is never failed: BankUnavailable goes to the caller, who comes again.
 * One that the bank refuses is failed, as nobody would come again for it; after the claim only when
 * the bank does not know the reference from an earlier submission.
 */
import {
  type BankConnection,
  BankRefused,
  railReferenceOf,
  type ScreeningResult,
  type SubmissionResult,
  type TransferInstruction,
} from '@pis/bank-rails';
import {
  actsFrom,
  type Payment,
  type PaymentCommand,
  type PaymentRail,
  type PaymentStatus,
  unreachable,
} from '@pis/domain';
import type { Keyring } from '@pis/keyring';
import { NonRetryable } from '@pis/messaging';
import type { Logger } from '@pis/service-kit';
import {
  againOnConflict,
  type Cause,
  type LoadedPayment,
  type PaymentStream,
} from './payment-stream.js';
import type { PendingTransfers } from './pending-transfers.js';
import { transferInstruction } from './transfer-instruction.js';

/** How far it came: `done` needs no timer, the others say what is waited for. */
export type Progress = 'done' | 'held' | 'in_review' | 'pending';

export interface PaymentExecutionOptions {
  readonly payments: PaymentStream;
  readonly bank: BankConnection;
  readonly keyring: Keyring;
  readonly pending: PendingTransfers;
  readonly logger: Logger;
  /** The normal time of a rail: without a confirmation within it the payment is overdue. */
  readonly confirmationTimeoutMs: (rail: PaymentRail) => number;
}

const internalErrorMessage =
  'An unexpected error prevented the submission: wait a few minutes, then create a new payment.';

export class PaymentExecution {
  constructor(private readonly options: PaymentExecutionOptions) {}

  /**
   * Does whatever the payment's status asks for; again and again is safe.
   * @throws BankUnavailable, StoreUnavailable, and connection errors of PostgreSQL: come again
   */
  advance(paymentId: string, cause: Cause): Promise<Progress> {
    return againOnConflict(async () => {
      const current = await this.options.payments.load(paymentId);
      switch (current.state.status) {
        case 'QUEUED':
          return this.start(current, cause);
        case 'PROCESSING':
          // Claimed, and no outcome recorded: the one who claimed it may have died anywhere.
          return this.submit(current, this.instructionFor(current.state), cause);
        default:
          return 'done';
      }
    });
  }

  private async start(current: LoadedPayment, cause: Cause): Promise<Progress> {
    const { payments, bank, pending } = this.options;
    const instruction = this.instructionFor(current.state);
    const screening = await this.unlessRefused(instruction, () => bank.screen(instruction));
    switch (screening.outcome) {
      case 'clear': {
        const railReference = instruction.reference;
        const claim: PaymentCommand = {
          type: 'ProcessPayment',
          at: now(),
          data: { railReference },
        };
        return this.submit(await payments.record(current, [claim], cause), instruction, cause);
      }
      case 'refused':
        await payments.record(current, [internalError()], cause);
        return 'done';
      case 'blocked':
        await payments.record(current, [{ type: 'BlockPayment', at: now(), data: {} }], cause);
        return 'done';
      case 'rejected':
        await payments.record(current, [rejection(screening)], cause);
        return 'done';
      case 'hold':
        return 'held';
      case 'in_review':
        await pending.inReview(instruction, screening.checkAgainInMs);
        return 'in_review';
      default:
        return unreachable(screening);
    }
  }

  private async submit(
    claimed: LoadedPayment,
    instruction: TransferInstruction,
    cause: Cause,
  ): Promise<Progress> {
    const { payments, pending, confirmationTimeoutMs } = this.options;
    const { paymentId, paymentRail } = claimed.state;
    const submission = await this.submission(instruction);
    switch (submission.outcome) {
      case 'accepted': {
        // Recorded from FAILED_IN_FLIGHT too: what the bank has accepted is true, however late we hear it.
        const { state } = await payments.apply(paymentId, cause, whereAllowed(completion), claimed);
        if (state.status === 'FAILED')
          throw new NonRetryable(`the bank accepted ${paymentId}, which is FAILED`);
        return 'done';
      }
      case 'error':
        await payments.apply(paymentId, cause, whereAllowed(internalError), claimed);
        return 'done';
      case 'pending':
        // No time was named: there is no deadline to miss, and it stays PROCESSING.
        if (submission.confirmationExpected)
          await pending.submitted(instruction, confirmationTimeoutMs(paymentRail));
        return 'pending';
      default:
        return unreachable(submission);
    }
  }

  /** A refusal speaks of this request alone: an earlier one with the same reference may have been taken. */
  private async submission(instruction: TransferInstruction): Promise<SubmissionResult> {
    const { bank } = this.options;
    const submission = await this.unlessRefused(instruction, () => bank.submit(instruction));
    if (submission.outcome !== 'refused') return submission;
    // Refused that too, the bank may know it: the deadline sees to it, as nobody else would come again.
    const { outcome } = await this.unlessRefused(instruction, () =>
      bank.inquire(instruction.reference),
    );
    return outcome === 'unknown'
      ? { outcome: 'error', message: 'refused' }
      : { outcome: 'pending', confirmationExpected: true };
  }

  private async unlessRefused<Result>(
    { paymentId }: TransferInstruction,
    ask: () => Promise<Result>,
  ): Promise<Result | { readonly outcome: 'refused' }> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof BankRefused)) throw error;
      this.options.logger.error({ err: error, paymentId }, 'the bank refused a payment');
      return { outcome: 'refused' };
    }
  }

  /** The reference that was claimed, if any: it must not change with the way it is derived. */
  private instructionFor(payment: Payment): TransferInstruction {
    const reference = payment.railReference ?? railReferenceOf(payment.paymentId);
    return transferInstruction(payment, reference, this.options.keyring);
  }
}

/** The command where the status allows it, nothing where the payment has moved on. */
function whereAllowed(
  command: () => Exclude<PaymentCommand, { type: 'QueuePayment' | 'AwaitConfirmation' }>,
) {
  return (payment: Payment): readonly PaymentCommand[] => {
    const wanted = command();
    const from: readonly PaymentStatus[] = actsFrom[wanted.type];
    return from.includes(payment.status) ? [wanted] : [];
  };
}

const completion = () => ({ type: 'CompletePayment', at: now(), data: {} }) as const;

const internalError = () =>
  ({
    type: 'FailPayment',
    at: now(),
    data: {
      failureCode: 'INTERNAL_ERROR',
      failureMessage: internalErrorMessage,
      failureReason: 'The payment could not be submitted to the rail. No funds were moved.',
    },
  }) as const;

/** For data failures the message names the field and the reason repeats the message (spec, Payment). */
function rejection(screening: Extract<ScreeningResult, { outcome: 'rejected' }>): PaymentCommand {
  const { failureCode, field, message, reason } = screening;
  const failureMessage =
    field === null || message.includes(field) ? message : `${field}: ${message}`;
  return {
    type: 'FailPayment',
    at: now(),
    data: {
      failureCode,
      failureMessage,
      failureReason: failureCode === 'INTERNAL_ERROR' ? reason : failureMessage,
    },
  };
}

function now(): string {
  return new Date().toISOString();
}
