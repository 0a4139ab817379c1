/** A queued payment on its way to the claim: the review, the hours of its rail, and what its bank needs before. */
import {
  BankRefused,
  type Readiness,
  type RoutingDirectory,
  stopwatch,
  type TransferInstruction,
} from '@pis/bank-rails';
import type { Cause, LoadedTransfer, TransferStream } from '@pis/commands';
import { type Payment, type PaymentBlock, type PaymentCommand, unreachable } from '@pis/domain';
import { WrongExpectedRevision } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import type { Logger } from '@pis/service-kit';
import type { Bank, Banks } from './banks.js';
import type { ClockGate } from './clock-gate.js';
import { type ClaimedPayments, retryBackoff } from './claimed-payments.js';
import type { ErasureGuard, Side } from './erasure-guard.js';
import type { Backoff, PendingTransfers, Transfer } from './pending-transfers.js';
import { presentedTooLate } from './presented-collections.js';
import { rejectionBeforeRail, rejectionWithoutRail } from './rail-checks.js';
import type { Review } from './review/review.js';
import { recordBefore } from './sent-collections.js';
import { instructionUnlessErased } from './transfer-instruction.js';
import { over, transferOf } from './transfer-of.js';
import { failureBy, type TransferOutcomeOptions } from './transfer-outcome.js';

export interface QueuedPaymentsOptions {
  readonly payments: TransferStream;
  readonly banks: Banks;
  readonly clocks: Pick<ClockGate, 'pass'>;
  readonly keyring: Keyring;
  readonly pending: PendingTransfers;
  readonly claimed: ClaimedPayments;
  readonly erasures: Pick<ErasureGuard, 'clearanceFor'>;
  readonly review: Pick<Review, 'of'>;
  readonly directory: RoutingDirectory;
  /** How long a simulated review takes, milliseconds. */
  readonly reviewDelayMs: number;
  readonly logger: Logger;
  /** See TransferOutcomeOptions. */
  readonly confirmationTimeoutMs: TransferOutcomeOptions['confirmationTimeoutMs'];
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** A rule of the review holds the payment: other rules may release it. */
const heldBackoff: Backoff = { initialMs: 60_000, maxMs: 24 * 3_600_000 };
/** While the erasure of a party is requested. It ends within seconds, or waits for an operator. */
const erasureBackoff: Backoff = { initialMs: 1_000, maxMs: 60_000 };
/** Until the banks file has what a collection needs. Each try is logged. */
const configurationBackoff: Backoff = { initialMs: 60_000, maxMs: 600_000 };
/** The clock of the process that created the payment may be ahead. */
const reviewPauseMinMs = 20;
/** The clock of this process may be ahead of the bank's connection. */
const readinessPauseMinMs = 20;

export class QueuedPayments {
  constructor(private readonly options: QueuedPaymentsOptions) {}

  /** @throws BankUnavailable, BankAnswerUnclear, NoBank */
  async start(current: LoadedTransfer, cause: Cause): Promise<void> {
    const { pending, review, directory, keyring, logger } = this.options;
    await this.options.clocks.pass();
    const transfer = this.transferOf(current.state);
    // First: nothing is sent before the review is over, and all that follows is checked then.
    const reviewInMs = this.reviewInMs(current.state);
    if (reviewInMs > 0) {
      await pending.wait(transfer, { initialMs: reviewInMs, maxMs: reviewInMs, isExact: true });
      return;
    }
    const before = await recordBefore(current, transfer, this.options.banks);
    if (before !== null) {
      await this.options.banks.requireRecords();
      const { paymentId } = transfer;
      logger.error({ paymentId, ...before.facts }, before.message);
      // Not by `end`, which would take the answer of the bank about the earlier one.
      await this.options.payments.record(current, [before.command], cause);
      return pending.done(paymentId);
    }
    const tooLate = await this.tooLate(current);
    if (tooLate !== null) return this.end(current, tooLate, cause);
    const clearance = await this.options.erasures.clearanceFor(current);
    if (clearance === 'hold') {
      await pending.wait(transfer, erasureBackoff);
      return;
    }
    if (clearance !== 'clear') return this.end(current, erasedFailure(clearance), cause);
    const noRail = rejectionWithoutRail(current.state);
    if (noRail !== null) return this.end(current, failureBy(noRail), cause);
    const { state } = current;
    const instruction = await instructionUnlessErased(current, transfer.reference, keyring);
    if (typeof instruction === 'string')
      return this.end(current, erasedFailure(instruction), cause);
    const rejection = await rejectionBeforeRail(instruction, state, directory);
    if (rejection !== null) return this.end(current, failureBy(rejection), cause);
    const result = await review.of(instruction, current.owner);
    switch (result.outcome) {
      case 'clear':
        return this.handOver(current, transfer, instruction, cause);
      case 'blocked':
        return this.end(current, blocked(result.block), cause);
      case 'rejected':
        return this.end(current, failureBy(result.rejection), cause);
      case 'hold':
        logger.warn(
          { paymentId: transfer.paymentId, rule: result.rule },
          'the review holds a payment',
        );
        await pending.wait(transfer, heldBackoff);
        return;
      default:
        return unreachable(result);
    }
  }

