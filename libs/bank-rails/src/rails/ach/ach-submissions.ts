/**
 * Transfers as they come from the executor: a durable row before the answer. The primary key keeps a reference
 * in at most one row, and only a row that is 'waiting' gets into a file. Submissions that arrive together share
 * one statement and one commit.
 */
import type { AchService, Direction } from '@pis/domain';
import { GroupCommit, isDataError } from '@pis/postgres';
import type pg from 'pg';
import type { RailRejection } from '../../bank-connection.js';
import { restoredSql } from '../../connections/connection-pauses.js';
import { type AchEntryAnswer, type AchEntryStatus, rejectionText } from './ach-tables.js';
import type { StandardEntryClass, TransactionCode } from './nacha-file.js';

export interface AchSubmission {
  readonly reference: string;
  readonly paymentId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly contactId: string;
  readonly direction: Direction;
  readonly amountMinor: number;
  readonly termsMac: string;
  readonly standardEntryClass: StandardEntryClass;
  readonly transactionCode: TransactionCode;
  readonly service: AchService;
  /** Null when the entry is rejected. */
  readonly sealedReceiver: string | null;
  readonly individualId: string;
  readonly isReinitiation: boolean;
  readonly dueAtMs: number;
  /** After this it is not taken any more. */
  readonly takenBeforeMs: number;
  /** Why it can be in no file. */
  readonly rejection: RailRejection | null;
}

export interface SubmittedEntry {
  readonly status: AchEntryStatus;
  readonly bank: string;
  /** Null in a row that was voided before the transfer came. */
  readonly termsMac: string | null;
  /** Null in such a row, too. */
  readonly amountMinor: number | null;
  readonly answer: AchEntryAnswer | null;
  readonly rejection: RailRejection | null;
}

interface EntryRow {
  reference: string;
  bank: string;
  status: AchEntryStatus;
  terms_mac: string | null;
  amount_minor: string | null;
  answer: AchEntryAnswer | null;
  rejection: RailRejection | null;
}

const batchMax = 500;

export class AchSubmissions {
  private readonly commits: GroupCommit<AchSubmission, SubmittedEntry | null>;

  constructor(
    private readonly pool: pg.Pool,
    private readonly bank: string,
  ) {
    this.commits = new GroupCommit({
      write: (submissions) => this.write(submissions),
      batchMax,
      keyOf: ({ reference }) => reference,
      isItemsFault: isDataError,
    });
  }

  /** @returns the entry as it is now; null when the submission came too late and was not taken */
  take(submission: AchSubmission): Promise<SubmittedEntry | null> {
    return this.commits.add(submission);
  }

  async find(reference: string): Promise<SubmittedEntry | null> {
    const { rows } = await this.pool.query<EntryRow>({
      name: 'ach-entry-find',
      text: `SELECT ${columns} FROM ach_entries e WHERE reference = $1`,
      values: [reference],
    });
    return rows[0] === undefined ? null : entryOf(rows[0]);
  }

  /** What tells its transfer from others; null without one. */
  async termsOf(
    reference: string,
  ): Promise<{ readonly contactId: string; readonly termsMac: string } | null> {
    const { rows } = await this.pool.query<{ contact_id: string; terms_mac: string }>({
      name: 'ach-entry-terms',
      text: `SELECT contact_id, terms_mac FROM ach_entries
              WHERE reference = $1 AND bank = $2 AND terms_mac IS NOT NULL`,
      values: [reference, this.bank],
    });
    const [row] = rows;
    return row === undefined ? null : { contactId: row.contact_id, termsMac: row.terms_mac };
  }

  /**
   * Voids what is in no file, also before it comes.
   * @returns the entry as it is then: still 'waiting' while the database may lack its file
   */
  async void(reference: string): Promise<SubmittedEntry> {
    const { rows } = await this.pool.query<EntryRow>({
      name: 'ach-entry-void',
      text: voidSql,
      values: [reference, this.bank],
    });
    const [row] = rows;
    if (row === undefined) throw new Error('the void returned no row');
    return entryOf(row);
  }

