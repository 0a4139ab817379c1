/**
 * Inquiries about entries that the bank has not settled. They are collected: however many entries are asked about,
 * there is one file at a time. Asking is best effort, because the executor asks again.
 */
import type pg from 'pg';
import type { FileArchive } from '../../connections/file-archive.js';
import type { FileTransport } from '../../connections/file-transport.js';
import { inquiryCopy } from './ach-copies.js';
import type { AchLog } from './ach-tables.js';
import { writeInquiryFile } from './ack-lines.js';

export interface AchInquiriesOptions {
  readonly bank: string;
  readonly pool: pg.Pool;
  readonly archive: FileArchive;
  readonly transport: FileTransport;
  readonly log: AchLog;
  /** The pause between two inquiries about one entry. */
  readonly inquiryPauseMs: number;
  /** The pause between two files. */
  readonly inquiryFileEveryMs: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

interface WantedEntry {
  readonly traceNumber: string;
  readonly paymentId: string | null;
}

/** Of one file. */
const entriesMax = 10_000;

/**
 * IS NOT FALSE: the planner must not search the index of all filed entries for one of them. Exported for the test of
 * its plan.
 */
export const wantSql = `
  UPDATE ach_entries e SET inquiry_wanted_at = coalesce(inquiry_wanted_at, clock_timestamp())
    FROM ach_files f
   WHERE e.reference = $1 AND e.bank = $2 AND (e.status = 'filed') IS NOT FALSE
     AND f.id = e.file_id AND f.status <> 'recorded'
     AND (e.inquired_at IS NULL OR e.inquired_at < now() - $3 * interval '1 millisecond')`;

/** The columns have milliseconds: the time alone may be rounded to one that has not come yet. */
const sentAt = "date_trunc('milliseconds', clock_timestamp())";

export class AchInquiries {
  /** Whether this process knows of an entry to ask about. What another one has noted is asked for again. */
  private isWanted = false;
  /** Of the next file. */
  private nextAtMs = 0;

  constructor(private readonly options: AchInquiriesOptions) {}

  /** Notes that the bank is to be asked about an entry, unless it is settled or was asked about in the last pause. */
  async want(reference: string): Promise<boolean> {
    const { bank, pool, inquiryPauseMs } = this.options;
    const { rowCount } = await pool.query({
      name: 'ach-inquiry-want',
      text: wantSql,
      values: [reference, bank, inquiryPauseMs],
    });
    const isNoted = rowCount === 1;
    if (isNoted) this.isWanted = true;
    return isNoted;
  }

  /** What a file of the bank says may be a reason to ask. */
  look(): void {
    this.isWanted = true;
  }

  /**
   * Sends one file about everything that is to be asked, unless one was sent in the last pause.
   * @returns milliseconds until the next file, null when nothing is to be asked
   * @throws connection errors of PostgreSQL, StoreUnavailable: it is asked again
   */
  async round(): Promise<number | null> {
    if (!this.isWanted) return null;
    const { inquiryFileEveryMs, clock } = this.options;
    const waitMs = this.nextAtMs - clock();
    if (waitMs > 0) return waitMs;
    this.isWanted = false;
    let isDone = false;
    try {
      const entries = await this.wanted();
      isDone = entries.length === 0 || (await this.sendInTurn(entries));
    } finally {
      if (!isDone) this.isWanted = true;
    }
    return isDone ? null : inquiryFileEveryMs;
  }

  /** @returns whether nothing is left to ask */
  private async sendInTurn(entries: readonly WantedEntry[]): Promise<boolean> {
    const { inquiryFileEveryMs, clock } = this.options;
    const isFirst = await this.begin();
    // After PostgreSQL has noted its time: otherwise the pause would not be over there when it is over here.
    this.nextAtMs = clock() + inquiryFileEveryMs;
    // Another process has just sent one.
    if (!isFirst) return false;
    return (await this.send(entries)) && entries.length < entriesMax;
  }

  /** One process at a time, and one file in each pause. */
  private async begin(): Promise<boolean> {
    const { bank, pool, inquiryFileEveryMs } = this.options;
    const { rowCount } = await pool.query(
      `UPDATE ach_banks SET inquired_at = ${sentAt} WHERE bank = $1
          AND (inquired_at IS NULL OR inquired_at <= clock_timestamp() - $2 * interval '1 millisecond')`,
      [bank, inquiryFileEveryMs],
    );
    return rowCount === 1;
  }

  private async wanted(): Promise<readonly WantedEntry[]> {
    const { bank, pool } = this.options;
    const { rows } = await pool.query<{ trace_number: string; payment_id: string | null }>(
      `SELECT trace_number, payment_id FROM ach_entries
        WHERE bank = $1 AND inquiry_wanted_at IS NOT NULL AND status = 'filed'
        ORDER BY inquiry_wanted_at LIMIT ${entriesMax}`,
      [bank],
    );
    return rows.map((row) => ({ traceNumber: row.trace_number, paymentId: row.payment_id }));
  }

  /** @returns whether the bank has it */
  private async send(entries: readonly WantedEntry[]): Promise<boolean> {
    const { bank, pool, archive, transport, log, clock } = this.options;
    const traceNumbers = entries.map(({ traceNumber }) => traceNumber);
    const at = new Date(clock()).toISOString();
    const bytes = writeInquiryFile({ at, traceNumbers });
    const name = `PIS-INQUIRY-${traceNumbers[0] ?? ''}-${at.replaceAll(/\D/g, '')}.jsonl`;
    try {
      await transport.put(name, bytes, { isFirst: true });
    } catch (error) {
      const facts = { err: error, bank, entries: entries.length };
      log.warn(facts, 'the bank could not be asked about ACH entries, and will be');
      return false;
    }
    const paymentIds = entries.map(({ paymentId }) => paymentId);
    const segments = inquiryCopy(bytes, paymentIds);
    await archive.keep({
      ...{ connection: bank, rail: 'ACH', way: 'out', kind: 'inquiry', name, segments },
    });
    await pool.query(
      `UPDATE ach_entries SET inquiry_wanted_at = NULL, inquired_at = ${sentAt}
        WHERE bank = $1 AND trace_number = ANY ($2::text[]) AND inquiry_wanted_at IS NOT NULL`,
      [bank, traceNumbers],
    );
    return true;
  }
}
