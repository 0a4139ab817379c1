/**
 * The ledger of the simulated bank. Transfers that arrive as JSON, in NACHA files and as ISO 20022 messages
 * are posted here. A transfer executes once per reference. Like a real bank the ledger forgets: a reference
 * older than `referenceMemoryMs` is executed again when it comes again, as one more row of the books.
 *
 * Orders that arrive at the same time are posted in one statement.
 */
import type { BankTerms } from '@pis/bank-rails';
import type { Direction, PaymentRail } from '@pis/domain';
import { GroupCommit, isTransient } from '@pis/postgres';
import type pg from 'pg';
import { type Course, executes, type TransferStatus } from './course.js';
import type { Outcome } from './scenarios.js';

/** How a transfer came to the bank, and how the bank reports on it. */
export type Channel = 'json' | 'ach' | 'messages';

/** What the bank's later files and messages repeat of an order. No names, no account numbers. */
export type Details = Readonly<Record<string, string | number | null>>;

export interface Order {
  /** What the bank tells transfers apart by. */
  readonly reference: string;
  readonly channel: Channel;
  readonly paymentId: string | null;
  readonly rail: PaymentRail;
  readonly direction: Direction;
  readonly amountMinor: number;
  readonly currencyCode: string;
  readonly accountLastFour: string;
  readonly course: Course;
  readonly details: Details | null;
}

export interface Posted {
  readonly reference: string;
  readonly payment_id: string | null;
  readonly channel: Channel;
  readonly rail: string | null;
  readonly direction: string | null;
  readonly amount_minor: string | null;
  readonly currency_code: string | null;
  readonly plan: Outcome | 'voided';
  readonly code: string | null;
  readonly status: TransferStatus | 'voided';
  readonly deliveries: number;
  readonly details: Details | null;
  /** Of how many submissions this is the last one. */
  readonly submissions: number;
}

export interface LedgerOptions {
  readonly terms: BankTerms;
  /** How long the bank takes for the confirmation that a status request brings, milliseconds. */
  readonly delayMs: number;
}

/** A share of the time that a submission may be in flight. The rest is for the line to the bank. */
export const queueShare = 0.5;
const batchMax = 500;

export class Ledger {
  private readonly posting: GroupCommit<Waiting, Posted | null>;

  constructor(
    private readonly pool: pg.Pool,
    private readonly options: LedgerOptions,
  ) {
    this.posting = new GroupCommit({
      write: (waiting) => this.write(this.pool, waiting),
      batchMax,
      keyOf: ({ order }) => order.reference,
      isItemsFault: (error) => !isTransient(error),
    });
  }

  /**
   * Posts an order, or finds the transfer that was posted before under its reference.
   * @throws when the order waited longer than the terms allow: it is not taken
   */
  async post(order: Order): Promise<Posted> {
    const posted = await this.posting.add({ order, takenBefore: this.takenBefore() });
    if (posted === null) throw new Error('the submission came too late and was not taken');
    return posted;
  }

  /** Posts the orders of a file in the caller's transaction, in any number. Their references must differ. */
  async postAll(client: pg.ClientBase, orders: readonly Order[]): Promise<readonly Posted[]> {
    const takenBefore = this.takenBefore();
    const posted: Posted[] = [];
    for (let at = 0; at < orders.length; at += batchMax) {
      const batch = orders.slice(at, at + batchMax).map((order) => ({ order, takenBefore }));
      for (const one of await this.write(client, batch)) {
        if (one === null) throw new Error('the file came too late and was not taken');
        posted.push(one);
      }
    }
    return posted;
  }

  /** The transfers that the bank has under these references. */
  async find(
    on: pg.Pool | pg.ClientBase,
    references: readonly string[],
  ): Promise<readonly Posted[]> {
    const { rows } = await on.query<Posted>({
      name: 'bank-find',
      text: `SELECT ${postedColumns} FROM bank_transfers t
              WHERE reference = ANY ($1::text[]) AND ${remembered('$2')}`,
      values: [references, this.options.terms.referenceMemoryMs],
    });
    return rows;
  }

  /** The transfer of a reference, null when the bank has none. See inquireAll. */
  async inquire(reference: string): Promise<Inquired | null> {
    return (await this.inquireAll(this.pool, [reference]))[0] ?? null;
  }