  /**
   * Ends a payment that was not sent, unless its row or a connection's records say more than QUEUED: the bank may have
   * the payment, and the stream lacks the claim, because it was restored from a backup or the claimer died. Then it is
   * claimed, its row is sealed so that it is never sent again, and the bank decides.
   * @throws ConnectionPaused while the row and the records may be lost, too
   */
  async end(current: LoadedTransfer, command: PaymentCommand, cause: Cause): Promise<void> {
    const { payments, banks, pending } = this.options;
    const { paymentId } = current.state;
    const row = await pending.find(paymentId);
    const isSent = row !== null && row.stage !== 'queued';
    const transfer = isSent
      ? over(row, this.transferOf(current.state))
      : await this.recorded(this.transferOf(current.state));
    if (transfer === null) {
      await banks.requireRecords();
      await payments.record(current, [command], cause);
      return pending.done(paymentId);
    }
    return this.claimSent(current, transfer, cause);
  }

  private tooLate(current: LoadedTransfer): Promise<PaymentCommand | null> {
    const { payments, clock } = this.options;
    return presentedTooLate(current, (id) => payments.load(id), clock());
  }

  /** Milliseconds until the simulated review is over; 0 when it is. */
  private reviewInMs({ statusAt }: Payment): number {
    const { reviewDelayMs, clock } = this.options;
    const inMs = Math.min(Date.parse(statusAt) + reviewDelayMs - clock(), reviewDelayMs);
    return inMs <= 0 ? 0 : Math.max(inMs, reviewPauseMinMs);
  }

  /**
   * A rail that is closed gets the payment when it opens: its time counts from then. Nothing is claimed for a bank
   * that is known to be away: payments that it cannot take would end as FAILED_IN_FLIGHT. It is asked whether it is
   * back. Nor is anything claimed for a connection that is paused. What must be over at the bank before, such as a
   * prenote, is waited for.
   * @throws BankUnavailable, NoBank
   */
  private async handOver(
    current: LoadedTransfer,
    transfer: Transfer,
    instruction: TransferInstruction,
    cause: Cause,
  ): Promise<void> {
    const { banks, pending, clock } = this.options;
    if (await this.waitsForConfiguration(current, transfer)) return;
    const bank = banks.of(current.state);
    const opensInMs = bank.opensInMs(transfer.rail, clock());
    if (opensInMs > 0) {
      await pending.wait(transfer, { initialMs: opensInMs, maxMs: opensInMs, isExact: true });
      return;
    }
    await bank.pass();
    if (bank.isDoubtful) await this.checkBank(bank, transfer);
    const readiness = (await bank.connection.prepare?.(instruction)) ?? ready;
    switch (readiness.outcome) {
      case 'ready':
        return this.claim(current, transfer, cause);
      case 'error':
        return this.end(current, failureBy(readiness.rejection), cause);
      case 'wait': {
        await pending.wait(transfer, this.waitFor(readiness.untilMs));
        // An answer that came before the row was written has woken nobody.
        const since = (await bank.connection.prepare?.(instruction)) ?? ready;
        if (isSooner(since, readiness.untilMs)) await pending.lookAgain(transfer.paymentId);
        return;
      }
      default:
        return unreachable(readiness);
    }
  }

