/**
 * What an acknowledgement does to the entries. Each function runs in the transaction that records the file, under the
 * lock of the connection's row. It changes the rows and says what goes into the feed. What contradicts an earlier
 * answer goes into the feed as it is: the executor shows it to staff.
 */
import type pg from 'pg';
import type { AckEntry, AckFile } from './ack-file.js';
import { isGivenUpInPartSql, isNeverSentSql } from './ach-by-hand.js';
import { type AchReport, unmatchedFile, unmatchedTrace } from './ach-feed.js';
import { entriesByTrace, type KnownEntry } from './ach-known.js';
import { bankRejection, fileRejection } from './ach-rejections.js';
import type { RailRejection } from '../../bank-connection.js';
import { type AchEntryStatus, isDuplicateCode, rejectionText } from './ach-tables.js';

interface KnownFile {
  readonly id: string;
  readonly sha256: string;
  readonly status: string;
  readonly upload_attempts: number;
  readonly duplicate_at: Date | null;
}

export async function applyAck(
  client: pg.ClientBase,
  bank: string,
  ack: AckFile,
): Promise<readonly AchReport[]> {
  const { rows } = await client.query<KnownFile>(
    `SELECT id, sha256, status, upload_attempts, duplicate_at
       FROM ach_files WHERE bank = $1 AND name = $2 FOR UPDATE`,
    [bank, ack.name],
  );
  const [file] = rows;
  const aboutFile: AchReport = { reference: unmatchedFile(ack.name), type: 'unreadable' };
  // Not ours, or the bank got other bytes than we recorded.
  if (file === undefined || file.sha256 !== ack.sha256) return [aboutFile];
  switch (ack.status) {
    case 'duplicate':
      return applyDuplicate(client, bank, file, ack);
    case 'rejected':
      if (file.status === 'acknowledged') return [aboutFile];
      if (mayHaveACopy(file, ack) || (await hasTaken(client, file))) {
        await doubtRejection(client, file.id);
        return [aboutFile];
      }
      await settleFile(client, file.id, 'rejected');
      return rejectFile(client, file.id, ack.code);
    case 'accepted':
    case 'update': {
      // It was rejected before: which is true?
      if (file.status === 'rejected') return [aboutFile];
      const listed = await applyListed(client, bank, file, ack);
      if (ack.status === 'update') return listed;
      await settleFile(client, file.id, 'acknowledged');
      return [...listed, ...(await acceptOthers(client, file, ack))];
    }
  }
}

/** The bank may have rejected one copy of the file, and process another. Then its rejection proves nothing. */
function mayHaveACopy(
  { upload_attempts: attempts, status }: KnownFile,
  { code }: AckFile,
): boolean {
  return status !== 'rejected' && (attempts > 1 || isDuplicateCode(code));
}

/** Whether the bank has accepted or returned an entry of the file. Then its rejection of the whole file is not true of all. */
async function hasTaken(client: pg.ClientBase, { id, status }: KnownFile): Promise<boolean> {
  if (status === 'rejected') return false;
  const { rowCount } = await client.query(
    "SELECT 1 FROM ach_entries WHERE file_id = $1 AND status IN ('accepted', 'returned') LIMIT 1",
    [id],
  );
  return rowCount !== 0;
}

/** No further copy goes out. The file is overdue: staff are alerted, the next one goes. The bank is asked. */
async function doubtRejection(client: pg.ClientBase, fileId: string): Promise<void> {
  await client.query(
    `UPDATE ach_files SET status = 'uploaded', uploaded_at = coalesce(uploaded_at, now()),
       overdue_at = least(overdue_at, now()) WHERE id = $1 AND status IN ('recorded', 'uploaded')`,
    [fileId],
  );
  await client.query(
    "UPDATE ach_entries SET inquiry_wanted_at = now() WHERE file_id = $1 AND status = 'filed'",
    [fileId],
  );
}

/**
 * The answer to the first copy may be lost: what the bank lists here may be all that it says. A rejection in it may
 * be that of the copy.
 */
async function applyDuplicate(
  client: pg.ClientBase,
  bank: string,
  file: KnownFile,
  ack: AckFile,
): Promise<readonly AchReport[]> {
  const aboutFile: AchReport = { reference: unmatchedFile(ack.name), type: 'unreadable' };
  if (file.status === 'rejected')
    return ack.entries.every(({ status }) => status === 'rejected') ? [] : [aboutFile];
  const settled = await believeRejections(client, file.id);
  const listed = await applyListed(client, bank, file, ack);
  const { rowCount } = await client.query(
    "SELECT 1 FROM ach_entries WHERE file_id = $1 AND status = 'filed' AND answer IS NULL LIMIT 1",
    [file.id],
  );
  if (rowCount === 0) await settleFile(client, file.id, 'acknowledged');
  const about = (await isGivenUpInPart(client, file.id)) ? [aboutFile] : [];
  return [...settled, ...listed, ...about];
}

