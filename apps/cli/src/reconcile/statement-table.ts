/**
 * The entries of statement files in a temporary table, each with the transfer of ours that it is about. The table ends
 * with the transaction. Files of any size take little memory.
 */
import { createReadStream } from 'node:fs';
import { paymentIdOfRailReference } from '@pis/bank-rails';
import {
  type BankEntry,
  type ReadAccount,
  readStatement,
  type StatementPart,
  StatementRefused,
} from '@pis/bank-statements';
import { maskNumber } from '@pis/keyring';
import type pg from 'pg';
import { CommandFailed } from '../output.js';
import type { Contradiction, Period } from './findings.js';

/** Rows of one statement. */
const batchMax = 1_000;

interface Row {
  readonly file: string;
  readonly line: number;
  readonly account: ReadAccount;
  readonly entry: BankEntry;
}

/** What the files say beside their entries. */
export interface LoadedFiles {
  readonly entries: number;
  /** Null when no file names a day. */
  readonly period: Period | null;
  /** Entries in other currencies: they cannot be ours. */
  readonly foreign: number;
}

/** @throws CommandFailed for a file that cannot be read, or is no statement */
export async function loadStatements(
  client: pg.ClientBase,
  files: readonly string[],
  onContradiction: (found: Contradiction) => Promise<void>,
): Promise<LoadedFiles> {
  await client.query(createSql);
  const loader = new Loader(client, onContradiction);
  for (const file of files)
    try {
      for await (const part of readStatement(createReadStream(file))) await loader.add(file, part);
    } catch (error) {
      if (error instanceof StatementRefused) throw new CommandFailed(`${file}, ${error.message}`);
      if (error instanceof Error && 'syscall' in error)
        throw new CommandFailed(`cannot read ${file}: ${error.message}`);
      throw error;
    }
  const loaded = await loader.end();
  for (const text of ['ANALYZE statement_entries', ...resolveSql]) await client.query(text);
  return loaded;
}

class Loader {
  private account: ReadAccount | null = null;
  private rows: Row[] = [];
  private entries = 0;
  private foreign = 0;
  private from: string | null = null;
  private to: string | null = null;

  constructor(
    private readonly client: pg.ClientBase,
    private readonly onContradiction: (found: Contradiction) => Promise<void>,
  ) {}

  async add(file: string, part: StatementPart): Promise<void> {
    const { line } = part;
    switch (part.kind) {
      case 'file':
        return;
      case 'account':
        this.account = part.account;
        this.cover(part.account.from ?? part.account.to);
        this.cover(part.account.to);
        return;
      case 'foreign':
        this.foreign += 1;
        return;
      case 'contradiction': {
        const { what, stated, found } = part;
        return this.onContradiction({ file, line, what, stated, found });
      }
      case 'entry': {
        const { account } = this;
        if (account === null) throw new Error('an entry must have an account');
        // An account without a period covers the days of its entries.
        if (account.to === null) this.cover(part.entry.bookedOn);
        this.rows.push({ file, line, account, entry: part.entry });
        if (this.rows.length >= batchMax) await this.flush();
      }
    }
  }

  async end(): Promise<LoadedFiles> {
    await this.flush();
    const { entries, foreign, from, to } = this;
    return { entries, foreign, period: from === null || to === null ? null : { from, to } };
  }

  private cover(day: string | null): void {
    if (day === null) return;
    if (this.from === null || day < this.from) this.from = day;
    if (this.to === null || day > this.to) this.to = day;
  }

  private async flush(): Promise<void> {
    const rows = this.rows.splice(0);
    this.entries += rows.length;
    if (rows.length === 0) return;
    const ofEntries = <Value>(value: (entry: BankEntry) => Value) =>
      rows.map(({ entry }) => value(entry));
    await this.client.query({
      name: 'reconcile-load',
      text: insertSql,
      values: [
        rows.map(({ file }) => file),
        rows.map(({ line }) => line),
        // Full account numbers are neither stored nor shown.
        rows.map(({ account }) => maskNumber(account.accountId)),
        rows.map(({ account }) => account.from),
        rows.map(({ account }) => account.to),
        ofEntries(({ bankReference }) => bankReference),
        ofEntries(({ reference }) => reference),
        ofEntries(({ traceNumber }) => traceNumber),
        ofEntries(({ side }) => side),
        ofEntries(({ amountMinor }) => amountMinor),
        ofEntries(({ status }) => status),
        ofEntries(({ bookedOn }) => bookedOn),
        ofEntries(({ rail }) => rail),
        ofEntries(({ isReturn }) => isReturn),
        ofEntries(({ returnReasonCode }) => returnReasonCode),
        ofEntries(({ reference }) => transferIdIn(reference)),
        ofEntries(({ bankReference }) => transferIdIn(bankReference)),
      ],
    });
  }
}

function transferIdIn(reference: string | null): string | null {
  return reference === null ? null : paymentIdOfRailReference(reference);
}

const createSql = `
  CREATE TEMPORARY TABLE statement_entries (
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file text, line integer, account text, period_from date, period_to date,
    bank_reference text, reference text, trace_number text, side text, amount_minor bigint, status text,
    booked_on date, rail text, is_return boolean, return_reason_code text,
    by_reference uuid, by_bank_reference uuid,
    transfer_id uuid,
    -- Which return of its transfer it is. Only over SWIFT there is more than one.
    return_no integer DEFAULT 1
  ) ON COMMIT DROP`;

