/**
 * Makes a NACHA file of the entries that are due. Trace numbers, the entries' membership, the file and its exact
 * bytes are recorded in one transaction, before anything is sent. The lock of the connection's row lets one
 * process at a time do it; a void waits for the row of its entry.
 */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { AchService, Direction } from '@pis/domain';
import { CannotOpen, type Keyring, type Owner, ownerOf, type SealedText } from '@pis/keyring';
import { inTransaction, requireAgreeingClocks } from '@pis/postgres';
import type pg from 'pg';
import type { RailRejection } from '../../bank-connection.js';
import { easternTime } from '../../calendar/eastern-time.js';
import { isPausedSql } from '../../connections/connection-pauses.js';
import type { ArchiveSegment, FileArchive } from '../../connections/file-archive.js';
import { stopwatch } from '../../stopwatch.js';
import { type AchReport, appendReports } from './ach-feed.js';
import type { AchIdentity } from '../../connections/bank-config.js';
import { type AchReceiver, batchTermsOf, entryRejection, nachaEntryOf } from './ach-entry.js';
import { withPrenoteAnswers } from './ach-prenote-answers.js';
import { alteredRejection, erasedRejection } from './ach-rejections.js';
import type { AchSchedule } from './ach-schedule.js';
import { type AchLog, lockBank, rejectionText } from './ach-tables.js';
import { entryPlace, submittedReceiver } from './ach-terms.js';
import {
  batchRecordsMax,
  type BatchTerms,
  type NachaEntry,
  type NachaFile,
  type StandardEntryClass,
  traceNumberOf,
  traceSequenceMax,
  type TransactionCode,
} from './nacha-file.js';
import { groupIntoFiles } from './nacha-batches.js';
import { nachaSegments } from './nacha-writer.js';

export interface AchFileBuilderOptions {
  readonly bank: string;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly archive: FileArchive;
  readonly identity: AchIdentity;
  readonly schedule: AchSchedule;
  readonly log: AchLog;
  /** Another process uploads the file after this, if the one that built it does not. */
  readonly uploadTakeoverMs: number;
  readonly clock: () => number;
  /** The same, compared with PostgreSQL's clock. Tests set the other one to times to come. */
  readonly wallClock?: () => number;
}

export interface RecordedFile {
  readonly id: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Counts the milliseconds since before this process got the right to upload it. */
  readonly sinceMs: () => number;
}

interface WaitingRow {
  reference: string;
  payment_id: string;
  organization_id: string;
  originator_id: string;
  contact_id: string;
  direction: Direction;
  amount_minor: string;
  terms_mac: string | null;
  standard_entry_class: StandardEntryClass;
  transaction_code: TransactionCode;
  service: AchService;
  sealed_receiver: string;
  individual_id: string;
  is_reinitiation: boolean;
}

interface FiledItem {
  readonly row: WaitingRow;
  readonly batch: BatchTerms;
  readonly entry: NachaEntry;
}

interface Rejected {
  readonly reference: string;
  readonly rejection: RailRejection;
}

export class AchFileBuilder {
  constructor(private readonly options: AchFileBuilderOptions) {}

  /**
   * Null when nothing is due, another file is open, or the connection is paused. `hasReports` tells that the feed has grown.
   * @throws ClocksDiffer, connection errors of PostgreSQL, StoreUnavailable: nothing has changed
   */
  async build(): Promise<{ readonly file: RecordedFile | null; readonly hasReports: boolean }> {
    const { pool, bank } = this.options;
    await requireAgreeingClocks(pool, this.options.wallClock);
    return inTransaction(pool, async (client) => {
      const { lastTrace, lastFile } = await lockBank(client, bank);
      if (await isHeldUp(client, bank)) return { file: null, hasReports: false };
      const rows = await this.due(client);
      const startTrace = lastTrace + rows.length > traceSequenceMax ? 0 : lastTrace;
      const { items, rejected } = await this.itemsOf(rows, startTrace);
      await reject(client, bank, rejected);
      const hasReports = rejected.length > 0;
      if (items.length === 0) return { file: null, hasReports };
      const file = await this.record(client, items, lastFile + 1);
      await client.query('UPDATE ach_banks SET last_trace = $2, last_file = $3 WHERE bank = $1', [
        bank,
        startTrace + rows.length,
        lastFile + 1,
      ]);
      return { file, hasReports };
    });
  }

