/**
 * The bank's side of the rails, for the sandbox and the tests: a bank with its own books. It stores which
 * plan a transfer follows, but not the account numbers that chose the plan. A transfer executes once per
 * reference. Another submission is counted and answered with the transfer's status. Like a real bank it
 * forgets: a reference older than `referenceMemoryMs` is executed again when it is submitted again.
 */
import {
  BankRefused,
  type BankTerms,
  type InProcessBank,
  type InquiryResult,
  type RailRejection,
  type SubmissionResult,
  type TransferInstruction,
  type VoidResult,
  describeIssues,
  simulatedBankTerms,
  transferInstructionSchema,
} from '@pis/bank-rails';
import type pg from 'pg';
import { readFeed } from './notification-feed.js';
import { type Plan, type TransferStatus, courseOf, planOf } from './plan.js';

export interface BankSimulatorOptions {
  /** How long the bank takes at each step, milliseconds; with 0 it answers at once. */
  readonly delayMs: number;
  readonly terms?: BankTerms;
}

interface TransferRow {
  payment_id: string | null;
  direction: string | null;
  amount_minor: string | null;
  currency_code: string | null;
  plan: Plan['name'];
  status: TransferStatus | 'voided';
}

/** A share of the time that a submission may be in flight. The rest is for the line to the bank. */
export const queueShare = 0.5;

const refused = internalError('The bank could not take the transfer. No funds were moved.');
const voided = internalError('The transfer was voided. No funds were moved.');

function internalError(reason: string): RailRejection {
  return {
    failureCode: 'INTERNAL_ERROR',
    field: null,
    message:
      'An unexpected error prevented the submission: wait a few minutes, then create a new payment.',
    reason,
    railCode: null,
  };
}

