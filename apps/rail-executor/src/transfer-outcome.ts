/**
 * What the bank's answers mean for a claimed payment. COMPLETED is recorded whenever the bank has accepted
 * the transfer, however late. Only the rule of `submission-rule.ts` leads to FAILED. FAILED_IN_FLIGHT is
 * never taken back: the specification allows only COMPLETED after it. A rejection that comes later is
 * recorded as a note for staff.
 */
import {
  arrivalMaxMs,
  type BankConnection,
  type BankNotification,
  BankRefused,
  type Evidence,
  type InquiryResult,
  mayBeLost,
  provesFailure,
  type RailRejection,
  remembers,
  type SubmissionResult,
  type VoidResult,
} from '@pis/bank-rails';
import type { Cause, LoadedTransfer, TransferStream } from '@pis/commands';
import {
  actsFrom,
  type Payment,
  type PaymentCommand,
  type PaymentRail,
  type PaymentStatus,
  transferAmountMinor,
  unreachable,
} from '@pis/domain';
import type { Keyring } from '@pis/keyring';
import type { Logger } from '@pis/service-kit';
import type { Banks } from './banks.js';
import { isOtherTransfer } from './other-transfer.js';
import { jittered } from './pending-statements.js';
import type { Backoff, PendingTransfers, Sealed } from './pending-transfers.js';
import { transferOf } from './transfer-of.js';

export interface TransferOutcomeOptions {
  readonly payments: TransferStream;
  readonly banks: Banks;
  readonly keyring: Keyring;
  readonly pending: PendingTransfers;
  /** Tells staff that the bank still holds a payment, or never said what became of it. Safe to repeat. */
  readonly tellStaff: (paymentId: string, kind: 'held' | 'unanswered') => Promise<void>;
  /** Keeps what staff must see of a direct answer, as if it had come through the feed of this bank. Safe to repeat. */
  readonly keepNotification: (bankName: string, notification: BankNotification) => Promise<void>;
  readonly logger: Logger;
  /**
   * The normal time of a rail for what the bank gets at this time, milliseconds since the epoch. A payment without a
   * confirmation in it is overdue.
   */
  readonly confirmationTimeoutMs: (rail: PaymentRail, fromMs: number) => number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** The pause between two inquiries about a transfer that only the bank can settle. */
export const inquiryBackoff: Backoff = { initialMs: 5_000, maxMs: 24 * 3_600_000 };
/** The memory of a bank whose connection was removed together with its terms. */
const memoryDefaultMs = 90 * 24 * 3_600_000;

type Accepted = Extract<InquiryResult, { readonly outcome: 'accepted' }>;

export class TransferOutcome {
  constructor(private readonly options: TransferOutcomeOptions) {}

  /** Records the bank's answer to a submission. */
  async submitted(claimed: LoadedTransfer, result: SubmissionResult, cause: Cause): Promise<void> {
    const { paymentId } = claimed.state;
    switch (result.outcome) {
      case 'accepted':
        return this.complete(claimed, cause);
      case 'error':
        return this.fail(claimed, cause, result.rejection);
      case 'pending': {
        const overdueInMs = result.confirmationExpected ? this.overdueInMs(claimed.state) : null;
        const { pending, payments } = this.options;
        if (await pending.taken(paymentId, overdueInMs, inquiryBackoff.maxMs)) return;
        return this.showIfHeld(await payments.load(paymentId));
      }
      default:
        return unreachable(result);
    }
  }

