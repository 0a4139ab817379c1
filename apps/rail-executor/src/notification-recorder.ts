/**
 * Records the bank's notifications of one payment, in the order of the feed. Recording a notification twice
 * changes nothing. A notification that does not fit the payment yet holds up later ones of the same
 * payment. A notification that contradicts the payment's status for good does not, nor does one that the payment has
 * and its contact cannot take.
 *
 * A return proves that the bank had accepted the transfer. It may arrive before COMPLETED is recorded,
 * because the executor died in between or is about to record it. Then both facts are appended together:
 * waiting for the other one could take forever.
 */
import {
  type BankNotification,
  type BankNotificationType,
  BankUnavailable,
  paymentIdOfRailReference,
  type RailRejection,
} from '@pis/bank-rails';
import {
  type ContactReports,
  type LoadedTransfer,
  TransferMissing,
  type TransferStream,
} from '@pis/commands';
import {
  actsFrom,
  canComeBack,
  canComeBackLater,
  correctionsMax,
  finalStatuses,
  laterReturnsMax,
  type Payment,
  type PaymentCommand,
  type PaymentCorrection,
  type PaymentReturn,
  type PaymentStatus,
  transferAmountMinor,
  unreachable,
} from '@pis/domain';
import { isTransient } from '@pis/postgres';
import type { Logger } from '@pis/service-kit';
import type { Bank, Banks } from './banks.js';
import type { Outcome, Turn, Unmatched } from './notification-table.js';
import { type Comparison, isOlderThanClaim, isOtherTransfer } from './other-transfer.js';
import type { PendingTransfers } from './pending-transfers.js';
import { failureBy, lateRejection } from './transfer-outcome.js';

/** A turn's outcome. `cause` is set when a dependency is unavailable. */
export interface Recording extends Outcome {
  readonly cause?: unknown;
}

/** The notification cannot be recorded on the payment as it was read. */
class Unfit extends Error {
  override readonly name = 'Unfit';
  constructor(
    message: string,
    /** No later status of this payment can accept it. A stale read cannot be the reason. */
    readonly contradicts: boolean,
  ) {
    super(message);
  }
}

/** The transfer is to be compared with the payment before the notification is recorded. */
class Uncompared extends Error {}

export interface NotificationRecorderOptions {
  readonly payments: TransferStream;
  readonly pending: Pick<PendingTransfers, 'held' | 'lookAgain'>;
  readonly contacts: Pick<ContactReports, 'noteCorrection' | 'noteReturn'>;
  /** Whose feed it is. */
  readonly bank: Pick<Bank, 'name'>;
  readonly banks: Pick<Banks, 'nameOf'> & Comparison['banks'];
  readonly keyring: Comparison['keyring'];
  readonly logger: Logger;
}

export class NotificationRecorder {
  constructor(private readonly options: NotificationRecorderOptions) {}

  /** Never rejects: a failure of one payment must not affect others. */
  async record({ reference, tries, notifications }: Turn): Promise<Recording> {
    const paymentId = paymentIdOfRailReference(reference);
    const recorded: string[] = [];
    const unmatched: Unmatched[] = [];
    let current: LoadedTransfer | undefined;
    const result = (ended: Outcome['ended']) => {
      const hasEnded = current !== undefined && needsNoTimer(current.state);
      return { reference, paymentId: hasEnded ? paymentId : null, recorded, unmatched, ended };
    };
    let ended: Outcome['ended'] = 'tried';
    for (const [index, notification] of notifications.entries()) {
      const { sequence } = notification;
      let isOnPayment = false;
      try {
        const later = notifications.slice(index + 1);
        const isOvertaken = later.some(({ type }) => type === 'rejected');
        current = await this.recordOne(paymentId, notification, { current, isOvertaken });
        isOnPayment = true;
        await this.noteOnContact(notification, current.state);
        recorded.push(sequence);
      } catch (error) {
        if (isAway(error)) return { ...result('away'), cause: error };
        const reason = error instanceof Error ? error.message : String(error);
        const contradicts = error instanceof Unfit && error.contradicts;
        unmatched.push({ sequence, reason, contradicts });
        if (tries === 0) this.report(notification, error, reason);
        if (contradicts) continue;
        ended = 'held';
        // Its contact cannot be read or written. What the bank says next about the payment does not wait for that.
        if (isOnPayment) continue;
        for (const later of notifications.slice(index + 1))
          unmatched.push({ ...later, reason: `waits for ${sequence}`, contradicts: false });
        break;
      }
    }
    return result(ended);
  }