export class BankSimulator implements InProcessBank {
  readonly terms: BankTerms;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly pool: pg.Pool,
    private readonly options: BankSimulatorOptions,
  ) {
    this.terms = options.terms ?? simulatedBankTerms;
  }

  async submit(instruction: TransferInstruction): Promise<SubmissionResult> {
    const order = validated(instruction);
    const plan = planOf(order.contactAccount.achAccountNumber);
    const { status, notifications } = courseOf(plan, this.options.delayMs);
    // A submission that has waited for our books longer than the terms allow is not accepted.
    const takenBefore = new Date(Date.now() + queueShare * this.terms.submissionInFlightMaxMs);
    const { rows } = await this.pool.query<TransferRow>({
      name: 'bank-submit',
      text: submitSql,
      values: [
        order.reference,
        order.paymentId,
        order.rail,
        order.direction,
        order.amountMinor,
        order.currencyCode,
        plan.name,
        plan.name === 'return' ? plan.returnReasonCode : null,
        status,
        notifications.map(({ type }) => type),
        notifications.map(({ returnReasonCode }) => returnReasonCode),
        notifications.map(({ afterMs }) => afterMs),
        this.terms.referenceMemoryMs,
        takenBefore,
      ],
    });
    const transfer = rows[0];
    if (transfer === undefined) throw new Error('the submission came too late and was not taken');
    if (!sameTerms(transfer, order))
      throw new BankRefused('the reference was used for a transfer with other terms');
    if (notifications.length > 0) this.notify();
    return submissionResult(transfer);
  }

  async inquire(reference: string): Promise<InquiryResult> {
    const { rows } = await this.pool.query<{ status: TransferRow['status']; notified: boolean }>({
      name: 'bank-inquire',
      text: inquireSql,
      values: [reference, this.options.delayMs, this.terms.referenceMemoryMs],
    });
    const transfer = rows[0];
    if (transfer === undefined) return { outcome: 'unknown' };
    if (transfer.notified) this.notify();
    switch (transfer.status) {
      case 'accepted':
        return { outcome: 'accepted' };
      case 'pending':
        return { outcome: 'received' };
      case 'refused':
        return { outcome: 'error', rejection: refused };
      case 'voided':
        return { outcome: 'error', rejection: voided };
    }
  }

  async void(reference: string): Promise<VoidResult> {
    const { rows } = await this.pool.query<{ status: TransferRow['status'] }>({
      name: 'bank-void',
      text: voidSql,
      values: [reference, this.terms.referenceMemoryMs],
    });
    return { outcome: rows[0]?.status === 'voided' ? 'voided' : 'received' };
  }

  notifications(page: { readonly after: string; readonly max: number }) {
    return readFeed(this.pool, page);
  }

  onNotification(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** Whether the bank still knows a transfer `t`, by the parameter that holds its memory. */
const remembered = (memoryMs: string) =>
  `t.submitted_at > now() - ${memoryMs}::float8 * interval '1 millisecond'`;

/** Transfer and notifications in one statement: both are there or neither. */
const submitSql = `
  WITH submitted AS (
    INSERT INTO bank_transfers AS t (reference, payment_id, rail, direction, amount_minor,
      currency_code, plan, return_reason_code, status, submitted_at, executions)
    SELECT $1, $2::uuid, $3, $4, $5::bigint, $6, $7, $8, $9, now(),
           CASE $9 WHEN 'refused' THEN 0 ELSE 1 END
     WHERE clock_timestamp() < $14::timestamptz
    ON CONFLICT (reference) DO UPDATE SET
      submissions = CASE WHEN ${remembered('$13')} THEN t.submissions + 1 ELSE 1 END,
      status = CASE WHEN ${remembered('$13')} THEN t.status ELSE excluded.status END,
      executions = CASE WHEN ${remembered('$13')} THEN t.executions
                        ELSE t.executions + excluded.executions END,
      submitted_at = CASE WHEN ${remembered('$13')} THEN t.submitted_at ELSE now() END,
      payment_id = coalesce(t.payment_id, excluded.payment_id),
      rail = coalesce(t.rail, excluded.rail),
      direction = coalesce(t.direction, excluded.direction),
      amount_minor = coalesce(t.amount_minor, excluded.amount_minor),
      currency_code = coalesce(t.currency_code, excluded.currency_code)
    RETURNING *
  ), notified AS (
    INSERT INTO bank_notifications (reference, type, return_reason_code, due_at, created_at)
    SELECT s.reference, n.type, n.code, now() + n.after_ms * interval '1 millisecond', now()
      FROM submitted s,
           unnest($10::text[], $11::text[], $12::int[]) AS n (type, code, after_ms)
     WHERE s.submissions = 1 AND s.status <> 'voided'
  )
  SELECT payment_id, direction, amount_minor, currency_code, plan, status FROM submitted`;

/** The first inquiry about a late transfer brings its confirmation; any further one changes nothing. */
const inquireSql = `
  WITH asked AS (
    UPDATE bank_transfers t SET inquired_at = now()
     WHERE reference = $1 AND inquired_at IS NULL AND ${remembered('$3')}
    RETURNING reference, plan, status
  ), notified AS (
    INSERT INTO bank_notifications (reference, type, due_at, created_at)
    SELECT reference, 'confirmed', now() + $2::int * interval '1 millisecond', now()
      FROM asked WHERE plan = 'late' AND status = 'pending'
    RETURNING 1
  )
  SELECT t.status, EXISTS (SELECT 1 FROM notified) AS notified
    FROM bank_transfers t WHERE reference = $1 AND ${remembered('$3')}`;

/** The bank treats a forgotten reference like one that it has never seen. */
const voidSql = `
  INSERT INTO bank_transfers AS t (reference, plan, status, submissions, submitted_at, executions)
  VALUES ($1, 'voided', 'voided', 0, now(), 0)
  ON CONFLICT (reference) DO UPDATE SET
    status = CASE WHEN t.status = 'refused' OR NOT ${remembered('$2')}
                  THEN 'voided' ELSE t.status END,
    submitted_at = CASE WHEN ${remembered('$2')} THEN t.submitted_at ELSE now() END
  RETURNING status`;

function validated(instruction: TransferInstruction): TransferInstruction {
  const parsed = transferInstructionSchema.safeParse(instruction);
  if (!parsed.success) throw new BankRefused(`bad instruction: ${describeIssues(parsed.error)}`);
  return parsed.data;
}

function sameTerms(transfer: TransferRow, order: TransferInstruction): boolean {
  if (transfer.payment_id === null) return true;
  return (
    transfer.payment_id === order.paymentId.toLowerCase() &&
    transfer.direction === order.direction &&
    Number(transfer.amount_minor) === order.amountMinor &&
    transfer.currency_code === order.currencyCode
  );
}

function submissionResult({ status, plan }: TransferRow): SubmissionResult {
  switch (status) {
    case 'accepted':
      return { outcome: 'accepted' };
    case 'refused':
      return { outcome: 'error', rejection: refused };
    case 'voided':
      return { outcome: 'error', rejection: voided };
    case 'pending':
      return { outcome: 'pending', confirmationExpected: plan !== 'silent' };
  }
}