/** Whether staff settled one of its entries as never sent. They must learn that the bank has the file. */
async function isGivenUpInPart(client: pg.ClientBase, fileId: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM ach_files f WHERE f.id = $1 AND ${isGivenUpInPartSql}`,
    [fileId],
  );
  return rowCount !== 0;
}

/** The bank recognizes copies, so it processes one of them, and what it rejected in that one stays rejected. */
async function believeRejections(client: pg.ClientBase, fileId: string): Promise<AchReport[]> {
  await client.query(
    'UPDATE ach_files SET duplicate_at = coalesce(duplicate_at, now()) WHERE id = $1',
    [fileId],
  );
  const { rows } = await client.query<{ reference: string; rejection: RailRejection }>(
    `UPDATE ach_entries SET status = 'rejected', answer = NULL
      WHERE file_id = $1 AND status = 'filed' AND rejection IS NOT NULL
      RETURNING reference, rejection`,
    [fileId],
  );
  return rows.map(({ reference, rejection }) => ({ reference, type: 'rejected', rejection }));
}

async function settleFile(
  client: pg.ClientBase,
  fileId: string,
  status: 'acknowledged' | 'rejected',
): Promise<void> {
  await client.query({
    name: 'ach-file-answered',
    text: `UPDATE ach_files SET status = $2, answered_at = now(),
             uploaded_at = coalesce(uploaded_at, now()) WHERE id = $1`,
    values: [fileId, status],
  });
}

async function rejectFile(
  client: pg.ClientBase,
  fileId: string,
  code: string | null,
): Promise<AchReport[]> {
  const rejection = fileRejection(code);
  const { rows } = await client.query<{ reference: string }>(
    `UPDATE ach_entries SET status = 'rejected', rejection = $2::jsonb
      WHERE file_id = $1 AND status = 'filed' RETURNING reference`,
    [fileId, rejectionText(rejection)],
  );
  return rows.map(({ reference }) => ({ reference, type: 'rejected', rejection }));
}

/**
 * Every entry that no acknowledgement has listed. A second acknowledgement that does not list a rejected entry is of the
 * other copy, in which the bank processes it. An entry that staff settled as never sent stays so, and is told, too: the
 * executor shows staff that the bank has it.
 */
async function acceptOthers(
  client: pg.ClientBase,
  { id, status }: KnownFile,
  { entries: listed }: AckFile,
): Promise<AchReport[]> {
  const { rows } = await client.query<{ reference: string }>({
    name: 'ach-entries-accept',
    text: `WITH accepted AS (
             UPDATE ach_entries SET status = 'accepted', answer = NULL, rejection = NULL
              WHERE file_id = $1 AND status = 'filed'
                AND (answer IS NULL OR ($3 AND rejection IS NOT NULL AND trace_number <> ALL ($2::text[])))
              RETURNING reference)
           SELECT reference FROM accepted
            UNION ALL
           SELECT reference FROM ach_entries e
            WHERE file_id = $1 AND ${isNeverSentSql} AND answer IS NULL`,
    values: [id, listed.map(({ traceNumber }) => traceNumber), status === 'acknowledged'],
  });
  return rows.map(({ reference }) => ({ reference, type: 'confirmed' }));
}

async function applyListed(
  client: pg.ClientBase,
  bank: string,
  file: KnownFile,
  { entries: listed, status: fileStatus }: AckFile,
): Promise<AchReport[]> {
  if (listed.length === 0) return [];
  const known = await entriesByTrace(
    client,
    bank,
    listed.map(({ traceNumber }) => traceNumber),
  );
  const reports: AchReport[] = [];
  const changes: EntryChange[] = [];
  // The latest answer about a trace number counts.
  for (const answer of new Map(listed.map((one) => [one.traceNumber, one])).values()) {
    const entry = known.get(answer.traceNumber);
    if (entry?.fileId !== file.id) {
      reports.push({ reference: unmatchedTrace(answer.traceNumber), type: typeOf(answer) });
      continue;
    }
    const { change, report } =
      fileStatus === 'duplicate' && answer.status === 'rejected'
        ? { change: null, report: doubtOf(entry) }
        : effectOf(answer, entry, {
            isDoubtful: mayHaveTwoCopies(file) && !(fileStatus === 'update' && entry.hasRejection),
            wasKept: fileStatus === 'update' || entry.answer !== null,
          });
    if (change !== null) changes.push(change);
    if (report !== null) reports.push(report);
  }
  await applyChanges(client, file.id, changes);
  return reports;
}

/** Then the bank may reject an entry of one copy, and process it in the other. */
function mayHaveTwoCopies({ upload_attempts: attempts, duplicate_at: duplicateAt }: KnownFile) {
  return attempts > 1 && duplicateAt === null;
}

interface EntryChange {
  readonly reference: string;
  readonly status: AchEntryStatus;
  readonly answer: 'pending' | 'held' | null;
  readonly rejection: AchReport['rejection'];
}

function typeOf({ status }: AckEntry): AchReport['type'] {
  switch (status) {
    case 'accepted':
      return 'confirmed';
    case 'rejected':
      return 'rejected';
    case 'pending':
    case 'held':
      return 'unreadable';
  }
}

/** Staff see a rejection that proves nothing, unless the entry was rejected before. */
function doubtOf({ status, traceNumber }: KnownEntry): AchReport | null {
  if (status === 'rejected') return null;
  return { reference: unmatchedTrace(traceNumber), type: 'unreadable' };
}

/**
 * A change is applied to entries that are 'filed'. A report is shown whatever the entry is. If the bank has what staff
 * settled as never sent, only its answer is noted: the executor shows staff that it is held.
 */
function effectOf(
  answer: AckEntry,
  { reference, status, isBusiness, isNeverSent, answer: known }: KnownEntry,
  { isDoubtful, wasKept }: { readonly isDoubtful: boolean; readonly wasKept: boolean },
): { readonly change: EntryChange | null; readonly report: AchReport | null } {
  const change = (to: Partial<EntryChange>): EntryChange => ({
    reference,
    status: 'filed',
    answer: null,
    rejection: null,
    ...to,
  });
  const isSettled = status === 'accepted' || status === 'returned';
  switch (answer.status) {
    case 'accepted':
      if (isSettled) return { change: null, report: null };
      return {
        change: change({ status: 'accepted' }),
        report: { reference, type: 'confirmed', wasKept },
      };
    case 'rejected': {
      const doubt: AchReport = {
        reference: unmatchedTrace(answer.traceNumber),
        type: 'unreadable',
      };
      if (isDuplicateCode(answer.code))
        return { change: change({ answer: 'pending' }), report: doubt };
      if (status === 'rejected') return { change: null, report: null };
      const rejection = bankRejection(answer.code, isBusiness);
      // Kept until the bank calls the other copy a duplicate, or says the same again in an update.
      if (isDoubtful) return { change: change({ answer: 'pending', rejection }), report: doubt };
      return {
        change: change({ status: 'rejected', rejection }),
        report: { reference, type: 'rejected', rejection },
      };
    }
    case 'pending':
    case 'held': {
      // Each inquiry is answered like this until the bank decides. Only the first answer is news.
      const isNews = isNeverSent
        ? known === null
        : status === 'filed' && answer.status === 'held' && known !== 'held';
      return {
        change: change({ answer: answer.status, ...(isNeverSent && { status }) }),
        report: isNews ? { reference, type: 'held' } : null,
      };
    }
  }
}

/** The bank is asked about a rejection that is not believed. */
async function applyChanges(
  client: pg.ClientBase,
  fileId: string,
  changes: readonly EntryChange[],
): Promise<void> {
  if (changes.length === 0) return;
  await client.query(
    `UPDATE ach_entries e SET status = c.status, answer = c.answer, rejection = c.rejection::jsonb,
       inquiry_wanted_at = CASE WHEN c.status = 'filed' AND c.rejection IS NOT NULL THEN now()
                                ELSE e.inquiry_wanted_at END
       FROM unnest($2::text[], $3::text[], $4::text[], $5::text[])
              AS c (reference, status, answer, rejection)
      WHERE e.reference = c.reference AND e.file_id = $1
        AND (e.status = 'filed' OR (${isNeverSentSql} AND c.status = 'rejected' AND c.answer IS NOT NULL))`,
    [
      fileId,
      changes.map(({ reference }) => reference),
      changes.map(({ status }) => status),
      changes.map(({ answer }) => answer),
      changes.map(({ rejection }) => rejectionText(rejection ?? null)),
    ],
  );
}
