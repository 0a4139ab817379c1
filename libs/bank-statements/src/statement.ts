/**
 * What a bank statement file says: accounts, and the movements of money on each. camt.053 and BAI2 are two ways to
 * write it. Amounts are in cents. Dates are YYYY-MM-DD, in whatever time zone the writer of the file keeps its books.
 */
import type { PaymentRail } from '@pis/domain';

export const sides = ['credit', 'debit'] as const;
/** A credit adds to the account. */
export type Side = (typeof sides)[number];

export interface StatementFile {
  /** At most 35 characters; see `identifierPattern`. BAI2 keeps its letters and digits. */
  readonly fileId: string;
  readonly createdAt: Date;
  /** The bank, and who receives the file. At most 35 letters and digits each. */
  readonly sender: string;
  readonly receiver: string;
}

export interface EntryTotals {
  readonly count: number;
  readonly sumMinor: bigint;
}

/** One account over some days. Only booked entries are in its totals. */
export interface AccountStatement {
  /** The account's number or another name for it, at most 34 characters. */
  readonly accountId: string;
  /** Of the holder. Only camt.053 has it. */
  readonly accountName: string | null;
  /** Unique for the bank's customer, at most 35 characters. Only camt.053 has it. */
  readonly statementId: string;
  /** The first and the last day, both inclusive. BAI2 has only the last one. */
  readonly from: string;
  readonly to: string;
  /** Negative when overdrawn. */
  readonly openingMinor: bigint;
  readonly credits: EntryTotals;
  readonly debits: EntryTotals;
}

/** For the writers. The totals come first in both formats, so they must be known before the entries are. */
export interface AccountWithEntries extends AccountStatement {
  readonly entries: AsyncIterable<BankEntry>;
}

export interface BankEntry {
  /** The bank's own name for the entry, at most 35 characters. */
  readonly bankReference: string | null;
  /** The customer's name for the transfer: the end-to-end ID, or the identification number of an ACH entry. */
  readonly reference: string | null;
  /** Of an ACH entry: 15 digits. A return has that of the entry that came back. */
  readonly traceNumber: string | null;
  readonly side: Side;
  /** Positive. */
  readonly amountMinor: number;
  /** Only booked entries have moved money. BAI2 has no others. */
  readonly status: 'booked' | 'pending';
  readonly bookedOn: string;
  readonly rail: PaymentRail | null;
  /** The money of an earlier transfer comes back. */
  readonly isReturn: boolean;
  /** R01 to R85 of ACH, or a reason of ISO 20022. */
  readonly returnReasonCode: string | null;
}

/** Letters, digits, and marks that neither format gives a meaning to. */
const identifierPattern = /^[0-9A-Za-z](?:[0-9A-Za-z .:_-]{0,33}[0-9A-Za-z.:_-])?$/;
export const amountMaxMinor = 99_999_999_999_999;
const accountIdMax = 34;

const noEntries: EntryTotals = { count: 0, sumMinor: 0n };

export function closingMinor({ openingMinor, credits, debits }: AccountStatement): bigint {
  return openingMinor + credits.sumMinor - debits.sumMinor;
}

/** Counts entries as they pass. */
export class CountedEntries {
  private credits = noEntries;
  private debits = noEntries;

  add({ side, amountMinor, status }: Pick<BankEntry, 'side' | 'amountMinor' | 'status'>): void {
    if (status !== 'booked') return;
    if (side === 'credit') this.credits = plus(this.credits, amountMinor);
    else this.debits = plus(this.debits, amountMinor);
  }

  get totals(): Pick<AccountStatement, 'credits' | 'debits'> {
    return { credits: this.credits, debits: this.debits };
  }
}

function plus({ count, sumMinor }: EntryTotals, amountMinor: number): EntryTotals {
  return { count: count + 1, sumMinor: sumMinor + BigInt(amountMinor) };
}

/**
 * The entries of an account, checked against its totals at the end: a file that contradicts itself is never finished.
 * @throws RangeError
 */
export async function* checkedEntries(account: AccountWithEntries): AsyncGenerator<BankEntry> {
  const counted = new CountedEntries();
  for await (const entry of account.entries) {
    checkEntry(entry);
    counted.add(entry);
    yield entry;
  }
  const { credits, debits } = counted.totals;
  if (!isSame(credits, account.credits) || !isSame(debits, account.debits))
    throw new RangeError('the entries of an account do not add up to its totals');
}

function isSame(one: EntryTotals, other: EntryTotals): boolean {
  return one.count === other.count && one.sumMinor === other.sumMinor;
}

/** @throws RangeError */
export function checkFile({ fileId, sender, receiver, createdAt }: StatementFile): void {
  for (const text of [fileId, sender, receiver]) checkIdentifier(text);
  if (Number.isNaN(createdAt.getTime())) throw new RangeError('a file needs the time it was made');
}

/** @throws RangeError */
export function checkAccount({ accountId, statementId, from, to }: AccountStatement): void {
  checkIdentifier(accountId);
  if (accountId.length > accountIdMax) throw new RangeError('an account ID is too long');
  checkIdentifier(statementId);
  checkDate(from);
  checkDate(to);
  if (from > to) throw new RangeError('a statement must not end before it begins');
}

function checkEntry(entry: BankEntry): void {
  const { amountMinor, bookedOn, traceNumber } = entry;
  if (!Number.isSafeInteger(amountMinor) || amountMinor <= 0 || amountMinor > amountMaxMinor)
    throw new RangeError('an entry needs a positive amount in cents');
  checkDate(bookedOn);
  if (traceNumber !== null && !/^\d{15}$/.test(traceNumber))
    throw new RangeError('a trace number has 15 digits');
  for (const text of [entry.bankReference, entry.reference])
    if (text !== null) checkIdentifier(text);
  if (entry.returnReasonCode !== null && !/^[0-9A-Z]{2,4}$/.test(entry.returnReasonCode))
    throw new RangeError('a return reason is a code of two to four letters and digits');
}

function checkIdentifier(text: string): void {
  if (!identifierPattern.test(text) || / {2}/.test(text))
    throw new RangeError('an identifier has a character that statement files do not take');
}

function checkDate(date: string): void {
  if (!date.startsWith('20') || !isCalendarDate(date))
    throw new RangeError('a date must be YYYY-MM-DD, from 2000 to 2099');
}

/** YYYY-MM-DD, of a day of the years 1900 to 2199 that exists. */
export function isCalendarDate(date: string): boolean {
  if (!/^(?:19|20|21)\d\d-\d\d-\d\d$/.test(date)) return false;
  const at = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date);
}

/** 1234567 as 12345.67; without a sign. */
export function decimalOf(minor: bigint): string {
  const digits = (minor < 0n ? -minor : minor).toString().padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