  private async due(client: pg.ClientBase): Promise<WaitingRow[]> {
    const { rows } = await client.query<WaitingRow>({
      name: 'ach-entries-due',
      text: `SELECT reference, terms_mac, direction, amount_minor, standard_entry_class, transaction_code, service,
                    is_reinitiation,
                    coalesce(payment_id::text, '') AS payment_id, coalesce(organization_id::text, '') AS organization_id,
                    coalesce(originator_id::text, '') AS originator_id, coalesce(contact_id::text, '') AS contact_id,
                    coalesce(sealed_receiver, '') AS sealed_receiver, coalesce(individual_id, '') AS individual_id
               FROM ach_entries WHERE bank = $1 AND status = 'waiting' AND due_at <= now()
              ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
      values: [this.options.bank, this.options.identity.limits.entriesPerFileMax],
    });
    return rows;
  }

  /** Entries that cannot be written any more are rejected one by one: they must not stop the others. */
  private async itemsOf(
    rows: readonly WaitingRow[],
    startTrace: number,
  ): Promise<{ items: FiledItem[]; rejected: Rejected[] }> {
    const { identity, schedule, clock } = this.options;
    const builtAtMs = clock();
    const settlements = {
      same_day: schedule.settlement('same_day', builtAtMs),
      standard: schedule.settlement('standard', builtAtMs),
    };
    const opened = await this.opened(rows);
    const items: FiledItem[] = [];
    const rejected: Rejected[] = [];
    for (const [index, row] of rows.entries()) {
      if (index % entriesPerTurn === entriesPerTurn - 1) await setImmediate();
      const receiver = this.receiverOf(row, opened[index] ?? erasedRejection);
      if ('failureCode' in receiver) {
        rejected.push({ reference: row.reference, rejection: receiver });
        continue;
      }
      const batch = batchTermsOf(identity, settlements[row.service], {
        standardEntryClass: row.standard_entry_class,
        organizationId: row.organization_id,
        direction: row.direction,
        isReinitiation: row.is_reinitiation,
      });
      const entry = nachaEntryOf(receiver, {
        transactionCode: row.transaction_code,
        standardEntryClass: row.standard_entry_class,
        amountMinor: Number(row.amount_minor),
        individualId: row.individual_id,
        traceNumber: traceNumberOf(batch.odfi, startTrace + index + 1),
      });
      const rejection = entryRejection(identity, { batch, entry });
      if (rejection === null) items.push({ row, batch, entry });
      else rejected.push({ reference: row.reference, rejection });
    }
    return { items, rejected };
  }

  /** The row must be as it was submitted: whoever can change it must not move money. */
  private receiverOf(row: WaitingRow, opened: string | RailRejection): AchReceiver | RailRejection {
    if (typeof opened !== 'string') return opened;
    const terms = {
      ...{ reference: row.reference, termsMac: row.terms_mac, paymentId: row.payment_id },
      ...{ organizationId: row.organization_id, originatorId: row.originator_id },
      ...{ contactId: row.contact_id, direction: row.direction, service: row.service },
      ...{ amountMinor: Number(row.amount_minor), standardEntryClass: row.standard_entry_class },
      ...{ transactionCode: row.transaction_code, individualId: row.individual_id },
      isReinitiation: row.is_reinitiation,
    };
    const receiver = submittedReceiver(this.options.keyring, terms, opened);
    if (receiver !== null) return receiver;
    this.options.log.error(
      { reference: row.reference },
      'an ACH entry was altered in the database and is not sent',
    );
    return alteredRejection;
  }

  /** In order; null where the contact was erased. A text that was altered must not stop the others. */
  private async opened(
    rows: readonly WaitingRow[],
  ): Promise<readonly (string | RailRejection | null)[]> {
    const { bank, keyring } = this.options;
    const texts = rows.map((row) => ({
      sealed: row.sealed_receiver,
      owner: ownerOf.contact(row.contact_id),
      place: entryPlace(bank, row.reference),
    }));
    try {
      return await keyring.openAll(texts);
    } catch (error) {
      if (!(error instanceof CannotOpen)) throw error;
    }
    const openOne = async (text: SealedText): Promise<string | RailRejection | null> => {
      try {
        return (await keyring.openAll([text]))[0] ?? null;
      } catch (error) {
        if (error instanceof CannotOpen) return alteredRejection;
        throw error;
      }
    };
    return Promise.all(texts.map(openOne));
  }

  private async record(
    client: pg.ClientBase,
    items: readonly FiledItem[],
    number: number,
  ): Promise<RecordedFile> {
    const { bank, archive, identity, clock, uploadTakeoverMs } = this.options;
    const sinceMs = stopwatch(clock);
    // What does not fit into this file waits for the next one.
    const [batches = []] = groupIntoFiles(items, {
      recordsMax: Math.min(recordsPerEntryMax * identity.limits.entriesPerFileMax, batchRecordsMax),
      amountMaxMinor: identity.limits.amountPerFileMaxMinor,
    });
    const { date, time } = easternTime(clock());
    const file: NachaFile = {
      header: {
        immediateDestination: identity.immediateDestination,
        immediateOrigin: identity.immediateOrigin,
        createdOn: date,
        createdAt: time.slice(0, 5),
        fileIdModifier: modifiers.charAt((number - 1) % modifiers.length),
        destinationName: identity.immediateDestinationName,
        originName: identity.immediateOriginName,
        referenceCode: number.toString(36).toUpperCase().slice(-8),
      },
      batches,
    };
    const rowOf = new Map(items.map(({ entry, row }) => [entry, row]));
    const filed = batches.flatMap(({ entries }) => entries);
    const segments = await segmentsOf(file, rowOf);
    const bytes = Buffer.concat(segments.map((segment) => segment.bytes));
    const name = `PIS-${date.replaceAll('-', '')}-${String(number).padStart(7, '0')}.ach`;
    const kept = await archive.keep(
      { connection: bank, rail: 'ACH', way: 'out', kind: 'nacha', name, segments },
      client,
    );
    if (!kept.isNew) throw new Error(`the bytes of ${name} were recorded before`);
    const settlesOn = batches.map(({ effectiveDate }) => effectiveDate ?? date).sort();
    const { rows } = await client.query<{ id: string }>(
      `INSERT INTO ach_files (bank, name, archive_id, sha256, entries, created_at, upload_due_at,
         upload_attempts, settles_on)
       VALUES ($1, $2, $3, $4, $5, now(), clock_timestamp() + $6 * interval '1 millisecond', 1, $7::date)
       RETURNING id`,
      [bank, name, kept.id, sha256Of(bytes), filed.length, uploadTakeoverMs, settlesOn[0] ?? date],
    );
    const id = rows[0]?.id ?? '';
    const moved = await client.query({
      name: 'ach-entries-file',
      text: `UPDATE ach_entries e SET status = 'filed', file_id = $1, trace_number = f.trace,
               sealed_receiver = NULL
               FROM unnest($2::text[], $3::text[]) AS f (reference, trace)
              WHERE e.reference = f.reference AND e.status = 'waiting'`,
      values: [
        id,
        filed.map((entry) => rowOf.get(entry)?.reference),
        filed.map(({ traceNumber }) => traceNumber),
      ],
    });
    if (moved.rowCount !== filed.length)
      throw new Error(`${filed.length} entries are in ${name}, but ${moved.rowCount} were waiting`);
    return { id, name, bytes, sinceMs };
  }
}

/** After so many entries others run: a file of 10,000 takes a while. */
const entriesPerTurn = 500;
/** An entry has one addenda at most. */
const recordsPerEntryMax = 2;
const modifiers = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * An entry with its addenda is sealed under its contact's key, so that erasing the contact erases it. So are totals
 * of one contact alone: the hash of one routing number is the routing number. Totals of several contacts have a key
 * of the file alone, which ends with the first of them that is erased: less the others, they tell the one.
 */
async function segmentsOf(
  file: NachaFile,
  rowOf: ReadonlyMap<NachaEntry, WaitingRow>,
): Promise<readonly ArchiveSegment[]> {
  const ownerOfTotals = (entries: readonly NachaEntry[]): Owner | 'file' => {
    const [contactId, ...others] = new Set(entries.map((entry) => rowOf.get(entry)?.contact_id));
    return contactId === undefined || others.length > 0 ? 'file' : ownerOf.contact(contactId);
  };
  const ofFile = ownerOfTotals(file.batches.flatMap(({ entries }) => entries));
  const ofHeaders = ofFile === 'file' ? null : ofFile;
  const segments: ArchiveSegment[] = [];
  let batchIndex = 0;
  let isBehindEntries = false;
  for (const { bytes, entry } of nachaSegments(file)) {
    const row = entry === null ? undefined : rowOf.get(entry);
    const isBatchControl = entry === null && isBehindEntries;
    isBehindEntries = entry !== null;
    let owner: ArchiveSegment['owner'] = ofHeaders;
    if (row !== undefined) owner = ownerOf.contact(row.contact_id);
    else if (isBatchControl) {
      owner = ownerOfTotals(file.batches[batchIndex]?.entries ?? []);
      batchIndex += 1;
      // Behind the last batch is the control of the file.
    } else if (batchIndex === file.batches.length) owner = ofFile;
    segments.push({ bytes, owner, paymentId: row?.payment_id ?? null });
    if (segments.length % entriesPerTurn === 0) await setImmediate();
  }
  return segments;
}

/**
 * Whether another file is open, or the connection is paused. The database may have failed over since the round looked: then
 * entries may be waiting here that are in a file which the bank has.
 */
async function isHeldUp(client: pg.ClientBase, bank: string): Promise<boolean> {
  const { rows } = await client.query({
    name: 'ach-held-up',
    text: `SELECT 1 FROM ach_files WHERE bank = $1
              AND (status = 'recorded' OR (status = 'uploaded' AND overdue_at > now()))
           UNION ALL SELECT 1 WHERE ${isPausedSql('$1')} LIMIT 1`,
    values: [bank],
  });
  return rows.length > 0;
}

async function reject(
  client: pg.ClientBase,
  bank: string,
  rejected: readonly Rejected[],
): Promise<void> {
  if (rejected.length === 0) return;
  await client.query(
    `UPDATE ach_entries e SET status = 'rejected', rejection = r.rejection::jsonb, sealed_receiver = NULL
       FROM unnest($1::text[], $2::text[]) AS r (reference, rejection)
      WHERE e.reference = r.reference`,
    [
      rejected.map(({ reference }) => reference),
      rejected.map(({ rejection }) => rejectionText(rejection)),
    ],
  );
  const reports = rejected.map(
    ({ reference, rejection }): AchReport => ({ reference, type: 'rejected', rejection }),
  );
  await appendReports(client, bank, await withPrenoteAnswers(client, bank, reports));
}