  private async recordOne(
    paymentId: string | null,
    notification: BankNotification,
    {
      current,
      isOvertaken,
    }: {
      readonly current: LoadedTransfer | undefined;
      /** The bank has rejected the transfer since. That may be recorded already. */
      readonly isOvertaken: boolean;
    },
  ): Promise<LoadedTransfer> {
    // Its meaning is unknown. The bank still has it, at this position of its feed.
    if (notification.type === 'unreadable' && notification.returnedAmount === null)
      throw new Unfit('this release cannot read what the bank reported', true);
    if (paymentId === null) throw new Unfit('no payment can have this reference', true);
    const { type } = notification;
    const { payments, pending } = this.options;
    const choose = (isCompared: boolean) => (payment: Payment) => {
      // It is about no submission of this payment.
      if (type === 'prenote') return [];
      if (type === 'held' && isOvertaken) return [];
      if (type === 'unreadable') throw misfitOf({ ...notification, type: 'returned' }, payment);
      const commands = commandsFor({ ...notification, type }, payment);
      this.checkSource(payment);
      if (
        !isCompared &&
        type !== 'rejected' &&
        isOlderThanClaim(notification.recordedAt, payment.claimedAt)
      )
        throw new Uncompared();
      return commands;
    };
    const recorded = await payments
      .apply(paymentId, {}, choose(false), current)
      .catch(async (error: unknown) => {
        if (!(error instanceof Uncompared)) throw error;
        const loaded = await payments.load(paymentId);
        if (await isOtherTransfer(loaded, notification.reference, this.options))
          throw new Unfit('the bank has another account under this reference', true);
        return payments.apply(paymentId, {}, choose(true), loaded);
      });
    if (type === 'held' && recorded.state.status === 'PROCESSING') await pending.held(paymentId);
    if (type === 'prenote' && recorded.state.status === 'QUEUED')
      await pending.lookAgain(paymentId);
    return recorded;
  }

  /** After the payment: a crash in between leaves the notification, which is recorded again. */
  private async noteOnContact(notification: BankNotification, payment: Payment): Promise<void> {
    const { contacts } = this.options;
    if (notification.correction !== null)
      await contacts.noteCorrection(payment, notification.correction);
    if (notification.type === 'returned' && !isLaterReturn(notification, payment))
      await contacts.noteReturn(payment);
  }

  /** Only the bank that a payment was submitted to can report on it. @throws Unfit */
  private checkSource(payment: Payment): void {
    const { bank, banks } = this.options;
    const name = banks.nameOf(payment);
    if (name !== bank.name)
      throw new Unfit(`reported by ${bank.name}, but submitted to ${name}`, true);
  }

  private report(notification: BankNotification, error: unknown, reason: string): void {
    const isExpected = error instanceof Unfit || error instanceof TransferMissing;
    this.options.logger.error(
      { notification, reason, ...(!isExpected && { err: error }) },
      isExpected
        ? 'a bank notification fits no payment; it is kept and tried again'
        : 'a bank notification could not be recorded; it is kept and tried again',
    );
  }
}

/** Nothing is wrong with the notification: a dependency is unavailable. */
function isAway(error: unknown): boolean {
  return error instanceof BankUnavailable || isTransient(error);
}

type Readable = BankNotification & { readonly type: Exclude<BankNotificationType, 'prenote'> };