  /**
   * The transfers that the bank has under these references, sorted by them. The first status request about a late
   * transfer brings its confirmation, and any further one changes nothing.
   */
  async inquireAll(
    on: pg.Pool | pg.ClientBase,
    references: readonly string[],
  ): Promise<readonly Inquired[]> {
    const { terms, delayMs } = this.options;
    const { rows } = await on.query<Inquired>({
      name: 'bank-inquire',
      text: inquireSql,
      values: [references, delayMs, terms.referenceMemoryMs],
    });
    return rows;
  }

  /** Never executes the reference, unless the bank has taken it already. */
  async void(reference: string, channel: Channel): Promise<Posted> {
    const { rows } = await this.pool.query<Posted>({
      name: 'bank-void',
      text: voidSql,
      values: [reference, this.options.terms.referenceMemoryMs, channel],
    });
    const [posted] = rows;
    if (posted === undefined) throw new Error('a void must have a row');
    return posted;
  }

  private takenBefore(): Date {
    return new Date(Date.now() + queueShare * this.options.terms.submissionInFlightMaxMs);
  }

  private async write(
    on: pg.Pool | pg.ClientBase,
    waiting: readonly Waiting[],
  ): Promise<readonly (Posted | null)[]> {
    const orders = waiting.map(({ order }) => order);
    const reports = orders.flatMap(({ reference, course: { reports } }) =>
      reports.map((report) => ({ reference, ...report })),
    );
    const { rows } = await on.query<Posted>({
      name: 'bank-post',
      text: postSql,
      values: [
        orders.map(({ reference }) => reference),
        orders.map(({ channel }) => channel),
        orders.map(({ paymentId }) => paymentId),
        orders.map(({ rail }) => rail),
        orders.map(({ direction }) => direction),
        orders.map(({ amountMinor }) => amountMinor),
        orders.map(({ currencyCode }) => currencyCode),
        orders.map(({ accountLastFour }) => accountLastFour),
        orders.map(({ course }) => course.scenario),
        orders.map(({ course }) => course.outcome),
        orders.map(({ course }) => course.code),
        orders.map(({ course }) => course.status),
        orders.map(({ course, amountMinor }) => amountMinor > 0 && executes(course)),
        orders.map(({ course }) => course.deliveries),
        orders.map(({ details }) => (details === null ? null : JSON.stringify(details))),
        waiting.map(({ takenBefore }) => takenBefore),
        reports.map(({ reference }) => reference),
        reports.map(({ type }) => type),
        reports.map(({ code }) => code),
        reports.map(({ corrected }) => corrected),
        reports.map(({ afterMs }) => afterMs),
        this.options.terms.referenceMemoryMs,
      ],
    });
    const posted = new Map(rows.map((row) => [row.reference, row]));
    return orders.map(({ reference }) => posted.get(reference) ?? null);
  }
}

type Inquired = Posted & { readonly notified: boolean };

interface Waiting {
  readonly order: Order;
  /** An order that is written later is not taken. */
  readonly takenBefore: Date;
}

/** Whether the bank still knows a transfer `t`, by the parameter that holds its memory. */
const remembered = (memoryMs: string) =>
  `t.submitted_at > now() - ${memoryMs}::float8 * interval '1 millisecond'`;

/** A forgotten transfer takes the new order's value. */
const unlessRemembered = (column: string) =>
  `${column} = CASE WHEN ${remembered('$22')} THEN t.${column} ELSE excluded.${column} END`;

/** A voided reference takes the terms of the first order that comes for it. */
const onceKnown = (column: string) => `${column} = coalesce(t.${column}, excluded.${column})`;

const postedColumns = `reference, payment_id, channel, rail, direction, amount_minor, currency_code,
  plan, return_reason_code AS code, status, deliveries, details, submissions`;

