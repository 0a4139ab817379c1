/** The entries and files of ours that a file of the bank is about. */
import type pg from 'pg';
import { isNeverSentSql } from './ach-by-hand.js';
import type { AckFile } from './ack-file.js';
import type { AchEntryAnswer, AchEntryStatus } from './ach-tables.js';

/** An entry of ours, as it is now. It stays so while the transaction holds the lock of the bank's row. */
export interface KnownEntry {
  readonly reference: string;
  readonly paymentId: string;
  readonly originatorId: string;
  readonly contactId: string;
  readonly traceNumber: string;
  readonly fileId: string;
  readonly status: AchEntryStatus;
  /** By staff, although it is in a file. */
  readonly isNeverSent: boolean;
  readonly answer: AchEntryAnswer | null;
  readonly hasRejection: boolean;
  readonly amountMinor: number;
  readonly individualId: string;
  readonly isBusiness: boolean;
  /** Its returns that are in the feed: see toldAs. Empty where an earlier release has recorded the return. */
  readonly returnsTold: readonly string[];
}

interface KnownRow {
  reference: string;
  payment_id: string;
  originator_id: string;
  contact_id: string;
  trace_number: string;
  file_id: string;
  status: AchEntryStatus;
  is_never_sent: boolean;
  answer: AchEntryAnswer | null;
  has_rejection: boolean;
  amount_minor: string;
  individual_id: string;
  standard_entry_class: string;
  returns_told: string[];
}

/**
 * The entries with these trace numbers. Trace numbers begin again after ten million: then the latest entry has
 * the number.
 */
export async function entriesByTrace(
  on: pg.Pool | pg.ClientBase,
  bank: string,
  traceNumbers: readonly string[],
): Promise<ReadonlyMap<string, KnownEntry>> {
  if (traceNumbers.length === 0) return new Map();
  const { rows } = await on.query<KnownRow>({
    name: 'ach-entries-by-trace',
    text: `SELECT reference, payment_id, originator_id, contact_id, trace_number, file_id, status, answer, amount_minor,
                  individual_id, standard_entry_class, returns_told, rejection IS NOT NULL AS has_rejection,
                  ${isNeverSentSql} AS is_never_sent
             FROM ach_entries e WHERE bank = $1 AND trace_number = ANY ($2::text[]) ORDER BY file_id`,
    values: [bank, traceNumbers],
  });
  return new Map(
    rows.map((row) => [
      row.trace_number,
      {
        reference: row.reference,
        paymentId: row.payment_id,
        originatorId: row.originator_id,
        contactId: row.contact_id,
        traceNumber: row.trace_number,
        fileId: row.file_id,
        status: row.status,
        isNeverSent: row.is_never_sent,
        answer: row.answer,
        hasRejection: row.has_rejection,
        amountMinor: Number(row.amount_minor),
        individualId: row.individual_id,
        isBusiness: row.standard_entry_class === 'CCD',
        returnsTold: row.returns_told,
      },
    ]),
  );
}

/** The file of ours that an acknowledgement is about. Null unless the bank got the bytes that we recorded. */
export async function findAckedFile(
  on: pg.Pool | pg.ClientBase,
  bank: string,
  { name, sha256 }: AckFile,
): Promise<{ readonly id: string } | null> {
  const { rows } = await on.query<{ id: string }>(
    'SELECT id FROM ach_files WHERE bank = $1 AND name = $2 AND sha256 = $3',
    [bank, name, sha256],
  );
  return rows[0] ?? null;
}

/** The archived bytes of the file of ours with this name, also if the bank did not get exactly these. */
export async function archivedFileNamed(
  on: pg.Pool | pg.ClientBase,
  bank: string,
  name: string,
): Promise<string | null> {
  const { rows } = await on.query<{ id: string }>(
    'SELECT archive_id AS id FROM ach_files WHERE bank = $1 AND name = $2',
    [bank, name],
  );
  return rows[0]?.id ?? null;
}

/** Banks may leave the individual ID out. */
export function hasIdOf(individualId: string | undefined, entry: KnownEntry): boolean {
  return individualId === '' || individualId === entry.individualId;
}
