/**
 * The bank's answer to one of our files. The Nacha rules define none: every bank has its own. This is the
 * simulator's, and the place where the format of a real bank goes. JSON Lines in ASCII: one line for the file, one for
 * each entry that the bank does not process as sent, and a last line with their count, so that a torn file is noticed.
 *
 *   {"type":"file","name":"…","sha256":"…","status":"accepted","code":null,"message":null,"at":"2026-11-23T15:00:00.000Z"}
 *   {"type":"entry","traceNumber":"091000010000001","status":"rejected","code":"ACCOUNT_NUMBER","message":"…"}
 *   {"type":"end","entries":1}
 *
 * A bank may send several for one file, such as a later one that accepts an entry which was pending before.
 *
 * The inquiry is its counterpart, for banks that take status requests: the trace numbers about which we want to know.
 * The bank answers with an acknowledgement.
 */

export const ackFileStatuses = ['accepted', 'rejected', 'duplicate', 'update'] as const;
/**
 * `accepted`: every entry is accepted unless the file lists it. `rejected`: nothing was or will be processed.
 * `duplicate`: the bank has this file already. What it answered then still holds, and what it lists as accepted
 * is accepted. `update`: news of the listed entries,
 * also in answer to an inquiry. The others stay as they were.
 */
export type AckFileStatus = (typeof ackFileStatuses)[number];

export const ackEntryStatuses = ['accepted', 'rejected', 'pending', 'held'] as const;
/**
 * `pending`: the bank has it, and a later answer for the same file says what became of it. `held`: the bank has it and
 * names no time. The latest answer about a trace number counts.
 */
export type AckEntryStatus = (typeof ackEntryStatuses)[number];

export interface AckFile {
  /** The name of our file. */
  readonly name: string;
  /** Hex SHA-256 of our file's bytes as the bank received them. */
  readonly sha256: string;
  readonly status: AckFileStatus;
  /** Why the file was rejected: an AckReason or a code of the bank. Null unless it was. */
  readonly code: string | null;
  readonly message: string | null;
  /** ISO 8601 with milliseconds. */
  readonly at: string;
  readonly entries: readonly AckEntry[];
}

export interface AckEntry {
  readonly traceNumber: string;
  readonly status: AckEntryStatus;
  /** Why it was rejected, or why it waits: an AckReason or a code of the bank. */
  readonly code: string | null;
  readonly message: string | null;
}

export interface InquiryFile {
  /** ISO 8601 with milliseconds. */
  readonly at: string;
  readonly traceNumbers: readonly string[];
}

/** The codes that the simulator uses. */
export type AckReason =
  | 'FILE_FORMAT'
  | 'FILE_TOTALS'
  | 'ORIGINATOR_NOT_ALLOWED'
  | 'LIMIT_EXCEEDED'
  | 'ROUTING_NUMBER'
  | 'ACCOUNT_NUMBER'
  | 'INDIVIDUAL_NAME'
  | 'AMOUNT'
  | 'EFFECTIVE_DATE'
  | 'DUPLICATE_ENTRY'
  | 'REVIEW'
  | 'OTHER';
