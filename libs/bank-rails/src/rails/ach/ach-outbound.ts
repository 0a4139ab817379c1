/**
 * The way out: one file at a time is built, uploaded and acknowledged. The recorded bytes go out again under the
 * same name until the upload is known to have succeeded; the bank answers "duplicate" if it has them. A file
 * without an acknowledgement holds up the next one until it is overdue. While the connection is paused, nothing is
 * built or uploaded.
 */
import { CannotOpen } from '@pis/keyring';
import { inTransaction, isDataError } from '@pis/postgres';
import type pg from 'pg';
import { BankRefused } from '../../bank-connection.js';
import { isPausedSql } from '../../connections/connection-pauses.js';
import { ArchiveAltered, ArchiveErased, type FileArchive } from '../../connections/file-archive.js';
import type { FileTransport } from '../../connections/file-transport.js';
import { stopwatch } from '../../stopwatch.js';
import { isGivenUpInPartSql } from './ach-by-hand.js';
import { appendReports, unmatchedFile } from './ach-feed.js';
import { type AchFileBuilder, type RecordedFile, sha256Of } from './ach-file-builder.js';
import { type AchLog, lockBank } from './ach-tables.js';

export interface AchOutboundOptions {
  readonly bank: string;
  readonly pool: pg.Pool;
  readonly archive: FileArchive;
  readonly transport: FileTransport;
  readonly builder: AchFileBuilder;
  readonly log: AchLog;
  /** The next file does not wait any longer than this for the acknowledgement of one. */
  readonly ackOverdueMs: number;
  readonly uploadTakeoverMs: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Called when the feed has grown. */
  readonly onReports: () => void;
}

interface Place {
  /** Nothing is built or uploaded. */
  readonly isPaused: boolean;
  /** The file that must be settled before the next one. */
  readonly open: OpenFile | null;
  /** Until the next waiting entry is due; 0 or less when one is. Null without one. */
  readonly dueInMs: number | null;
}

interface OpenFile {
  readonly id: string;
  readonly name: string;
  readonly status: 'recorded' | 'uploaded';
  readonly archive_id: string;
  readonly sha256: string;
  readonly upload_in_ms: number;
  readonly overdue_in_ms: number | null;
}

/** Files of one round. More wait for the next one. */
const filesPerRoundMax = 20;
const uploadRetryMaxMs = 60_000;
/**
 * An upload does not begin later than this after the process got the right to it. By then another process may have sent the
 * file, or staff may have given it up, after a failover of the database, too.
 */
const uploadBeginMaxMs = 60_000;
/** So that a slow renewal comes in time. */
const renewalsPerTakeover = 4;
const renewalMinMs = 20;
/** While entries wait for the acknowledgement of another file. It may come through another process. */
const lookAgainMinMs = 50;
const lookAgainMaxMs = 2_000;

export class AchOutbound {
  private lookAgainMs = lookAgainMinMs;
  /** True while entries wait for an open file: then a new entry changes nothing. */
  isHeldUp = false;
  /** True after an upload failed, until one succeeds. */
  isFailing = false;

  constructor(private readonly options: AchOutboundOptions) {}

  /**
   * Uploads and builds until there is nothing to do. Returns the milliseconds until there may be more, null
   * when nothing waits. Several processes may do this at once.
   * @throws connection errors of PostgreSQL, StoreUnavailable: what is recorded stays recorded
   */
  async round(): Promise<number | null> {
    this.isHeldUp = false;
    for (let files = 0; files < filesPerRoundMax; files += 1) {
      const { isPaused, open, dueInMs } = await this.place();
      if (isPaused) return null;
      if (open?.status === 'recorded') {
        const waitMs = open.upload_in_ms > 0 ? open.upload_in_ms : await this.uploadAgain(open);
        if (waitMs > 0) return waitMs;
        continue;
      }
      if (dueInMs === null) return null;
      if (dueInMs > 0) return dueInMs;
      if (open !== null) return this.heldUp(open);
      this.lookAgainMs = lookAgainMinMs;
      const { file, hasReports } = await this.options.builder.build();
      if (hasReports) this.options.onReports();
      // Another process was faster, or every due entry was rejected.
      if (file === null) continue;
      this.options.log.info(
        { file: file.name, bytes: file.bytes.length },
        'an ACH file is recorded',
      );
      const waitMs = await this.upload(file, 1);
      if (waitMs > 0) return waitMs;
    }
    return 0;
  }

  private heldUp({ overdue_in_ms: overdueInMs }: OpenFile): number {
    this.isHeldUp = true;
    const waitMs = Math.min(this.lookAgainMs, overdueInMs ?? this.lookAgainMs);
    this.lookAgainMs = Math.min(2 * this.lookAgainMs, lookAgainMaxMs);
    return Math.max(waitMs, 1);
  }

  private async place(): Promise<Place> {
    const { rows } = await this.options.pool.query<
      { is_paused: boolean; due_in_ms: number | null } & OpenFile
    >({
      name: 'ach-place',
      text: placeSql,
      values: [this.options.bank],
    });
    const [row] = rows;
    if (row === undefined) throw new Error('the place of the ACH files was not read');
    // Without an open file its columns are null.
    const open = (row.id as string | null) === null ? null : row;
    return { isPaused: row.is_paused, open, dueInMs: row.due_in_ms };
  }