  /** A collection is the operator's own: it waits for a banks file that can take it, however long. */
  private async waitsForConfiguration(
    current: LoadedTransfer,
    transfer: Transfer,
  ): Promise<boolean> {
    if (current.owner !== 'collection') return false;
    const { banks, pending, logger } = this.options;
    const missing = banks.missingFor(current);
    if (missing === null) return false;
    const { paymentId } = transfer;
    logger.error({ paymentId, missing }, 'a collection waits for an entry of the banks file');
    await pending.wait(transfer, configurationBackoff);
    return true;
  }

  private waitFor(untilMs: number | null): Backoff {
    if (untilMs === null) return retryBackoff;
    const inMs = Math.max(untilMs - this.options.clock(), readinessPauseMinMs);
    return { initialMs: inMs, maxMs: inMs, isExact: true };
  }

  private async checkBank({ circuit }: Bank, { reference }: Transfer): Promise<void> {
    try {
      await circuit.check(reference);
    } catch (error) {
      if (!(error instanceof BankRefused)) throw error;
    }
  }

  /**
   * Claims a payment that the bank may have. Nothing more is sent. The seal is no append, so a remembered state does not
   * do: if another executor has claimed the payment meanwhile, that claim goes on.
   */
  private async claimSent(
    current: LoadedTransfer,
    transfer: Transfer,
    cause: Cause,
  ): Promise<void> {
    const { payments, pending, confirmationTimeoutMs, clock } = this.options;
    const { paymentId } = transfer;
    const { revision } = await payments.load(paymentId);
    if (revision !== current.revision)
      throw new WrongExpectedRevision(paymentId, current.revision, revision);
    const row = await pending.find(paymentId);
    if (row === null || row.stage === 'queued' || row.stage === 'claimed')
      await pending.seal(transfer, confirmationTimeoutMs(transfer.rail, clock()));
    return this.claim(current, transfer, cause);
  }

  /** The transfer over the connection that has a record of it; null when none has. */
  private async recorded(transfer: Transfer): Promise<Transfer | null> {
    const connection = await this.options.pending.recordedOver(transfer);
    return connection === null ? null : { ...transfer, connection };
  }

  /**
   * The row first: it does no harm when the append fails, and a claim without a row could be forgotten. If another
   * connection has a record of the transfer, the log was restored, and the rail has moved since, or its client has repeated
   * the payment over another rail. The own connection knows its references when it submits.
   */
  private async claim(current: LoadedTransfer, transfer: Transfer, cause: Cause): Promise<void> {
    const { payments, banks, pending, confirmationTimeoutMs, clock } = this.options;
    const sinceNotedMs = stopwatch();
    const noted = await pending.note(transfer, confirmationTimeoutMs(transfer.rail, clock()));
    const isNoted = noted === 'noted';
    const row = isNoted ? null : await pending.find(transfer.paymentId);
    if (row === null || row.stage === 'queued') {
      if (noted === 'paused') return banks.of(current.state).refuse();
      if (typeof noted === 'object')
        return this.claimSent(current, { ...transfer, ...noted }, cause);
    }
    const { connection } = row === null ? transfer : over(row, transfer);
    const data = { railReference: transfer.reference, connection };
    const claimed = await payments.record(
      current,
      [{ type: 'ProcessPayment', at: now(), data }],
      cause,
    );
    // The row has submissions that the stream lacks: the stream was restored from a backup.
    if (!isNoted) return this.options.claimed.resume(claimed, cause);
    return this.options.claimed.submit(claimed, transfer, cause, sinceNotedMs);
  }

  private transferOf(payment: Payment): Transfer {
    return transferOf(payment, this.options.banks);
  }
}

const ready: Readiness = { outcome: 'ready' };

/** Whether it is worth a look before this time. Null: it is looked at soon anyway. */
function isSooner(since: Readiness, untilMs: number | null): boolean {
  if (since.outcome !== 'wait') return true;
  return untilMs !== null && (since.untilMs === null || since.untilMs < untilMs);
}

function erasedFailure(side: Side): PaymentCommand {
  const failureMessage = `${side}: its personal data was erased`;
  const failureCode = side === 'contact' ? 'INVALID_CONTACT_DATA' : 'INVALID_ORIGINATOR_DATA';
  const data = { failureCode, failureMessage, failureReason: failureMessage } as const;
  return { type: 'FailPayment', at: now(), data };
}

function blocked(data: PaymentBlock): PaymentCommand {
  return { type: 'BlockPayment', at: now(), data };
}

function now(): string {
  return new Date().toISOString();
}