  /**
   * Asks the bank about a transfer that it has taken, or about one that is FAILED_IN_FLIGHT, until the bank has
   * forgotten it. Then a payment that the bank held is overdue: it has no other deadline.
   */
  async ask(current: LoadedTransfer, cause: Cause): Promise<void> {
    const { pending, logger } = this.options;
    const { paymentId, status } = current.state;
    if (await this.hasForgotten(current)) {
      if (status === 'FAILED_IN_FLIGHT') return this.end(current);
      await pending.setOverdue(paymentId, 0);
    }
    const transfer = transferOf(current.state, this.options.banks);
    const { reference } = transfer;
    // Its time is before the inquiry: a submission may arrive while the bank answers.
    const sealed = status === 'FAILED_IN_FLIGHT' ? await pending.seal(transfer, 0) : null;
    const answer = await this.bankOf(current).inquire(reference);
    switch (answer.outcome) {
      case 'accepted':
        if (await this.isAnother(current, reference, answer)) return this.leaveInDoubt(current);
        return this.complete(current, cause);
      case 'error':
        if (!(await this.isReliable(current, answer))) return this.askAgain(current);
        if (status === 'PROCESSING') return this.fail(current, cause, answer.rejection);
        return this.rejectLate(current, cause, answer.rejection);
      case 'unknown':
        logger.error({ paymentId, reference }, 'the bank does not know a transfer');
        if (sealed !== null && (await this.isReliable(current, answer)))
          return this.neverArrived(current, cause, sealed);
        return this.askAgain(current);
      case 'received':
        await this.stillHeld(current);
        return this.askAgain(current);
      default:
        return unreachable(answer);
    }
  }

  /** The first inquiry comes a day after the bank took it. Staff are told if it has no deadline. */
  private async stillHeld({ state: { paymentId, status } }: LoadedTransfer): Promise<void> {
    const { pending, tellStaff } = this.options;
    if (status !== 'PROCESSING') return;
    if ((await pending.find(paymentId))?.hasDeadline === false) await tellStaff(paymentId, 'held');
  }

  /** The bank does not have a payment in flight. That is its end once no submission can arrive any more. */
  private async neverArrived(current: LoadedTransfer, cause: Cause, sealed: Sealed): Promise<void> {
    if (this.proves('unknown', current, sealed))
      return this.rejectLate(current, cause, neverArrived);
    return this.askAgain(current, this.untilRuledOut(current, sealed).maxMs);
  }

  /** At its deadline it is FAILED_IN_FLIGHT. It has none if the bank held what it has accepted now. */
  private async leaveInDoubt(current: LoadedTransfer): Promise<void> {
    const { paymentId, status } = current.state;
    if (status === 'PROCESSING') {
      await this.options.pending.setOverdue(paymentId, this.overdueInMs(current.state));
    }
    return this.askAgain(current);
  }

  /**
   * A payment in flight is asked about again after as long as it has been in flight, whatever its tries met before:
   * a submission may arrive late, and the feed leaves its rejection to an inquiry where it was sent more than once.
   */
  private askAgain(current: LoadedTransfer, pauseMaxMs = inquiryBackoff.maxMs): Promise<void> {
    const { paymentId, status, statusAt } = current.state;
    const { pending, clock } = this.options;
    if (status !== 'FAILED_IN_FLIGHT') return pending.again(paymentId, inquiryBackoff);
    const inFlightMs = jittered(Math.max(clock() - Date.parse(statusAt), inquiryBackoff.initialMs));
    const pauseMs = Math.min(inFlightMs, pauseMaxMs);
    return pending.again(paymentId, { initialMs: pauseMs, maxMs: pauseMs });
  }

  /**
   * Investigates a payment that must not be submitted again: it was refused, or the bank may have forgotten
   * it. It is FAILED only with proof. Otherwise the bank is asked until the payment is overdue.
   */
  async resolve(claimed: LoadedTransfer, cause: Cause): Promise<void> {
    const { pending } = this.options;
    const { paymentId } = claimed.state;
    const transfer = transferOf(claimed.state, this.options.banks);
    const sealed = await pending.seal(transfer, this.overdueInMs(claimed.state));
    if (this.isRemembered(claimed)) {
      const answer = await this.voided(claimed, transfer.reference);
      const isVoided =
        answer.outcome === 'voided' && (await this.isReliable(claimed, answer, sealed));
      if (isVoided && this.proves('voided', claimed, sealed))
        return this.failUnsent(claimed, cause);
    }
    const answer = await this.inquired(claimed, transfer.reference);
    switch (answer.outcome) {
      case 'accepted':
        if (await this.isAnother(claimed, transfer.reference, answer))
          return pending.again(paymentId, inquiryBackoff);
        return this.complete(claimed, cause);
      case 'error':
        if (!(await this.isReliable(claimed, answer, sealed)))
          return pending.again(paymentId, inquiryBackoff);
        return this.fail(claimed, cause, answer.rejection);
      case 'received':
        await pending.taken(paymentId, this.overdueInMs(claimed.state), inquiryBackoff.maxMs);
        return;
      case 'unknown':
        if (
          (await this.isReliable(claimed, answer, sealed)) &&
          this.proves('unknown', claimed, sealed)
        )
          return this.failUnsent(claimed, cause);
        return pending.again(paymentId, this.untilRuledOut(claimed, sealed));
      default:
        return unreachable(answer);
    }
  }