  private async write(submissions: readonly AchSubmission[]): Promise<(SubmittedEntry | null)[]> {
    const all = <Value>(valueOf: (submission: AchSubmission) => Value) => submissions.map(valueOf);
    const { rows } = await this.pool.query<EntryRow>({
      name: 'ach-entries-submit',
      text: submitSql,
      values: [
        this.bank,
        all((one) => one.reference),
        all((one) => one.paymentId),
        all((one) => one.organizationId),
        all((one) => one.originatorId),
        all((one) => one.contactId),
        all((one) => one.direction),
        all((one) => one.amountMinor),
        all((one) => one.termsMac),
        all((one) => one.standardEntryClass),
        all((one) => one.transactionCode),
        all((one) => one.service),
        all((one) => one.sealedReceiver),
        all((one) => one.individualId),
        all((one) => new Date(one.dueAtMs)),
        all((one) => new Date(one.takenBeforeMs)),
        all((one) => rejectionText(one.rejection)),
        all((one) => one.isReinitiation),
      ],
    });
    const taken = new Map(rows.map((row) => [row.reference, entryOf(row)]));
    return submissions.map(({ reference }) => taken.get(reference) ?? null);
  }
}

function entryOf(row: EntryRow): SubmittedEntry {
  const { status, bank, terms_mac: termsMac, amount_minor: amount, answer, rejection } = row;
  const amountMinor = amount === null ? null : Number(amount);
  return { status, bank, termsMac, amountMinor, answer, rejection };
}

const columns = 'e.reference, e.bank, e.status, e.terms_mac, e.amount_minor, e.answer, e.rejection';

/** A repeated submission changes nothing but the count, and sees the row as it is now. */
const submitSql = `
  INSERT INTO ach_entries AS e (reference, bank, status, payment_id, organization_id, originator_id,
    contact_id, direction, amount_minor, terms_mac, standard_entry_class, transaction_code, service,
    sealed_receiver, individual_id, due_at, rejection, is_reinitiation, submitted_at, submissions)
  SELECT s.reference, $1, CASE WHEN s.rejection IS NULL THEN 'waiting' ELSE 'rejected' END, s.payment_id,
         s.organization_id, s.originator_id, s.contact_id, s.direction, s.amount_minor, s.terms_mac,
         s.standard_entry_class, s.transaction_code, s.service, s.sealed_receiver, s.individual_id, s.due_at,
         s.rejection::jsonb, s.is_reinitiation, now(), 1
    FROM unnest($2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::bigint[],
                $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
                $15::timestamptz[], $16::timestamptz[], $17::text[], $18::boolean[])
         AS s (reference, payment_id, organization_id, originator_id, contact_id, direction, amount_minor,
               terms_mac, standard_entry_class, transaction_code, service, sealed_receiver, individual_id,
               due_at, taken_before, rejection, is_reinitiation)
   WHERE clock_timestamp() < s.taken_before
   ORDER BY s.reference
  ON CONFLICT (reference) DO UPDATE SET submissions = e.submissions + 1
  RETURNING ${columns}`;

const isVoidedSql = `e.status = 'waiting' AND e.bank NOT IN (${restoredSql})`;

/**
 * What a restored database, or a replica, has as waiting may be in a file that the bank has. It is not voided before its
 * connection is resumed. Then it is in no file before the void had the time to be repeated.
 */
const voidSql = `
  INSERT INTO ach_entries AS e (reference, bank, status, submitted_at) VALUES ($1, $2, 'voided', now())
  ON CONFLICT (reference) DO UPDATE SET
    status = CASE WHEN ${isVoidedSql} THEN 'voided' ELSE e.status END,
    sealed_receiver = CASE WHEN ${isVoidedSql} THEN NULL ELSE e.sealed_receiver END,
    due_at = CASE e.status WHEN 'waiting' THEN greatest(e.due_at, now() + interval '1 hour')
                           ELSE e.due_at END
  RETURNING ${columns}`;
