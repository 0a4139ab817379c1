/**
 * What staff found about an ACH entry in the bank's books, in the entry's row. The row may be missing: the database
 * was restored. Then it is made, so that the entry is never put into a file.
 */
import type { Direction } from '@pis/domain';
import type { Keyring } from '@pis/keyring';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import type { FullBankAccount } from '../../bank-connection.js';
import { individualIdOf } from './ach-entry.js';
import { type AchEntryStatus, lockBank } from './ach-tables.js';
import { type EntryTerms, termsMac } from './ach-terms.js';

export interface AchEntryByHand {
  readonly bank: string;
  readonly reference: string;
  readonly paymentId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly contactId: string;
  readonly contactIsBusiness: boolean;
  readonly direction: Direction;
  readonly amountMinor: number;
  /** Under which the bank has it: returns name it. Null when it is not known. */
  readonly traceNumber: string | null;
}

/** Which amount an entry has, minor units; null when that is not known. */
export async function amountOfAchEntry(
  pool: pg.Pool,
  { connection, reference }: { readonly connection: string; readonly reference: string },
): Promise<number | null> {
  const { rows } = await pool.query<{ amount: number | null }>(
    `SELECT amount_minor::float8 AS amount FROM ach_entries WHERE bank = $1 AND reference = $2`,
    [connection, reference],
  );
  return rows[0]?.amount ?? null;
}

/**
 * Whether an entry was submitted with these terms and this account of the contact, whose ID may be another one. Null when nothing
 * was submitted under the reference, or an earlier release did not keep it. @throws StoreUnavailable
 */