  /** The one that recorded the file did not upload it in time. @returns milliseconds until the next try */
  private async uploadAgain(open: OpenFile): Promise<number> {
    const { pool, archive, uploadTakeoverMs, clock } = this.options;
    const sinceMs = stopwatch(clock);
    const { rows } = await pool.query<{ upload_attempts: number; is_given_up_in_part: boolean }>(
      `UPDATE ach_files f SET upload_attempts = upload_attempts + 1,
         upload_due_at = clock_timestamp() + $2 * interval '1 millisecond'
        WHERE id = $1 AND status = 'recorded' AND upload_due_at <= clock_timestamp()
          AND NOT (${isPausedSql('bank')})
       RETURNING upload_attempts, ${isGivenUpInPartSql} AS is_given_up_in_part`,
      [open.id, uploadTakeoverMs],
    );
    // Another process does it, or the connection is paused by now.
    if (rows[0] === undefined) return lookAgainMinMs;
    if (rows[0].is_given_up_in_part) {
      await this.giveUp(open, new Error('an entry in it was settled by hand as never sent'));
      return 0;
    }
    let bytes: Uint8Array;
    try {
      bytes = await archive.bytes(open.archive_id);
    } catch (error) {
      if (!isForGood(error)) throw error;
      await this.giveUp(open, error);
      return 0;
    }
    if (sha256Of(bytes) !== open.sha256) {
      await this.giveUp(open, new Error('the archive has other bytes'));
      return 0;
    }
    return this.upload({ ...open, bytes, sinceMs }, rows[0].upload_attempts);
  }

  /** @returns milliseconds until the next try, 0 when it was uploaded */
  private async upload(file: RecordedFile, attempts: number): Promise<number> {
    const { pool, log, ackOverdueMs } = this.options;
    const { id, name, sinceMs } = file;
    // This process was stopped. The requests of an upload that has begun have time limits of their own.
    if (sinceMs() > uploadBeginMaxMs) {
      log.warn({ file: name }, 'an ACH file is not sent by a process that was stopped meanwhile');
      return lookAgainMinMs;
    }
    try {
      await this.put(file, attempts);
      this.isFailing = false;
    } catch (error) {
      this.isFailing = true;
      const waitMs = Math.min(1_000 * 2 ** Math.min(attempts - 1, 16), uploadRetryMaxMs);
      const facts = { err: error, file: name, attempts, waitMs };
      if (error instanceof BankRefused) log.error(facts, 'the bank refuses an ACH file');
      else log.warn(facts, 'an ACH file could not be uploaded, and will be again');
      await pool.query(
        `UPDATE ach_files SET upload_due_at = clock_timestamp() + $2 * interval '1 millisecond'
          WHERE id = $1 AND status = 'recorded'`,
        [id, waitMs],
      );
      return waitMs;
    }
    // The acknowledgement may already be here.
    await pool.query({
      name: 'ach-file-uploaded',
      text: `UPDATE ach_files SET status = 'uploaded', uploaded_at = now(),
               overdue_at = now() + $2 * interval '1 millisecond'
              WHERE id = $1 AND status = 'recorded'`,
      values: [id, ackOverdueMs],
    });
    return 0;
  }

  /**
   * An upload may take longer than `uploadTakeoverMs`. While it is under way, no other process sends another copy.
   * @throws BankUnavailable, BankRefused
   */
  private async put({ id, name, bytes }: RecordedFile, attempts: number): Promise<void> {
    const { pool, transport, log, uploadTakeoverMs } = this.options;
    let renewal = Promise.resolve();
    const renew = async (): Promise<void> => {
      try {
        await pool.query(
          `UPDATE ach_files SET upload_due_at = clock_timestamp() + $2 * interval '1 millisecond'
            WHERE id = $1 AND status = 'recorded'`,
          [id, uploadTakeoverMs],
        );
      } catch (error) {
        log.warn({ err: error, file: name }, 'another process may take over an ACH upload');
      }
    };
    const everyMs = Math.max(uploadTakeoverMs / renewalsPerTakeover, renewalMinMs);
    const timer = setInterval(() => {
      renewal = renewal.then(renew);
    }, everyMs);
    try {
      await transport.put(name, bytes, { isFirst: attempts === 1 });
    } finally {
      clearInterval(timer);
      await renewal;
    }
  }

  /**
   * Other bytes must never go out under this name, and nobody knows whether the first ones did. Its entries
   * stay unsettled, so their payments become FAILED_IN_FLIGHT, and staff sees the file.
   */
  private async giveUp({ id, name }: OpenFile, error: unknown): Promise<void> {
    const { pool, bank, log } = this.options;
    log.error(
      { err: error, file: name },
      'an ACH file cannot be sent any more; ask the bank about it',
    );
    await inTransaction(pool, async (client) => {
      await lockBank(client, bank);
      const { rowCount } = await client.query(
        "UPDATE ach_files SET status = 'unsendable' WHERE id = $1 AND status = 'recorded'",
        [id],
      );
      if (rowCount !== 0)
        await appendReports(client, bank, [{ reference: unmatchedFile(name), type: 'unreadable' }]);
    });
    this.options.onReports();
  }
}

/** The archive will never have these bytes again. */
function isForGood(error: unknown): boolean {
  return (
    error instanceof ArchiveErased ||
    error instanceof ArchiveAltered ||
    error instanceof CannotOpen ||
    // What the row says of the archive is no ID.
    isDataError(error)
  );
}

const placeSql = `
  SELECT (SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8
            FROM ach_entries WHERE bank = $1 AND status = 'waiting') AS due_in_ms,
         ${isPausedSql('$1')} AS is_paused, f.*
    FROM (SELECT 1) AS one
    LEFT JOIN LATERAL (
      SELECT id, name, status, archive_id, sha256,
             (extract(epoch FROM upload_due_at - clock_timestamp()) * 1000)::float8 AS upload_in_ms,
             (extract(epoch FROM overdue_at - now()) * 1000)::float8 AS overdue_in_ms
        FROM ach_files
       WHERE bank = $1 AND (status = 'recorded' OR (status = 'uploaded' AND overdue_at > now()))
       ORDER BY id LIMIT 1) f ON true`;