  /**
   * Milliseconds until a PROCESSING payment is overdue; 0 or less when it is.
   * @param sentAtMs when its connection sends it, milliseconds since the epoch: the time counts from then if it is later than the claim
   */
  readonly overdueInMs = ({ statusAt, paymentRail }: Payment, sentAtMs = 0): number => {
    const { confirmationTimeoutMs, clock } = this.options;
    const fromMs = Math.max(Date.parse(statusAt), sentAtMs);
    return fromMs + confirmationTimeoutMs(paymentRail, fromMs) - clock();
  };

  /** @throws BankUnavailable when its connection is not configured */
  private bankOf({ state }: LoadedTransfer): BankConnection {
    return this.options.banks.of(state).connection;
  }

  /** Whether the bank has forgotten it by both clocks: a wrong one must not end the inquiries. */
  private async hasForgotten(current: LoadedTransfer): Promise<boolean> {
    if (this.isRemembered(current)) return false;
    return !this.isRemembered(current, await this.options.pending.nowMs());
  }

  /** Whether the bank's answers about it are reliable, by this process's clock when none is given. */
  private isRemembered({ state }: LoadedTransfer, nowMs: number = this.options.clock()): boolean {
    const { banks } = this.options;
    const terms = banks.isConfigured(banks.nameOf(state))
      ? banks.of(state).connection.terms
      : { referenceMemoryMs: memoryDefaultMs };
    return remembers(terms, claimedAtMs(state), nowMs);
  }

  /**
   * Whether an answer that it is not executed can be relied on.
   * @param sealed of a payment that was sealed just before the answer. Of any other one, what was sent is long ago.
   */
  private async isReliable(
    current: LoadedTransfer,
    { isUnseen = false }: { readonly isUnseen?: boolean },
    sealed: Sealed | null = null,
  ): Promise<boolean> {
    if (!this.isRemembered(current)) return false;
    if (!isUnseen) return true;
    if (sealed === null || mayBeLost(claimedAtMs(current.state), this.options.clock()))
      return false;
    // A log that lost the claim gets another one, which is younger than what was sent.
    if (mayBeLost(sealed.lastNotedAtMs, sealed.latestMs)) return false;
    return !(await this.options.banks.of(current.state).isPaused(0));
  }

  /**
   * Whether what the bank has accepted is another transfer, by its answer or by the records of the connection: the log was
   * restored, and a client has created a lost payment again, under its key, with another amount or account. That one was not
   * executed, and staff must look at both. What the bank reports by itself is checked by NotificationRecorder.
   */
  private async isAnother(
    current: LoadedTransfer,
    reference: string,
    { sentAmountMinor = null }: Accepted,
  ): Promise<boolean> {
    const { paymentId } = current.state;
    const sentMinor =
      sentAmountMinor ?? (await this.bankOf(current).recordOf?.(reference))?.amountMinor ?? null;
    const amountMinor = transferAmountMinor(current.state);
    const { logger } = this.options;
    if (sentMinor !== null && sentMinor !== amountMinor) {
      const facts = { paymentId, reference, sentMinor, amountMinor };
      logger.error(facts, 'the bank has executed another amount under this reference');
      return true;
    }
    const isOther = await isOtherTransfer(current, reference, this.options);
    if (isOther)
      logger.error(
        { paymentId, reference },
        'the bank has executed a transfer with another account under this reference',
      );
    return isOther;
  }

