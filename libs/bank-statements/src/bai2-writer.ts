/**
 * Writes BAI2: Cash Management Balance Reporting Specifications, version 2. Records are lines; a file holds groups of
 * accounts with one as-of date. Control totals are the sums of all amounts as they are written, debits too. Numbers of
 * records include headers, trailers and continuations.
 */
import { summaryCodes, textOf, typeCodeOf } from './bai2-codes.js';
import {
  type AccountWithEntries,
  type BankEntry,
  checkAccount,
  checkedEntries,
  checkFile,
  closingMinor,
  type StatementFile,
} from './statement.js';

/** Group status "update"; as-of-date modifier "final previous-day data". */
const groupStatus = '1';
const finalPreviousDay = '2';
const version = '2';
const headerAndTrailer = 2;

/** What a trailer says of everything above it. */
interface Control {
  total: bigint;
  /** Accounts of a group, groups of a file. */
  parts: number;
  records: number;
}

/**
 * Accounts of consecutive equal last days share a group. Times are in UTC.
 * @throws RangeError for what the format cannot say, or when entries do not add up to the totals given
 */
export async function* writeBai2(
  file: StatementFile,
  accounts: AsyncIterable<AccountWithEntries>,
): AsyncGenerator<string> {
  checkFile(file);
  const { sender, receiver, fileId, createdAt } = file;
  const made = createdAt.toISOString();
  const time = `${made.slice(11, 13)}${made.slice(14, 16)}`;
  const id = fileId.replaceAll(/[^0-9A-Za-z]/g, '');
  yield line('01', [sender, receiver, shortDate(made), time, id, '', '', version]);

  const whole = newControl();
  let group: (Control & { readonly asOf: string }) | null = null;
  for await (const account of accounts) {
    checkAccount(account);
    if (group !== null && group.asOf !== account.to) {
      yield groupTrailer(group);
      addTo(whole, group);
      group = null;
    }
    if (group === null) {
      group = { ...newControl(), asOf: account.to };
      const asOf = [shortDate(account.to), '2359', 'USD', finalPreviousDay];
      yield line('02', [receiver, sender, groupStatus, ...asOf]);
    }
    const control = newControl();
    yield* accountLines(account, control);
    addTo(group, control);
  }
  if (group !== null) {
    yield groupTrailer(group);
    addTo(whole, group);
  }
  yield line('99', [whole.total, whole.parts, whole.records]);
}

function newControl(): Control {
  return { total: 0n, parts: 0, records: headerAndTrailer };
}

function addTo(whole: Control, part: Control): void {
  whole.total += part.total;
  whole.parts += 1;
  whole.records += part.records;
}

function groupTrailer({ total, parts, records }: Control): string {
  return line('98', [total, parts, records]);
}

async function* accountLines(
  account: AccountWithEntries,
  control: Control,
): AsyncGenerator<string> {
  const { accountId, openingMinor, credits, debits } = account;
  const closing = closingMinor(account);
  const summaries = [
    [summaryCodes.openingLedger, openingMinor, '', ''],
    [summaryCodes.closingLedger, closing, '', ''],
    [summaryCodes.totalCredits, credits.sumMinor, credits.count, ''],
    [summaryCodes.totalDebits, debits.sumMinor, debits.count, ''],
  ];
  control.total += openingMinor + closing + credits.sumMinor + debits.sumMinor;
  yield line('03', [accountId, 'USD', ...summaries.flat()]);
  for await (const entry of checkedEntries(account)) {
    yield entryLines(entry);
    control.total += BigInt(entry.amountMinor);
    control.records += 2;
  }
  yield line('49', [control.total, control.records]);
}

/** The transaction, valued on its day, and its text in a continuation. */
function entryLines(entry: BankEntry): string {
  if (entry.status !== 'booked') throw new RangeError('BAI2 has booked entries only');
  const { amountMinor, bookedOn, bankReference, reference } = entry;
  const fields = [typeCodeOf(entry), amountMinor, 'V', shortDate(bookedOn), ''];
  const detail = line('16', [...fields, bankReference ?? '', reference ?? '']);
  return `${detail}88,${textOf(entry)}\n`;
}

function line(code: string, fields: readonly (string | number | bigint)[]): string {
  return `${code},${fields.map(String).join(',')}/\n`;
}

/** YYMMDD. */
function shortDate(date: string): string {
  return `${date.slice(2, 4)}${date.slice(5, 7)}${date.slice(8, 10)}`;
}
