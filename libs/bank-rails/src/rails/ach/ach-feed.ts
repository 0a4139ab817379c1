/**
 * The connection's feed: what the bank has said, in one order that never changes behind a cursor. Numbers are
 * assigned under the lock of the connection's row, which is held until they are visible.
 */
import {
  type BankNotification,
  type BankNotificationPage,
  feedBeginning,
  notificationsMax,
} from '../../bank-connection.js';
import type pg from 'pg';
import { keepableText, rejectionText } from './ach-tables.js';

/** One notification without its place in the feed. */
export type AchReport = Pick<BankNotification, 'reference' | 'type'> &
  Partial<
    Pick<BankNotification, 'returnReasonCode' | 'returnReference' | 'rejection' | 'correction'>
  > & {
    /** Of a confirmation: the bank may have kept the entry back after it had its file. Not in the feed. */
    readonly wasKept?: boolean;
  };

/** Longer than any reference of ours, and than `ACH file` with the longest name of a file. */
const referenceMax = 220;

/** What the bank said about an entry that is not ours. No payment can have this reference. */
export function unmatchedTrace(traceNumber: string): string {
  return `ACH trace ${traceNumber}`;
}

/** What concerns a whole file and no payment of ours. */
export function unmatchedFile(name: string): string {
  return `ACH file ${name}`;
}

/** Appends to the feed, in this order, in the caller's transaction. */
export async function appendReports(
  client: pg.ClientBase,
  bank: string,
  reports: readonly AchReport[],
): Promise<void> {
  if (reports.length === 0) return;
  await client.query({
    name: 'ach-feed-append',
    text: appendSql,
    values: [
      bank,
      reports.length,
      reports.map(({ reference }) => keepableText(reference, referenceMax)),
      reports.map(({ type }) => type),
      reports.map(({ returnReasonCode }) => returnReasonCode ?? null),
      reports.map(({ rejection }) => rejectionText(rejection ?? null)),
      reports.map(({ correction }) => correction?.changeCode ?? null),
      reports.map(({ correction }) => correction?.corrected ?? null),
      reports.map(({ returnReference }) => returnReference ?? null),
    ],
  });
}

/**
 * Those of the reports that are not in the feed yet, so that a file can be applied again. Each correction is sealed
 * anew, so corrections are compared by what they say. A return in the feed without its trace number is of an earlier
 * release, and may be any.
 */
export async function unreported(
  client: pg.ClientBase,
  { bank, reports, textOf }: Unreported,
): Promise<readonly AchReport[]> {
  if (reports.length === 0) return [];
  const { rows } = await client.query<FeedRow>({
    text: `SELECT ${feedColumns}
             FROM ach_feed WHERE bank = $1 AND reference = ANY ($2::text[])`,
    values: [bank, reports.map(({ reference }) => keepableText(reference, referenceMax))],
  });
  const keyOf = async (report: AchReport): Promise<string> => {
    const { reference, type, returnReasonCode = null, returnReference = null } = report;
    const { correction = null } = report;
    const text = correction === null ? null : await textOf(reference, correction.corrected);
    const code = correction?.changeCode ?? null;
    return JSON.stringify([
      keepableText(reference, referenceMax),
      type,
      returnReasonCode,
      returnReference,
      code,
      text,
    ]);
  };
  const said = new Set<string>();
  for (const row of rows) said.add(await keyOf(notificationOf(row, undefined)));
  const news: AchReport[] = [];
  for (const report of reports) {
    const keys = [await keyOf(report), await keyOf({ ...report, returnReference: null })];
    if (!keys.some((key) => said.has(key))) news.push(report);
  }
  return news;
}

/**
 * Without the corrections that repeat what the bank said last of the same entry under the same code: it may send one in each of its
 * files, and the client has answered it.
 */