  private proves(evidence: Evidence, claimed: LoadedTransfer, sealed: Sealed): boolean {
    // The later clock decides what the bank has forgotten, the earlier one what has arrived.
    if (!this.isRemembered(claimed, sealed.latestMs)) return false;
    return provesFailure(evidence, this.bankOf(claimed).terms, {
      claimedAtMs: claimedAtMs(claimed.state),
      lastNotedAtMs: sealed.lastNotedAtMs,
      askedAtMs: sealed.nowMs,
    });
  }

  /** When 'unknown' will be a proof; a later time if it never will. */
  private untilRuledOut(claimed: LoadedTransfer, { lastNotedAtMs, nowMs }: Sealed): Backoff {
    const waitMs = lastNotedAtMs + arrivalMaxMs(this.bankOf(claimed).terms) - nowMs;
    return waitMs > 0 ? { initialMs: waitMs, maxMs: waitMs } : inquiryBackoff;
  }

  /** A bank that refuses to void is asked about the transfer instead. */
  private async voided(claimed: LoadedTransfer, reference: string): Promise<VoidResult> {
    try {
      return await this.bankOf(claimed).void(reference);
    } catch (error) {
      if (!(error instanceof BankRefused)) throw error;
      return { outcome: 'unable' };
    }
  }

  /** A refused inquiry does not show what the bank has. */
  private async inquired(
    claimed: LoadedTransfer,
    reference: string,
  ): Promise<InquiryResult | { readonly outcome: 'received' }> {
    try {
      return await this.bankOf(claimed).inquire(reference);
    } catch (error) {
      if (!(error instanceof BankRefused)) throw error;
      return { outcome: 'received' };
    }
  }

  private async complete(current: LoadedTransfer, cause: Cause): Promise<void> {
    const { payments, pending } = this.options;
    const { paymentId } = current.state;
    const { state } = await payments.apply(paymentId, cause, whereAllowed(completion), current);
    if (state.status === 'FAILED') await this.showBrokenWord(state, 'confirmed');
    pending.completed(paymentId);
  }

  /** The payment was ended with proof, and the bank has it nevertheless. Its client may have paid again. */
  private async showBrokenWord(state: Payment, type: 'confirmed' | 'held'): Promise<void> {
    const { banks, keepNotification, logger } = this.options;
    const { paymentId } = state;
    const { reference } = transferOf(state, banks);
    const verb = type === 'held' ? 'holds' : 'accepted';
    logger.error({ paymentId, reference }, `the bank ${verb} a payment that is ${state.status}`);
    await keepNotification(banks.nameOf(state), answerOf(reference, type));
  }

  /**
   * The bank has answered a submission that it holds the payment. It may have rejected, or voided, it since: then an inquiry
   * says so. An inquiry that fails leaves it to staff.
   */
  private async showIfHeld(current: LoadedTransfer): Promise<void> {
    const { state } = current;
    const isNeverSent = state.status === 'FAILED_IN_FLIGHT' && state.lateRejection !== null;
    if (state.status !== 'FAILED' && !isNeverSent) return;
    const { reference } = transferOf(state, this.options.banks);
    const answer = await this.inquired(current, reference).catch(() => ({ outcome: 'received' }));
    if (answer.outcome !== 'error') await this.showBrokenWord(state, 'held');
  }

  /** Without the bank's word. A submission that was on its way may have been answered meanwhile, when the payment had no end yet. */
  private async failUnsent(claimed: LoadedTransfer, cause: Cause): Promise<void> {
    const failed = await this.recordFailure(claimed, cause, null);
    const row = await this.options.pending.find(failed.state.paymentId);
    if (row?.stage === 'submitted') await this.showIfHeld(failed);
    await this.endFailed(failed);
  }

  /** The row is deleted only when the payment has ended. It stays if the payment is FAILED_IN_FLIGHT by now. */
  private async fail(
    current: LoadedTransfer,
    cause: Cause,
    rejection: RailRejection,
  ): Promise<void> {
    await this.endFailed(await this.recordFailure(current, cause, rejection));
  }

