/**
 * The statement of the simulated bank for one day, from its books. The bank has one customer with one account, and
 * keeps its days in Eastern Time. The simulator shares its database with the rest of the sandbox.
 */
import { type CalendarDate, daysAfter, easternTime, instantOf } from '@pis/bank-rails';
import type { Direction, PaymentRail } from '@pis/domain';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { writeBai2 } from './bai2-writer.js';
import { writeCamt053 } from './camt053-writer.js';
import type { AccountWithEntries, BankEntry, EntryTotals, StatementFile } from './statement.js';

export const bankStatementFormats = ['camt053', 'bai2'] as const;
export type BankStatementFormat = (typeof bankStatementFormats)[number];

const bankName = 'SIMULATED BANK';
const customerName = 'PIS SANDBOX';
const accountId = '0910000191234567890';
/** Entries in memory at a time. */
const pageMax = 1_000;
const referenceMax = 33;

/** The day on which the bank books what it executes now. */
export function bankToday(): CalendarDate {
  return easternTime(Date.now()).date;
}

/** What the bank booked on that day; the day may not have ended. All from one moment. */
export async function writeBankStatement(
  pool: pg.Pool,
  { date, format }: { readonly date: CalendarDate; readonly format: BankStatementFormat },
  write: (text: string) => Promise<void>,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const day = [instantOf(date, '00:00'), instantOf(daysAfter(date, 1), '00:00')].map(
      (atMs) => new Date(atMs),
    );
    const { opening, credits, debits, now } = await totals(client, day);
    const id = `${format.toUpperCase()}-${date.replaceAll('-', '')}`;
    const file: StatementFile = {
      fileId: id,
      createdAt: now,
      sender: bankName,
      receiver: customerName,
    };
    const account: AccountWithEntries = {
      ...{ accountId, accountName: customerName, statementId: id, from: date, to: date },
      ...{ openingMinor: opening, credits, debits },
      entries: entries(client, day, date),
    };
    const chunks =
      format === 'bai2' ? writeBai2(file, one(account)) : writeCamt053(file, one(account));
    for await (const chunk of chunks) await write(chunk);
  });
}

async function* one<Value>(value: Value): AsyncGenerator<Value> {
  yield await Promise.resolve(value);
}

interface Totals {
  readonly opening: bigint;
  readonly credits: EntryTotals;
  readonly debits: EntryTotals;
  readonly now: Date;
}

async function totals(client: pg.ClientBase, day: readonly Date[]): Promise<Totals> {
  const { rows } = await client.query<Record<'opening' | 'credit' | 'debit', string> & TotalsRow>(
    `WITH ${bookedSql}
     SELECT coalesce(sum(signed) FILTER (WHERE at < $1), 0) AS opening,
            coalesce(sum(signed) FILTER (WHERE at >= $1 AND signed > 0), 0) AS credit,
            coalesce(-sum(signed) FILTER (WHERE at >= $1 AND signed < 0), 0) AS debit,
            count(*) FILTER (WHERE at >= $1 AND signed > 0)::int AS credits,
            count(*) FILTER (WHERE at >= $1 AND signed < 0)::int AS debits, now()
       FROM booked WHERE at < $2`,
    [...day],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('a sum must have a row');
  return {
    opening: BigInt(row.opening),
    credits: { count: row.credits, sumMinor: BigInt(row.credit) },
    debits: { count: row.debits, sumMinor: BigInt(row.debit) },
    now: row.now,
  };
}

interface TotalsRow {
  readonly credits: number;
  readonly debits: number;
  readonly now: Date;
}

interface BookedRow {
  readonly reference: string;
  readonly number: number;
  readonly rail: PaymentRail;
  readonly direction: Direction;
  readonly signed: string;
  readonly is_return: boolean;
  readonly code: string | null;
  readonly individual_id: string | null;
}

async function* entries(
  client: pg.ClientBase,
  day: readonly Date[],
  date: CalendarDate,
): AsyncGenerator<BankEntry> {
  await client.query(
    `DECLARE bank_statement NO SCROLL CURSOR FOR
     WITH ${bookedSql}
     SELECT b.reference, b.number, b.rail, b.direction, b.signed, b.is_return, b.code,
            t.details ->> 'individualId' AS individual_id
       FROM booked b LEFT JOIN bank_transfers t ON t.reference = b.reference
      WHERE b.at >= $1 AND b.at < $2
      ORDER BY b.at, b.reference, b.number, b.is_return`,
    [...day],
  );
  for (;;) {
    const { rows } = await client.query<BookedRow>(`FETCH ${pageMax} FROM bank_statement`);
    for (const row of rows) yield entryOf(row, date);
    if (rows.length < pageMax) break;
  }
  await client.query('CLOSE bank_statement');
}

/** Money that the customer sent is a debit of its account, and its return a credit. */
const bookedSql = `booked AS (
  SELECT reference, number, rail, direction, executed_at AS at, false AS is_return, NULL AS code,
         CASE direction WHEN 'INBOUND' THEN amount_minor ELSE -amount_minor END AS signed
    FROM bank_executions WHERE executed_at IS NOT NULL
   UNION ALL
  SELECT reference, number, rail, direction, returned_at, true, return_reason_code,
         CASE direction WHEN 'INBOUND' THEN -amount_minor ELSE amount_minor END
    FROM bank_executions WHERE returned_at IS NOT NULL)`;

/** An ACH entry is known by its trace number, and to the customer by its identification number. */
function entryOf(row: BookedRow, date: CalendarDate): BankEntry {
  const { rail, is_return: isReturn, code } = row;
  const signed = Number(row.signed);
  const isTrace = rail === 'ACH' && /^\d{15}$/.test(row.reference);
  return {
    bankReference: `${identifier(row.reference)}${isReturn ? 'R' : 'E'}${String(row.number).slice(-1)}`,
    reference: isTrace ? identifierOrNull(row.individual_id) : identifier(row.reference),
    traceNumber: isTrace ? row.reference : null,
    side: signed > 0 ? 'credit' : 'debit',
    amountMinor: Math.abs(signed),
    status: 'booked',
    bookedOn: date,
    rail,
    isReturn,
    returnReasonCode: code !== null && /^[0-9A-Z]{2,4}$/.test(code) ? code : null,
  };
}

function identifierOrNull(text: string | null): string | null {
  return text === null || text === '' ? null : identifier(text);
}

/** Of customers that are not ours, references may have any character. */
function identifier(text: string): string {
  return (
    text
      .replaceAll(/[^0-9A-Za-z]/g, '-')
      .replace(/^-/, '0')
      .slice(-referenceMax) || '0'
  );
}