export async function isSameAchEntry(
  { pool, keyring }: { readonly pool: pg.Pool; readonly keyring: Pick<Keyring, 'mac'> },
  { connection, reference }: { readonly connection: string; readonly reference: string },
  {
    account,
    ...terms
  }: Pick<EntryTerms, 'paymentId' | 'direction' | 'amountMinor'> & {
    readonly account: FullBankAccount;
  },
): Promise<boolean | null> {
  const { rows } = await pool.query<{ contact_id: string; terms_mac: string }>(
    `SELECT contact_id, terms_mac FROM ach_entries
      WHERE reference = $1 AND bank = $2 AND terms_mac IS NOT NULL`,
    [reference, connection],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { achRoutingNumber: routingNumber, achAccountNumber: accountNumber, subType } = account;
  const own = { ...terms, contactId: row.contact_id };
  return row.terms_mac === termsMac(keyring, own, { routingNumber, accountNumber, subType });
}

/**
 * @returns the status of the entry afterwards: another one than asked for contradicts what staff found. After
 * 'never-sent', 'filed' means that its file is still to be uploaded, with the entry. Then nothing is changed.
 */
export function settleAchEntry(
  pool: pg.Pool,
  entry: AchEntryByHand,
  as: 'executed' | 'never-sent',
): Promise<AchEntryStatus | null> {
  return inTransaction(pool, async (client) => {
    await lockBank(client, entry.bank);
    if (as === 'never-sent' && (await isToBeSent(client, entry.reference))) return 'filed';
    const settled = await settleRow(client, entry, as);
    if (as === 'executed' && settled?.file_id != null)
      await client.query(bankHasFileSql, [settled.file_id]);
    return settled?.status ?? null;
  });
}

/** The lock keeps the file as it is: whoever uploads it again afterwards sees how the entry was settled. */
async function isToBeSent(client: pg.ClientBase, reference: string): Promise<boolean> {
  const { rows } = await client.query<{ entry: AchEntryStatus; file: string }>(
    `SELECT e.status AS entry, f.status AS file
       FROM ach_entries e JOIN ach_files f ON f.id = e.file_id
      WHERE e.reference = $1 FOR UPDATE`,
    [reference],
  );
  return rows.some(({ entry, file }) => entry === 'filed' && file === 'recorded');
}

interface SettledRow {
  readonly status: AchEntryStatus;
  readonly file_id: string | null;
}

async function settleRow(
  client: pg.ClientBase,
  entry: AchEntryByHand,
  as: 'executed' | 'never-sent',
): Promise<SettledRow | null> {
  const { rows } = await client.query<SettledRow>(as === 'executed' ? executedSql : neverSentSql, [
    entry.reference,
    entry.bank,
    entry.paymentId,
    entry.organizationId,
    entry.originatorId,
    entry.contactId,
    entry.direction,
    entry.amountMinor,
    entry.contactIsBusiness ? 'CCD' : null,
    individualIdOf(entry.reference),
    entry.traceNumber,
  ]);
  return rows[0] ?? null;
}

export type AchEntryName = { readonly traceNumber: string } | { readonly individualId: string };

/**
 * The references of the entries that a bank's files call so. Two connections may number alike: none is the likelier
 * one. At most two, which is one too many. A prenote is no payment.
 */
export async function referencesOfAchEntry(
  pool: pg.Pool,
  name: AchEntryName,
  bank: string | null,
): Promise<readonly string[]> {
  const [column, value] =
    'traceNumber' in name
      ? ['trace_number', name.traceNumber]
      : ['individual_id', name.individualId];
  const { rows } = await pool.query<{ reference: string }>(
    `SELECT reference FROM ach_entries
      WHERE ${column} = $1 AND ($2::text IS NULL OR bank = $2) AND reference NOT LIKE 'prenote-%' LIMIT 2`,
    [value, bank],
  );
  return rows.map(({ reference }) => reference);
}

export interface WaitingEntry {
  readonly reference: string;
  /** Null in the row of a transfer that names none. */
  readonly paymentId: string | null;
}

/** Entries that are in no file yet, by reference. */
export async function waitingAchEntries(
  pool: pg.Pool,
  page: { readonly bank: string; readonly after: string; readonly max: number },
): Promise<readonly WaitingEntry[]> {
  const { rows } = await pool.query<{ reference: string; payment_id: string | null }>(
    `SELECT reference, payment_id FROM ach_entries
      WHERE bank = $1 AND status = 'waiting' AND reference > $2 ORDER BY reference LIMIT $3`,
    [page.bank, page.after, page.max],
  );
  return rows.map((row) => ({ reference: row.reference, paymentId: row.payment_id }));
}

/** @returns how many of them were still in no file, and will be in none */
export async function voidAchEntries(
  pool: pg.Pool,
  bank: string,
  references: readonly string[],
): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE ach_entries SET status = 'voided', sealed_receiver = NULL
      WHERE bank = $1 AND reference = ANY ($2::text[]) AND status = 'waiting'`,
    [bank, references],
  );
  return rowCount ?? 0;
}

const insertSql = (status: AchEntryStatus) => `
  INSERT INTO ach_entries AS e (reference, bank, status, payment_id, organization_id, originator_id, contact_id,
    direction, amount_minor, standard_entry_class, individual_id, trace_number, submitted_at)
  VALUES ($1, $2, '${status}', $3, $4, $5, $6, $7, $8, $9, $10, $11, now())
  ON CONFLICT (reference) DO UPDATE SET`;

const executedSql = `${insertSql('accepted')}
    status = CASE WHEN e.status = 'returned' THEN e.status ELSE 'accepted' END,
    trace_number = coalesce(e.trace_number, excluded.trace_number),
    sealed_receiver = NULL, answer = NULL, rejection = NULL
  RETURNING e.status, e.file_id`;

/** SQL: whether staff settled the entry `e`, which is in a file, as never sent. A rejection by the bank has its reason. */
export const isNeverSentSql = "e.status = 'rejected' AND e.rejection IS NULL";

/** SQL: whether staff settled an entry of the file `f` as never sent. */
export const isGivenUpInPartSql = `
  EXISTS (SELECT FROM ach_entries e WHERE e.file_id = f.id AND ${isNeverSentSql})`;

/**
 * What is in a file counts as rejected: if the bank accepts the entry later, staff see the contradiction. No reason
 * of the bank is kept.
 */
const neverSentSql = `${insertSql('voided')}
    status = CASE e.status WHEN 'waiting' THEN 'voided' WHEN 'filed' THEN 'rejected' ELSE e.status END,
    sealed_receiver = CASE WHEN e.status IN ('waiting', 'filed') THEN NULL ELSE e.sealed_receiver END,
    rejection = CASE WHEN e.status = 'filed' THEN NULL ELSE e.rejection END
  RETURNING e.status, e.file_id`;

/** The bank has the file of the entry, so it is not uploaded again. The other entries wait for its answer. */
const bankHasFileSql = `
  UPDATE ach_files f SET uploaded_at = coalesce(uploaded_at, now()),
    overdue_at = CASE f.status WHEN 'recorded' THEN now() ELSE f.overdue_at END,
    status = CASE WHEN EXISTS (SELECT FROM ach_entries e WHERE e.file_id = f.id AND e.status = 'filed')
                  THEN 'uploaded' ELSE 'acknowledged' END
   WHERE f.id = $1 AND f.status IN ('recorded', 'uploaded')`;
