/**
 * What a NACHA file says, without its layout. nacha-writer.ts turns it into bytes and nacha-parser.ts turns bytes
 * into it. Counts, hashes, totals, batch numbers and check characters are not part of it: the writer computes them
 * and the parser verifies them.
 *
 * Covered: PPD, CCD and WEB entries, prenotes, addenda 05, returns (addenda 99) and notifications of change (COR,
 * addenda 98). See docs/rails-ach.md. Source: Nacha Operating Rules, Appendix Three (record formats) and Four (returns).
 */

export interface NachaFile {
  readonly header: NachaFileHeader;
  readonly batches: readonly NachaBatch[];
}

export interface NachaFileHeader {
  /** The bank's routing number: nine digits, or ten characters that the bank prescribes. */
  readonly immediateDestination: string;
  /** Who sends the file: a routing number, or ten characters that the bank prescribes. */
  readonly immediateOrigin: string;
  /** YYYY-MM-DD */
  readonly createdOn: string;
  /** HH:MM. Null if the field is blank. */
  readonly createdAt: string | null;
  /** A to Z or 0 to 9: distinguishes the files of one day. */
  readonly fileIdModifier: string;
  /** Up to 23 characters. */
  readonly destinationName: string;
  /** Up to 23 characters. */
  readonly originName: string;
  /** Up to 8 characters. */
  readonly referenceCode: string;
}

/** PPD: consumer. CCD: business. WEB: authorized by a consumer online, or person to person. COR: notification of change. */
export const standardEntryClasses = ['PPD', 'CCD', 'WEB', 'COR'] as const;
export type StandardEntryClass = (typeof standardEntryClasses)[number];

/**
 * Classes that are not supported, whose records have what control records count at the places of ours. Not ADV: its control
 * records have another form.
 */
export const otherEntryClasses: readonly string[] = [
  ...['ACK', 'ARC', 'ATX', 'BOC', 'CIE', 'CTX', 'DNE', 'ENR', 'IAT'],
  ...['MTE', 'POP', 'POS', 'RCK', 'SHR', 'TEL', 'TRC', 'TRX', 'XCK'],
];

/** A batch of one of these classes. */
export interface SkippedBatch {
  readonly entryClass: string;
  /** Of its header, from 1. */
  readonly line: number;
  /** How many it has. */
  readonly entries: number;
}

/** What all entries of a batch have in common. */
export interface BatchTerms {
  readonly standardEntryClass: StandardEntryClass;
  /** Up to 16 characters. The receiver sees it on the statement. */
  readonly companyName: string;
  /** Up to 10 characters, often "1" and the tax number. */
  readonly companyId: string;
  /** Up to 20 characters. Returned unchanged with a return. */
  readonly companyDiscretionaryData: string;
  /** Up to 10 characters, such as PAYMENT. The receiver sees it on the statement. */
  readonly entryDescription: string;
  /** Up to 6 characters. A same-day batch has SDhhmm: see sameDayDescriptiveDate. */
  readonly descriptiveDate: string;
  /** YYYY-MM-DD: the banking day on which the entries should settle. Null if the field is blank. */
  readonly effectiveDate: string | null;
  /** Day of the year, 1 to 366. The ACH operator sets it; null in files to the bank. */
  readonly settlementDay: number | null;
  /** Eight digits: the routing number, without check digit, of the bank that originates this batch. */
  readonly odfi: string;
}

export interface NachaBatch extends BatchTerms {
  /** In ascending order of their trace numbers. */
  readonly entries: readonly NachaEntry[];
}

export interface NachaEntry {
  readonly transactionCode: TransactionCode;
  /** Nine digits: the routing number of the bank that receives the entry. */
  readonly receivingDfi: string;
  /** Up to 17 characters. */
  readonly accountNumber: string;
  /** 0 for prenotes and notifications of change. At most entryAmountMaxMinor. */
  readonly amountMinor: number;
  /** Up to 15 characters. In a WEB credit it is the name of the person who pays. */
  readonly individualId: string;
  /** Up to 22 characters. */
  readonly individualName: string;
  /** Up to 2 characters. WEB: R (recurring) or S (single). */
  readonly discretionaryData: string;
  /** PPD, CCD and WEB take at most one. */
  readonly addenda: NachaAddenda | null;
  /** 15 digits: the eight of the originating bank, then a sequence number. See traceNumberOf. */
  readonly traceNumber: string;
}

export type NachaAddenda = PaymentAddenda | ReturnAddenda | CorrectionAddenda;

/** Addenda 05. */
export interface PaymentAddenda {
  readonly kind: 'payment';
  /** Up to 80 characters. */
  readonly information: string;
}

export type ReturnAddenda = PlainReturn | DishonoredReturn | ContestedReturn;

/** Addenda 99 with R01 to R60 or R78 and up: the receiving bank, or the ACH operator, sends an entry back. */
export interface PlainReturn {
  readonly kind: 'return';
  /** R and two digits. Null if the bank gave none: the field is blank. */
  readonly reason: string | null;
  /** The trace number of the entry that comes back. */
  readonly originalTraceNumber: string;
  /** YYYY-MM-DD, with R14 and R15. */
  readonly dateOfDeath: string | null;
  /** Eight digits: the bank that received the original entry. */
  readonly originalRdfi: string;
  /** Up to 44 characters. */
  readonly information: string;
}

