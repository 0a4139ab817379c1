/** What the modules over the ACH tables share. See the migration `ach`. */
import type { RailRejection } from '../../bank-connection.js';
import type pg from 'pg';

/** The status of an entry. */
export type AchEntryStatus = 'waiting' | 'filed' | 'accepted' | 'returned' | 'rejected' | 'voided';
/** What the bank has said about a 'filed' entry, beyond having its file. */
export type AchEntryAnswer = 'pending' | 'held';

/** An error log entry is for staff: something needs a look. */
export interface AchLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export interface AchCounters {
  readonly lastTrace: number;
  readonly lastFile: number;
}

/**
 * Locks the connection's row until the transaction ends. Whoever numbers something, or applies what the
 * bank said, does this first.
 */
export async function lockBank(client: pg.ClientBase, bank: string): Promise<AchCounters> {
  const text = `SELECT last_trace, last_file::float8 AS last_file
                  FROM ach_banks WHERE bank = $1 FOR UPDATE`;
  const query = { name: 'ach-lock-bank', text, values: [bank] };
  let { rows } = await client.query<{ last_trace: number; last_file: number }>(query);
  if (rows.length === 0) {
    await client.query('INSERT INTO ach_banks (bank) VALUES ($1) ON CONFLICT DO NOTHING', [bank]);
    ({ rows } = await client.query<{ last_trace: number; last_file: number }>(query));
  }
  const [row] = rows;
  if (row === undefined) throw new Error(`ach_banks has no row for ${bank}`);
  return { lastTrace: row.last_trace, lastFile: row.last_file };
}

/** For a jsonb[] parameter that is passed as text[]. */
export function rejectionText(rejection: RailRejection | null): string | null {
  return rejection === null ? null : JSON.stringify(rejection);
}

/** A text of the bank that any database takes, cut to `max` characters. */
export function keepableText(text: string, max: number): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed().slice(0, max);
}

/**
 * Nacha's R24, and the banks' own codes. A rejection of a duplicate does not prove that nothing was moved: the bank
 * may have executed what came first.
 */
export function isDuplicateCode(code: string | null): boolean {
  return code !== null && /^R24$|DUPLICATE/i.test(code);
}