/**
 * The commands that a notification leads to in the payment's status; none when it is already recorded.
 * @throws Unfit
 */
function commandsFor(notification: Readable, payment: Payment): readonly PaymentCommand[] {
  const { type, reference, rejection, correction } = notification;
  const { status, railReference } = payment;
  // The claim may be recorded and not visible yet.
  const isBeforeClaim = status === 'QUEUED' || status === 'AWAITING_CONFIRMATION';
  if (railReference !== reference)
    throw new Unfit(`${status}, never submitted as ${reference}`, !isBeforeClaim);
  checkAmount(notification, payment);
  const at = new Date().toISOString();
  const complete: PaymentCommand = { type: 'CompletePayment', at, data: {} };
  const unsettled = status === 'PROCESSING' || status === 'FAILED_IN_FLIGHT';
  switch (type) {
    case 'confirmed':
      if (unsettled) return [complete];
      if (status === 'COMPLETED' || status === 'RETURNED') return [];
      break;
    case 'returned': {
      if (status === 'RETURNED') return returnedAgain(notification, payment, at);
      const data = returnOf(notification, payment);
      const giveBack: PaymentCommand = { type: 'ReturnPayment', at, data };
      if (unsettled) return [complete, giveBack];
      if (status === 'COMPLETED') return [giveBack];
      break;
    }
    case 'rejected':
      if (status === 'FAILED') return [];
      if (status === 'PROCESSING') return [rejected(rejection)];
      if (status === 'FAILED_IN_FLIGHT') return [lateRejection(rejection ?? unexplained)];
      break;
    case 'corrected':
      if (correction === null) throw new Unfit('a correction without the corrected data', true);
      if (!corrects.includes(status)) break;
      // A bank that repeats one in each of its files must not keep the payment's return from being recorded.
      if (payment.corrections.length >= correctionsMax && !isNoted(correction, payment))
        throw new Unfit(`more than ${correctionsMax} corrections`, true);
      return [{ type: 'CorrectPayment', at, data: correction }];
    case 'held':
      // Only the deadline goes. A later status says more, unless it says that the bank does not have the transfer.
      if (status === 'FAILED' || (status === 'FAILED_IN_FLIGHT' && payment.lateRejection !== null))
        break;
      return [];
    default:
      return unreachable(type);
  }
  throw new Unfit(`${type}, but the payment is ${status}`, true);
}

/**
 * The bank moves, or holds, another payment under this reference: the log was restored, and a client has created a lost payment
 * again, under its key, with another amount. This one was not executed, and staff must look at both. A rejection is
 * recorded: under the reference nothing is executed, whatever the amount. So is a correction of the same account.
 * @throws Unfit
 */
function checkAmount({ type, sentAmountMinor }: Readable, payment: Payment): void {
  if (type === 'rejected' || type === 'corrected' || sentAmountMinor === null) return;
  const amountMinor = transferAmountMinor(payment);
  if (sentAmountMinor === amountMinor) return;
  const amounts = `${sentAmountMinor}, not ${amountMinor} (minor units)`;
  throw new Unfit(`the bank has another amount under this reference: ${amounts}`, true);
}

/** @throws Unfit for an amount that cannot be of this payment */
function returnOf(
  { returnReasonCode, returnReference, returnedAmount }: Readable,
  payment: Payment,
): PaymentReturn {
  const named = { returnReasonCode, ...(returnReference !== null && { returnReference }) };
  if (returnedAmount === null) return named;
  const { amountMinor: returnedAmountMinor, currencyCode } = returnedAmount;
  const { paymentRail } = payment;
  if (currencyCode !== payment.currencyCode)
    throw new Unfit(`a return in ${currencyCode} of a payment in ${payment.currencyCode}`, true);
  const sentAmountMinor = transferAmountMinor(payment);
  if (!canComeBack(returnedAmountMinor, { paymentRail, sentAmountMinor }))
    throw new Unfit(
      `a return of ${returnedAmountMinor} over ${paymentRail}, which moved ${sentAmountMinor} (minor units)`,
      true,
    );
  return { ...named, returnedAmountMinor };
}