  private async recordFailure(
    current: LoadedTransfer,
    cause: Cause,
    rejection: RailRejection | null,
  ): Promise<LoadedTransfer> {
    const { payments } = this.options;
    const { paymentId } = current.state;
    const failure = () => (rejection === null ? internalError() : failureBy(rejection));
    return payments.apply(paymentId, cause, whereAllowed(failure), current);
  }

  private async endFailed({ state: { paymentId, status } }: LoadedTransfer): Promise<void> {
    if (status !== 'FAILED_IN_FLIGHT') await this.options.pending.done(paymentId);
  }

  /**
   * The bank has forgotten the transfer, so its answers say nothing any more. The payment stays FAILED_IN_FLIGHT,
   * and the bank is not asked again. What it still reports by itself is recorded.
   */
  private async end({ state: { paymentId } }: LoadedTransfer): Promise<void> {
    const { pending, logger, tellStaff } = this.options;
    logger.error({ paymentId }, 'the bank never said what became of a payment in flight');
    await tellStaff(paymentId, 'unanswered');
    await pending.done(paymentId);
  }

  /** The payment stays FAILED_IN_FLIGHT. The bank is not asked any more. */
  private async rejectLate(
    current: LoadedTransfer,
    cause: Cause,
    rejection: RailRejection,
  ): Promise<void> {
    const { payments, pending, logger } = this.options;
    const { paymentId } = current.state;
    const late = () => lateRejection(rejection);
    await payments.apply(paymentId, cause, whereAllowed(late), current);
    logger.error({ paymentId }, 'a payment in flight was never executed');
    await pending.done(paymentId);
  }
}

/** As a notification. No feed has such a sequence. */
function answerOf(reference: string, type: 'confirmed' | 'held'): BankNotification {
  const answer = type === 'held' ? 'held' : 'accepted';
  return {
    ...{ sequence: `answer ${answer} ${reference}`, reference, type },
    ...{ returnReasonCode: null, returnReference: null, returnedAmount: null },
    ...{ rejection: null, sentAmountMinor: null, correction: null },
    at: new Date().toISOString(),
  };
}

/** Before its first submission. */
function claimedAtMs({ claimedAt, createdAt }: Payment): number {
  return Date.parse(claimedAt ?? createdAt);
}

const neverArrived: RailRejection = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: 'The payment never reached the bank: create a new payment.',
  reason: 'The bank does not have the payment, and it can no longer arrive. No funds were moved.',
  railCode: null,
};

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

const completion = () =>
  ({ type: 'CompletePayment', at: new Date().toISOString(), data: {} }) as const;

/** For data failures the message names the field and the reason repeats the message (spec, Payment). */
export const failureBy = (rejection: RailRejection) => {
  const { failureCode, field, message, reason } = storable(rejection);
  const failureMessage =
    field === null || message.includes(field) ? message : `${field}: ${message}`;
  const failureReason = failureCode === 'INTERNAL_ERROR' ? reason : failureMessage;
  return {
    type: 'FailPayment',
    at: new Date().toISOString(),
    data: { failureCode, failureMessage, failureReason },
  } as const;
};

export const lateRejection = (rejection: RailRejection) =>
  ({
    type: 'RejectPaymentLate',
    at: new Date().toISOString(),
    data: storable(rejection),
  }) as const;

/** The bank may have sent anything. A store refuses NUL and halves of surrogate pairs. */
function storable(rejection: RailRejection): RailRejection {
  const clean = (text: string) => text.replaceAll('\0', '\ufffd').toWellFormed();
  const orNull = (text: string | null) => (text === null ? null : clean(text));
  return {
    failureCode: rejection.failureCode,
    field: orNull(rejection.field),
    message: clean(rejection.message),
    reason: clean(rejection.reason),
    railCode: orNull(rejection.railCode),
  };
}

export const internalError = () =>
  ({
    type: 'FailPayment',
    at: new Date().toISOString(),
    data: {
      failureCode: 'INTERNAL_ERROR',
      failureMessage:
        'An unexpected error prevented the submission: wait a few minutes, then create a new payment.',
      failureReason: 'The payment could not be submitted to the rail. No funds were moved.',
    },
  }) as const;