const insertSql = `
  INSERT INTO statement_entries (file, line, account, period_from, period_to, bank_reference, reference,
    trace_number, side, amount_minor, status, booked_on, rail, is_return, return_reason_code, by_reference,
    by_bank_reference)
  SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::date[], $5::date[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::bigint[], $11::text[], $12::date[], $13::text[], $14::boolean[], $15::text[],
    $16::uuid[], $17::uuid[])`;

/** An entry is known by our reference, or by what a rail calls the transfer: the first that is found. */
const resolveSql: readonly string[] = [
  ...['by_reference', 'by_bank_reference'].map(
    (column) => `
  UPDATE statement_entries e SET transfer_id = t.transfer_id
    FROM transfers t WHERE e.transfer_id IS NULL AND t.transfer_id = e.${column}`,
  ),
  // Trace numbers begin again after ten million. Then the identification number, the amount, and the age tell.
  `WITH found AS (
    SELECT DISTINCT ON (e.place) e.place, a.payment_id
      FROM statement_entries e JOIN ach_entries a ON a.trace_number = e.trace_number
     WHERE e.transfer_id IS NULL AND a.payment_id IS NOT NULL
     ORDER BY e.place, (a.individual_id = e.reference) DESC NULLS LAST,
              (a.amount_minor = e.amount_minor) DESC, a.submitted_at DESC
  )
  UPDATE statement_entries e SET transfer_id = found.payment_id FROM found WHERE e.place = found.place`,
  ...['reference', 'bank_reference'].map(
    (column) => `
  UPDATE statement_entries e SET transfer_id = a.payment_id
    FROM ach_entries a
   WHERE e.transfer_id IS NULL AND a.payment_id IS NOT NULL AND a.individual_id = e.${column}`,
  ),
  ...['instruction_id', 'message_id', 'uetr'].map(
    (column) => `
  UPDATE statement_entries e SET transfer_id = (i.details ->> 'paymentId')::uuid
    FROM iso_transfers i
   WHERE e.transfer_id IS NULL AND i.details IS NOT NULL AND i.${column} IN (e.reference, e.bank_reference)`,
  ),
  // Some banks do not mark returns. Then the side tells, where we know of a return.
  `UPDATE statement_entries e SET is_return = true
    FROM transfers t
   WHERE t.transfer_id = e.transfer_id AND t.owner = 'payment' AND t.returned_at IS NOT NULL
     AND NOT e.is_return AND e.side <> t.side
     AND NOT EXISTS (SELECT FROM statement_entries r WHERE r.transfer_id = e.transfer_id AND r.is_return)`,
  ...returnsSql(),
  'ANALYZE statement_entries',
];

/**
 * Which return each entry is, of transfers that came back more than once: by the bank's reference of the return, then by
 * the amount, then in their order. An entry that is left over is a duplicate of one of its amount, or else of the first.
 */
function returnsSql(): readonly string[] {
  const numbered = (columns: string) => `
  WITH entries AS (
    SELECT *, row_number() OVER (PARTITION BY ${columns} ORDER BY place) AS turn
      FROM statement_entries WHERE return_no IS NULL
  ), untold AS (
    SELECT r.*, s.status, row_number() OVER (PARTITION BY ${columns} ORDER BY r.return_no) AS turn
      FROM transfer_returns r CROSS JOIN (VALUES ('booked'), ('pending')) AS s (status)
     WHERE NOT EXISTS (
       SELECT FROM statement_entries e
        WHERE e.transfer_id = r.transfer_id AND e.is_return AND e.status = s.status AND e.return_no = r.return_no)
  )
  UPDATE statement_entries e SET return_no = untold.return_no
    FROM entries JOIN untold USING (${columns}, turn) WHERE e.place = entries.place`;
  return [
    `CREATE TEMPORARY TABLE transfer_returns ON COMMIT DROP AS
    WITH later AS (
      SELECT m.payment_id AS transfer_id, m.amount_minor, m.reference, m.at,
             1 + row_number() OVER (PARTITION BY m.payment_id ORDER BY m.position)::integer AS return_no
        FROM movements m
       WHERE m.kind = 'later_return'
         AND m.payment_id IN (SELECT transfer_id FROM statement_entries WHERE is_return)
    )
    SELECT transfer_id, return_no, amount_minor, reference, at FROM later
    UNION ALL
    SELECT transfer_id, 1, coalesce(returned_amount_minor, amount_minor), return_reference, returned_at
      FROM transfers WHERE transfer_id IN (SELECT transfer_id FROM later)`,
    `UPDATE statement_entries SET return_no = NULL
      WHERE is_return AND transfer_id IN (SELECT transfer_id FROM transfer_returns)`,
    `UPDATE statement_entries e SET return_no = r.return_no
      FROM transfer_returns r
     WHERE e.return_no IS NULL AND r.transfer_id = e.transfer_id AND r.reference IN (e.reference, e.bank_reference)`,
    numbered('transfer_id, status, amount_minor'),
    numbered('transfer_id, status'),
    `UPDATE statement_entries e SET return_no = coalesce((
       SELECT min(r.return_no) FROM transfer_returns r
        WHERE r.transfer_id = e.transfer_id AND r.amount_minor = e.amount_minor), 1)
      WHERE e.return_no IS NULL`,
  ];
}