/** Transfer, execution and reports in one statement: all of them are there or none. */
const postSql = `
  WITH orders AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bigint[],
                         $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
                         $13::boolean[], $14::smallint[], $15::jsonb[], $16::timestamptz[])
      AS o (reference, channel, payment_id, rail, direction, amount_minor, currency_code,
            account_last_four, scenario, plan, code, status, executes, deliveries, details,
            taken_before)
  ), posted AS (
    INSERT INTO bank_transfers AS t (reference, channel, payment_id, rail, direction, amount_minor,
      currency_code, scenario, plan, return_reason_code, status, deliveries, details,
      submitted_at, executions)
    SELECT o.reference, o.channel, o.payment_id, o.rail, o.direction, o.amount_minor,
           o.currency_code, o.scenario, o.plan, o.code, o.status, o.deliveries, o.details,
           now(), o.executes::int
      FROM orders o
     WHERE clock_timestamp() < o.taken_before
     -- Always in one order, so that two batches cannot wait for each other.
     ORDER BY o.reference
    ON CONFLICT (reference) DO UPDATE SET
      submissions = CASE WHEN ${remembered('$22')} THEN t.submissions + 1 ELSE 1 END,
      executions = CASE WHEN ${remembered('$22')} THEN t.executions
                        ELSE t.executions + excluded.executions END,
      ${['status', 'plan', 'return_reason_code', 'scenario', 'channel', 'deliveries']
        .map(unlessRemembered)
        .join(', ')},
      submitted_at = CASE WHEN ${remembered('$22')} THEN t.submitted_at ELSE now() END,
      inquired_at = CASE WHEN ${remembered('$22')} THEN t.inquired_at END,
      ${['payment_id', 'rail', 'direction', 'amount_minor', 'currency_code']
        .map(onceKnown)
        .join(', ')},
      details = CASE WHEN ${remembered('$22')} THEN coalesce(t.details, excluded.details)
                     ELSE excluded.details END
    RETURNING *
  ), taken AS (
    SELECT * FROM posted WHERE submissions = 1 AND status <> 'voided'
  ), executed AS (
    INSERT INTO bank_executions (reference, number, rail, direction, amount_minor,
      account_last_four, received_at, executed_at, state)
    SELECT o.reference, p.executions, o.rail, o.direction, o.amount_minor, o.account_last_four,
           now(), CASE WHEN o.status = 'accepted' THEN now() END,
           CASE WHEN o.status = 'accepted' THEN 'executed' ELSE 'pending' END
      FROM taken p JOIN orders o ON o.reference = p.reference
     WHERE o.executes
  ), reported AS (
    INSERT INTO bank_notifications (reference, channel, type, return_reason_code, corrected,
      deliveries, due_at, created_at)
    SELECT p.reference, p.channel, r.type, r.code, r.corrected, p.deliveries,
           now() + r.after_ms * interval '1 millisecond', now()
      FROM unnest($17::text[], $18::text[], $19::text[], $20::text[], $21::int[])
             WITH ORDINALITY AS r (reference, type, code, corrected, after_ms, place)
      JOIN taken p ON p.reference = r.reference
     CROSS JOIN generate_series(1, CASE p.channel WHEN 'ach' THEN 1 ELSE p.deliveries END)
     ORDER BY r.place
  )
  SELECT ${postedColumns} FROM posted`;

/** Locks in the order of the references, as posting does. */
const inquireSql = `
  WITH locked AS (
    SELECT reference FROM bank_transfers t
     WHERE reference = ANY ($1::text[]) AND inquired_at IS NULL AND ${remembered('$3')}
     ORDER BY reference FOR UPDATE
  ), asked AS (
    UPDATE bank_transfers t SET inquired_at = now() FROM locked
     WHERE t.reference = locked.reference
    RETURNING t.reference, channel, plan, status, deliveries
  ), notified AS (
    INSERT INTO bank_notifications (reference, channel, type, deliveries, due_at, created_at)
    SELECT reference, channel, 'confirmed', deliveries, now() + $2::int * interval '1 millisecond',
           now()
      FROM asked
     WHERE plan = 'late_confirmation' AND status = 'pending'
    RETURNING reference
  )
  SELECT ${postedColumns}, reference IN (SELECT n.reference FROM notified n) AS notified
    FROM bank_transfers t WHERE reference = ANY ($1::text[]) AND ${remembered('$3')}
   ORDER BY reference`;

/** The bank treats a forgotten reference like one that it has never seen. */
const voidSql = `
  INSERT INTO bank_transfers AS t (reference, channel, plan, status, submissions, submitted_at,
    executions)
  VALUES ($1, $3, 'voided', 'voided', 0, now(), 0)
  ON CONFLICT (reference) DO UPDATE SET
    status = CASE WHEN t.status = 'refused' OR NOT ${remembered('$2')}
                  THEN 'voided' ELSE t.status END,
    submitted_at = CASE WHEN ${remembered('$2')} THEN t.submitted_at ELSE now() END
  RETURNING ${postedColumns}`;
