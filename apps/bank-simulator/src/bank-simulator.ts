/**
 * The simulated bank as the port to the bank sees it: for tests, and for payments of older releases. The desks for
 * files and messages post to the same ledger. What becomes of a transfer is decided by the scenarios.
 */
import {
  BankRefused,
  type BankNotification,
  type BankNotificationPage,
  type BankTerms,
  type InProcessBank,
  type InquiryResult,
  notificationsMax,
  type RailRejection,
  type SubmissionResult,
  type TransferInstruction,
  type VoidResult,
  describeIssues,
  transferInstructionSchema,
} from '@pis/bank-rails';
import type pg from 'pg';
import { BankCore, type BankSimulatorOptions, firstReportInMs, Hints } from './bank-core.js';
import type { Posted } from './ledger.js';
import { publishUntilNow, type PublishedReport, reportsAfter } from './reports.js';

export type { BankSimulatorOptions } from './bank-core.js';

export class BankSimulator implements InProcessBank {
  readonly terms: BankTerms;
  private readonly core: BankCore;
  private readonly hints = new Hints();

  constructor(
    private readonly pool: pg.Pool,
    options: BankSimulatorOptions,
  ) {
    this.core = new BankCore(pool, options);
    this.terms = this.core.terms;
  }

  async submit(instruction: TransferInstruction): Promise<SubmissionResult> {
    const order = validated(instruction);
    const { achAccountNumber, achRoutingNumber } = order.contactAccount;
    const { reference, paymentId, rail, direction, amountMinor, currencyCode } = order;
    const course = this.core.courseOf({
      ...{ rail, direction, amountMinor, name: order.contactName },
      accountNumber: achAccountNumber,
      routingNumber: achRoutingNumber,
    });
    const posted = await this.core.ledger.post({
      ...{ reference, channel: 'json', paymentId, rail, direction, amountMinor, currencyCode },
      accountLastFour: achAccountNumber.slice(-4),
      ...{ course, details: null },
    });
    if (!sameTerms(posted, order))
      throw new BankRefused('the reference was used for a transfer with other terms');
    this.hints.in(firstReportInMs([course]));
    return submissionResult(posted);
  }

  async inquire(reference: string): Promise<InquiryResult> {
    const transfer = await this.core.ledger.inquire(reference);
    if (transfer === null) return { outcome: 'unknown' };
    if (transfer.notified) this.hints.now();
    switch (transfer.status) {
      case 'accepted':
        return { outcome: 'accepted', sentAmountMinor: amountOf(transfer) };
      case 'pending':
        return { outcome: 'received' };
      case 'refused':
        return { outcome: 'error', rejection: rejectionOf(transfer.code) };
      case 'voided':
        return { outcome: 'error', rejection: voided };
    }
  }

  async void(reference: string): Promise<VoidResult> {
    const { status } = await this.core.ledger.void(reference, 'json');
    return { outcome: status === 'voided' ? 'voided' : 'received' };
  }

  async notifications({
    after,
    max,
  }: {
    readonly after: string;
    readonly max: number;
  }): Promise<BankNotificationPage> {
    this.hints.in(await publishUntilNow(this.pool, 'json'));
    const reports = await reportsAfter(this.pool, 'json', {
      after,
      max: Math.min(max, notificationsMax),
    });
    return {
      notifications: reports.flatMap(notificationOf),
      cursor: reports.at(-1)?.sequence ?? after,
    };
  }

  onNotification(listener: () => void): () => void {
    return this.hints.listen(listener);
  }
}

function validated(instruction: TransferInstruction): TransferInstruction {
  const parsed = transferInstructionSchema.safeParse(instruction);
  if (!parsed.success) throw new BankRefused(`bad instruction: ${describeIssues(parsed.error)}`);
  return parsed.data;
}

function sameTerms(transfer: Posted, order: TransferInstruction): boolean {
  if (transfer.payment_id === null) return true;
  return (
    transfer.payment_id === order.paymentId.toLowerCase() &&
    transfer.direction === order.direction &&
    Number(transfer.amount_minor) === order.amountMinor &&
    transfer.currency_code === order.currencyCode
  );
}

/** Null of what was voided before it came. */
function amountOf({ amount_minor: amount }: Posted): number | null {
  return amount === null ? null : Number(amount);
}

function submissionResult({ status, plan, code }: Posted): SubmissionResult {
  switch (status) {
    case 'accepted':
      return { outcome: 'accepted' };
    case 'refused':
      return { outcome: 'error', rejection: rejectionOf(code) };
    case 'voided':
      return { outcome: 'error', rejection: voided };
    case 'pending':
      return { outcome: 'pending', confirmationExpected: plan !== 'hold' };
  }
}

/** Corrections exist only in NACHA files. */
function notificationOf(report: PublishedReport): BankNotification[] {
  const { sequence, reference, type, code, dueAt, amountMinor: sentAmountMinor } = report;
  if (type === 'corrected') return [];
  return [
    {
      sequence,
      reference,
      type,
      returnReasonCode: type === 'returned' ? code : null,
      // The books have one return of a transfer, however often it is reported.
      returnReference: type === 'returned' ? `return-${reference}` : null,
      returnedAmount: null,
      sentAmountMinor,
      rejection: type === 'rejected' ? rejectionOf(code) : null,
      correction: null,
      at: dueAt.toISOString(),
    },
  ];
}

const voided = internalError('The transfer was voided. No funds were moved.', null);

function rejectionOf(code: string | null): RailRejection {
  return internalError('The bank could not take the transfer. No funds were moved.', code);
}

function internalError(reason: string, railCode: string | null): RailRejection {
  return {
    failureCode: 'INTERNAL_ERROR',
    field: null,
    message:
      'An unexpected error prevented the submission: wait a few minutes, then create a new payment.',
    reason,
    railCode,
  };
}