/** Why a return does not fit, as its connection has found. */
function misfitOf(notification: Readable, payment: Payment): Error {
  try {
    returnOf(notification, payment);
  } catch (error) {
    if (error instanceof Unfit) return error;
    throw error;
  }
  // The payment has another amount than the transfer that its connection has sent.
  const { amountMinor, currencyCode } = notification.returnedAmount ?? {};
  const what = `${amountMinor} ${currencyCode} (minor units)`;
  return new Unfit(`a return of ${what}, which does not fit what the bank was sent`, true);
}

/**
 * A bank that names the amount may return the rest under another reference. The payment is RETURNED once, so a later
 * return is a note of it. @throws Unfit for more than was sent, as is another return of the whole transfer, and for another
 * amount under the reference of a return that is recorded
 */
function returnedAgain(
  notification: Readable,
  payment: Payment,
  at: string,
): readonly PaymentCommand[] {
  const { returnReasonCode, returnReference, returnedAmount } = notification;
  const { returnReference: first, laterReturns } = payment;
  // Without both references, nobody can tell it from the first one.
  if (first === null) return [];
  if (returnReference === null && returnedAmount === null) return [];
  const what =
    returnedAmount === null
      ? 'the whole amount'
      : `${returnedAmount.amountMinor} ${returnedAmount.currencyCode} (minor units)`;
  const known = [payment, ...laterReturns].find(
    (recorded) => recorded.returnReference === returnReference,
  );
  if (known !== undefined) {
    const knownMinor = known.returnedAmountMinor ?? transferAmountMinor(payment);
    if (isAmount(returnedAmount, knownMinor, payment)) return [];
    throw new Unfit(`return ${returnReference} again, of ${what}, after ${knownMinor}`, true);
  }
  const fits =
    returnedAmount?.currencyCode === payment.currencyCode &&
    canComeBackLater(returnedAmount.amountMinor, payment) &&
    laterReturns.length < laterReturnsMax;
  if (!fits || returnReference === null)
    throw new Unfit(`another return, ${returnReference}, of ${what}, after ${first}`, true);
  const { amountMinor: returnedAmountMinor } = returnedAmount;
  const data = { returnReasonCode, returnReference, returnedAmountMinor };
  return [{ type: 'ReturnPaymentAgain', at, data }];
}

/** Whether a bank may mean this amount, minor units. One that names none has returned the whole transfer. */
function isAmount(
  returned: Readable['returnedAmount'],
  amountMinor: number,
  payment: Payment,
): boolean {
  if (returned === null) return amountMinor === transferAmountMinor(payment);
  return returned.amountMinor === amountMinor && returned.currencyCode === payment.currencyCode;
}

function isLaterReturn(
  { returnReference }: Pick<BankNotification, 'returnReference'>,
  { laterReturns }: Payment,
): boolean {
  return laterReturns.some((later) => later.returnReference === returnReference);
}

function isNoted({ corrected }: PaymentCorrection, { corrections }: Payment): boolean {
  return corrections.some((known) => known.corrected === corrected);
}

/** Nothing more is asked of the bank. */
function needsNoTimer({ status, lateRejection }: Payment): boolean {
  if (status === 'FAILED_IN_FLIGHT') return lateRejection !== null;
  return finalStatuses.includes(status);
}

const corrects: readonly PaymentStatus[] = actsFrom.CorrectPayment;

const unexplained: RailRejection = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: 'The bank rejected the payment: wait a few minutes, then create a new payment.',
  reason: 'The bank rejected the transfer after it was submitted. No funds were moved.',
  railCode: null,
};

function rejected(rejection: RailRejection | null): PaymentCommand {
  return failureBy(rejection ?? unexplained);
}