export async function withoutRepeatedCorrections(
  client: pg.ClientBase,
  { bank, reports, textOf }: Unreported,
): Promise<readonly AchReport[]> {
  const references = reports.flatMap(({ reference, correction }) =>
    correction == null ? [] : [reference],
  );
  if (references.length === 0) return reports;
  const { rows } = await client.query<FeedRow>({
    text: `SELECT DISTINCT ON (reference, change_code) ${feedColumns} FROM ach_feed
            WHERE bank = $1 AND reference = ANY ($2::text[]) AND corrected IS NOT NULL
            ORDER BY reference, change_code, sequence DESC`,
    values: [bank, references],
  });
  const last = new Map<string, string | null>();
  const keyOf = (reference: string, changeCode: string) => `${reference} ${changeCode}`;
  for (const { reference, change_code: changeCode, corrected } of rows)
    last.set(keyOf(reference, changeCode ?? ''), await textOf(reference, corrected ?? ''));
  const told: AchReport[] = [];
  for (const report of reports) {
    const { reference, correction } = report;
    if (correction != null) {
      const text = await textOf(reference, correction.corrected);
      const key = keyOf(reference, correction.changeCode);
      if (text !== null && last.get(key) === text) continue;
      last.set(key, text);
    }
    told.push(report);
  }
  return told;
}

interface Unreported {
  readonly bank: string;
  readonly reports: readonly AchReport[];
  /** What a sealed correction says. */
  readonly textOf: (reference: string, corrected: string) => Promise<string | null>;
}

const feedColumns = `sequence, reference, type, return_reason_code, return_reference, rejection, change_code,
  corrected, at`;

interface FeedRow {
  sequence: string;
  reference: string;
  type: BankNotification['type'];
  return_reason_code: string | null;
  return_reference: string | null;
  rejection: BankNotification['rejection'];
  change_code: string | null;
  corrected: string | null;
  at: Date;
}

export async function readReports(
  pool: pg.Pool,
  bank: string,
  { after, max }: { readonly after: string; readonly max: number },
): Promise<BankNotificationPage> {
  const { rows } = await pool.query<FeedRow>({
    name: 'ach-feed-read',
    text: `SELECT ${feedColumns}
             FROM ach_feed WHERE bank = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
    values: [bank, after === feedBeginning ? '0' : after, Math.min(max, notificationsMax)],
  });
  const sent = await sentOf(pool, bank, rows);
  return {
    notifications: rows.map((row) => notificationOf(row, sent.get(row.reference))),
    cursor: rows.at(-1)?.sequence ?? after,
  };
}

interface SentEntry {
  /** Minor units. */
  readonly amountMinor: number;
  readonly recordedAt: Date;
}

/**
 * Of the entries. It never changes. A statement of its own: as a join, a plan of the empty tables could read all entries for
 * each report.
 */
async function sentOf(
  pool: pg.Pool,
  bank: string,
  reports: readonly FeedRow[],
): Promise<ReadonlyMap<string, SentEntry>> {
  if (reports.length === 0) return new Map();
  const { rows } = await pool.query<{ reference: string; amount: string; recorded_at: Date }>({
    name: 'ach-feed-sent',
    text: `SELECT reference, amount_minor AS amount, submitted_at AS recorded_at FROM ach_entries
            WHERE reference = ANY ($2::text[]) AND bank = $1 AND amount_minor IS NOT NULL`,
    values: [bank, reports.map(({ reference }) => reference)],
  });
  return new Map(
    rows.map(({ reference, amount, recorded_at: recordedAt }) => [
      reference,
      { amountMinor: Number(amount), recordedAt },
    ]),
  );
}

function notificationOf(row: FeedRow, sent: SentEntry | undefined): BankNotification {
  const { change_code: changeCode, corrected } = row;
  return {
    sequence: row.sequence,
    reference: row.reference,
    type: row.type,
    returnReasonCode: row.return_reason_code,
    returnReference: row.return_reference,
    // An entry is returned whole.
    returnedAmount: null,
    sentAmountMinor: sent?.amountMinor ?? null,
    recordedAt: sent?.recordedAt.toISOString() ?? null,
    rejection: row.rejection,
    correction: changeCode === null || corrected === null ? null : { changeCode, corrected },
    at: row.at.toISOString(),
  };
}

const appendSql = `
  WITH counted AS (
    UPDATE ach_banks SET last_sequence = last_sequence + $2::int WHERE bank = $1
    RETURNING last_sequence - $2::int AS before
  )
  INSERT INTO ach_feed (bank, sequence, reference, type, return_reason_code, rejection, change_code,
    corrected, return_reference, at)
  SELECT $1, counted.before + r.place, r.reference, r.type, r.code, r.rejection::jsonb, r.change_code,
         r.corrected, r.return_reference, clock_timestamp()
    FROM counted,
         unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
           WITH ORDINALITY
           AS r (reference, type, code, rejection, change_code, corrected, return_reference, place)`;