/** Addenda 99 with R61 to R70: the originating bank refuses a return. */
export interface DishonoredReturn {
  readonly kind: 'dishonored';
  readonly reason: string;
  readonly originalTraceNumber: string;
  readonly originalRdfi: string;
  /** The trace number of the refused return. */
  readonly returnTraceNumber: string;
  /** Day of the year, 1 to 366. */
  readonly returnSettlementDay: number | null;
  /** The reason of the refused return, such as R01. */
  readonly returnReason: string | null;
  /** Up to 21 characters. */
  readonly information: string;
}

/** Addenda 99 with R71 to R77: the receiving bank insists on a return that was dishonored. */
export interface ContestedReturn {
  readonly kind: 'contested';
  readonly reason: string;
  readonly originalTraceNumber: string;
  /** YYYY-MM-DD */
  readonly originalReturnedOn: string | null;
  readonly originalRdfi: string;
  readonly originalSettlementDay: number | null;
  readonly returnTraceNumber: string;
  readonly returnSettlementDay: number | null;
  readonly returnReason: string | null;
  readonly dishonoredTraceNumber: string;
  readonly dishonoredSettlementDay: number | null;
  readonly dishonoredReason: string | null;
}

/** Addenda 98: the entry was posted, and the next one should have these data. */
export interface CorrectionAddenda {
  readonly kind: 'correction';
  /** C01 to C14 */
  readonly changeCode: string;
  readonly originalTraceNumber: string;
  readonly originalRdfi: string;
  readonly corrected: CorrectedData;
}

/** Only the fields that the change code names are not null. */
export interface CorrectedData {
  /** The field as it was sent, up to 29 characters. */
  readonly text: string;
  readonly routingNumber: string | null;
  readonly accountNumber: string | null;
  readonly transactionCode: TransactionCode | null;
  readonly individualName: string | null;
  readonly individualId: string | null;
}

/** First digit: 2 checking, 3 savings. Second digit: see TransactionMeaning. */
export const transactionCodes = {
  '21': { account: 'CHECKING', side: 'credit', purpose: 'return' },
  '22': { account: 'CHECKING', side: 'credit', purpose: 'payment' },
  '23': { account: 'CHECKING', side: 'credit', purpose: 'prenote' },
  '26': { account: 'CHECKING', side: 'debit', purpose: 'return' },
  '27': { account: 'CHECKING', side: 'debit', purpose: 'payment' },
  '28': { account: 'CHECKING', side: 'debit', purpose: 'prenote' },
  '31': { account: 'SAVINGS', side: 'credit', purpose: 'return' },
  '32': { account: 'SAVINGS', side: 'credit', purpose: 'payment' },
  '33': { account: 'SAVINGS', side: 'credit', purpose: 'prenote' },
  '36': { account: 'SAVINGS', side: 'debit', purpose: 'return' },
  '37': { account: 'SAVINGS', side: 'debit', purpose: 'payment' },
  '38': { account: 'SAVINGS', side: 'debit', purpose: 'prenote' },
} as const satisfies Record<string, TransactionMeaning>;

export interface TransactionMeaning {
  readonly account: 'CHECKING' | 'SAVINGS';
  /** Of the original entry, also in its return: total amounts of returns are added up on this side. */
  readonly side: 'credit' | 'debit';
  /** `return` stands for returns and notifications of change. */
  readonly purpose: 'payment' | 'prenote' | 'return';
}

export type TransactionCode = keyof typeof transactionCodes;

export function transactionCodeOf(meaning: TransactionMeaning): TransactionCode {
  const tens = meaning.account === 'CHECKING' ? 2 : 3;
  const units = { return: 1, payment: 2, prenote: 3 }[meaning.purpose];
  const code = String(10 * tens + units + (meaning.side === 'debit' ? 5 : 0));
  if (!isTransactionCode(code)) throw new RangeError(`no transaction code ${code}`);
  return code;
}

export function isTransactionCode(code: string): code is TransactionCode {
  return Object.hasOwn(transactionCodes, code);
}

/** The amount field has ten digits: 99,999,999.99. */
export const entryAmountMaxMinor = 9_999_999_999;
/** The total fields of batches and files have twelve digits. */
export const fileAmountMaxMinor = 999_999_999_999;
/** The count fields of a batch have six digits. Each entry counts once, and once more with an addenda. */
export const batchRecordsMax = 999_999;
/** The number of a batch has seven digits, but the file's count of batches has six. */
export const fileBatchesMax = 999_999;
/** The sequence part of a trace number has seven digits. */
export const traceSequenceMax = 9_999_999;

/** @param sequence from 0 to traceSequenceMax */
export function traceNumberOf(odfi: string, sequence: number): string {
  if (!/^\d{8}$/.test(odfi)) throw new RangeError('an ODFI has eight digits');
  if (!Number.isInteger(sequence) || sequence < 0 || sequence > traceSequenceMax)
    throw new RangeError(`a trace sequence is an integer from 0 to ${String(traceSequenceMax)}`);
  return odfi + String(sequence).padStart(7, '0');
}

/**
 * The descriptive date of a same-day batch. Nacha's optional convention: "SD" and the desired settlement time.
 * @param time HH:MM in Eastern Time, such as 13:00
 */
export function sameDayDescriptiveDate(time: string): string {
  if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(time)) throw new RangeError('a time is HH:MM');
  return `SD${time.replace(':', '')}`;
}
