/**
 * Compares the payments of a chaos run with the bank's books at its end. A payment is found in the books by
 * its amount, without any reference of ours.
 */
import type pg from 'pg';
import type { Api } from './api.js';
import { type Ending, endings, lanes, type PlannedPayment } from './rails-chaos-payments.js';
import type { Mishap } from './unreliable-messages.js';

const listPageMax = 100;

export interface ListedPayment {
  readonly paymentId: string;
  readonly status: string;
  readonly paymentRail: string;
  readonly paymentAmount: number;
}

/** All payments that the list has. */
export async function listed(api: Api): Promise<readonly ListedPayment[]> {
  const payments: ListedPayment[] = [];
  for (let cursor = ''; ; ) {
    const { status, body } = await api.call(
      'GET',
      `/v1/payments?limit=${listPageMax}${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    if (status !== 200) throw new Error(`the list of payments: ${status}`);
    payments.push(...(body.data as ListedPayment[]));
    const { pagination } = body.meta as { pagination: { nextCursor: string | null } };
    if (pagination.nextCursor === null) return payments;
    cursor = encodeURIComponent(pagination.nextCursor);
  }
}

interface BookRow {
  readonly amount: number;
  readonly reference: string;
  readonly rail: string;
  readonly direction: string;
  readonly state: string;
}

export interface InDoubt {
  readonly paymentId: string;
  /** The bank has said after its time that it never executes it. */
  readonly lateRejection: object | null;
  /** Null when the bank is not asked any more. */
  readonly inquiries: object | null;
}

export class Auditor {
  constructor(
    private readonly api: Api,
    private readonly bankPool: pg.Pool,
    private readonly planned: readonly PlannedPayment[],
    private readonly mishaps: ReadonlyMap<number, readonly Mishap[]>,
    /** What staff are shown of payments in flight, by payment. */
    private readonly inDoubt: () => Promise<ReadonlyMap<string, InDoubt>>,
  ) {}

  /** How many transfers the bank has. */
  async taken(): Promise<number> {
    const { rows } = await this.bankPool.query<{ taken: number }>(
      'SELECT count(*)::int AS taken FROM bank_transfers',
    );
    return rows[0]?.taken ?? 0;
  }

  /** How many ACH files the bank has. */
  async files(): Promise<number> {
    const { rows } = await this.bankPool.query<{ files: number }>(
      'SELECT count(*)::int AS files FROM bank_files_received',
    );
    return rows[0]?.files ?? 0;
  }

  /** Transfers that came more than once. */
  async repeated(): Promise<number> {
    const { rows } = await this.bankPool.query<{ repeated: number }>(
      'SELECT count(*)::int AS repeated FROM bank_transfers WHERE submissions > 1',
    );
    return rows[0]?.repeated ?? 0;
  }

  /** What is wrong, one line per payment. */
  async problems(): Promise<readonly string[]> {
    // The books first: a payment may be behind them, never ahead.
    const executions = byAmount(await this.rows('bank_executions', 'state'));
    const transfers = byAmount(await this.rows('bank_transfers', 'status'));
    const payments = Map.groupBy(await listed(this.api), ({ paymentAmount }) => paymentAmount);
    const isDoubtful = (one: ListedPayment): boolean =>
      one.status === 'FAILED_IN_FLIGHT' && !executions.has(one.paymentAmount);
    const inDoubt = [...payments.values()].flat().some(isDoubtful)
      ? await this.inDoubt()
      : new Map<string, InDoubt>();
    const known = new Set(this.planned.map(({ amount }) => amount));
    const strangers = [...executions.keys()].filter((amount) => !known.has(amount));
    const found = this.planned.flatMap((planned) => {
      const { amount } = planned;
      const [payment, other] = payments.get(amount) ?? [];
      const executed = executions.get(amount) ?? [];
      const problem =
        payment === undefined || other !== undefined
          ? `${payments.get(amount)?.length ?? 0} payments`
          : (booksProblem(executed, transfers.get(amount) ?? []) ??
            (executed[0] === undefined
              ? this.unexecutedProblem(planned, payment, {
                  inDoubt: inDoubt.get(payment.paymentId),
                  isKnown: transfers.has(amount),
                })
              : executedProblem(planned, payment, executed[0])));
      if (problem === null) return [];
      const { lane: name, ending: digits } = planned;
      const { paymentId, status } = payment ?? {};
      const mishaps = this.mishaps.get(amount);
      const facts = { paymentId, status, amount, lane: name, ending: digits, executed, mishaps };
      return [`${problem}: ${JSON.stringify(facts)}`];
    });
    return [
      ...strangers.map((amount) => `the bank executed ${amount}, which nobody paid`),
      ...found,
    ];
  }

  private unexecutedProblem(
    planned: PlannedPayment,
    { status }: ListedPayment,
    { inDoubt, isKnown }: { readonly inDoubt: InDoubt | undefined; readonly isKnown: boolean },
  ): string | null {
    const { books, statuses }: Ending = endings[planned.ending];
    if (status === 'FAILED_IN_FLIGHT' && inDoubt !== undefined) {
      // The bank says that it is never executed, or it never came: then staff see it, and the bank is asked on.
      if (inDoubt.lateRejection !== null || (!isKnown && inDoubt.inquiries !== null)) return null;
      return 'not executed, and nobody is told';
    }
    const wasRefused = (this.mishaps.get(planned.amount) ?? []).some((one) => one !== 'twice');
    if (books !== null && !wasRefused) return 'not executed';
    const expected = books === null ? statuses : ['FAILED'];
    return expected.includes(status) ? null : `not executed, and ${status}`;
  }

  private async rows(table: string, state: string): Promise<readonly BookRow[]> {
    const { rows } = await this.bankPool.query<BookRow>(
      `SELECT amount_minor::float8 AS amount, reference, rail, direction, ${state} AS state
         FROM ${table} WHERE amount_minor IS NOT NULL`,
    );
    return rows;
  }
}

function byAmount(rows: readonly BookRow[]): ReadonlyMap<number, readonly BookRow[]> {
  return Map.groupBy(rows, ({ amount }) => amount);
}

function executedProblem(
  planned: PlannedPayment,
  { status, paymentRail }: ListedPayment,
  execution: BookRow,
): string | null {
  const { rail, direction } = lanes[planned.lane];
  const { books, statuses }: Ending = endings[planned.ending];
  if (books === null) return 'executed, although it must not be';
  if (paymentRail !== rail || execution.rail !== rail || execution.direction !== direction)
    return `${paymentRail} executed as ${execution.rail} ${execution.direction}`;
  if (execution.state !== books) return `${execution.state} in the books`;
  return statuses.includes(status) ? null : `${execution.state} in the books, and ${status}`;
}

function booksProblem(executed: readonly BookRow[], transfers: readonly BookRow[]): string | null {
  if (executed.length > 1) return `executed ${executed.length} times`;
  // For ACH: in two files, or twice in one.
  if (transfers.length > 1) return `sent as ${transfers.length} transfers`;
  return null;
}
