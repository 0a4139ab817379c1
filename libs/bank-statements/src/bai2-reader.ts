/**
 * Reads BAI2, version 2, as a stream. Structure and amounts must be right; where trailers or balances differ from what
 * the file holds, the reader says so and goes on, because the operator wants to know all that is wrong.
 */
import { saidBy, sideOfCode, summaryCodes } from './bai2-codes.js';
import { type Bai2Record, bai2Records } from './bai2-records.js';
import { amountMaxMinor, CountedEntries, type EntryTotals, isCalendarDate } from './statement.js';
import { compared, identifierOf, type StatementPart, StatementRefused } from './statement-parts.js';

/** @throws StatementRefused */
export async function* readBai2(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StatementPart> {
  const reader = new Bai2Reader();
  for await (const record of bai2Records(chunks)) yield* reader.read(record);
  reader.end();
}

/** What trailers are compared with. */
class Control {
  total = 0n;
  parts = 0;
  records = 0;

  constructor(header: Bai2Record) {
    this.records = header.lines;
  }

  add({ total, records }: Control): void {
    this.total += total;
    this.records += records;
    this.parts += 1;
  }
}

interface Group {
  readonly control: Control;
  readonly asOf: string;
  readonly currency: string;
}

interface Account {
  readonly control: Control;
  readonly currency: string;
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly counted: CountedEntries;
}

interface Summary {
  readonly amount: bigint;
  readonly count: number | null;
}

class Bai2Reader {
  private file: Control | null = null;
  private group: Group | null = null;
  private account: Account | null = null;
  private isEnded = false;
  private line = 1;

  *read(record: Bai2Record): Generator<StatementPart> {
    this.line = record.line;
    if (this.isEnded) throw this.refused('the file goes on behind its trailer');
    switch (record.code) {
      case '01':
        yield this.fileHeader(record);
        return;
      case '02':
        return this.groupHeader(record);
      case '03':
        yield* this.accountHeader(record);
        return;
      case '16':
        yield* this.transaction(record);
        return;
      case '49':
        yield* this.accountTrailer(record);
        return;
      case '98':
        yield* this.groupTrailer(record);
        return;
      case '99':
        yield* this.fileTrailer(record);
        return;
      default:
        throw this.refused('a record of this type is not known');
    }
  }

  end(): void {
    if (!this.isEnded) throw new StatementRefused(this.line, 'the file ends before its trailer');
  }

  private fileHeader(record: Bai2Record): StatementPart {
    if (this.file !== null) throw this.refused('a file has one header');
    const [sender, receiver, date = '', time = '', fileId = '', , , version] = fieldsOf(record);
    if (version !== '2') throw this.refused('only version 2 of BAI is known');
    this.file = new Control(record);
    const file = {
      format: 'BAI2',
      fileId: identifierOf(fileId) ?? '',
      createdAt: this.instant(date, time),
      sender: identifierOf(sender),
      receiver: identifierOf(receiver),
    } as const;
    return { kind: 'file', line: record.line, file };
  }

  private groupHeader(record: Bai2Record): void {
    if (this.file === null || this.group !== null) throw this.refused('a group is not expected');
    const [, , status = '', date = '', , currency = ''] = fieldsOf(record);
    // 2 deletes an earlier group, and 4 is a test.
    if (!['', '1', '3'].includes(status))
      throw this.refused('a group of this status is not booked');
    const asOf = this.date(date);
    this.group = { control: new Control(record), asOf, currency: currency || 'USD' };
  }

  private *accountHeader(record: Bai2Record): Generator<StatementPart> {
    const { group } = this;
    if (group === null || this.account !== null) throw this.refused('an account is not expected');
    const [id, currency, ...rest] = fieldsOf(record);
    const accountId = identifierOf(id);
    if (accountId === null) throw this.refused('an account needs its number');
    const control = new Control(record);
    const summaries = new Map<string, Summary>();
    for (let at = 0; at < rest.length; ) {
      const [code = '', amount = '', count = ''] = rest.slice(at, at + 3);
      const funds = this.fundsType(rest, at + 3);
      at = funds.next;
      if (code === '') continue;
      const value = this.amount(amount);
      control.total += value;
      summaries.set(code, { amount: value, count: /^\d{1,9}$/.test(count) ? Number(count) : null });
    }
    this.account = {
      ...{ control, summaries, counted: new CountedEntries() },
      currency: currency === undefined || currency === '' ? group.currency : currency,
    };
    const account = {
      ...{ accountId, accountName: null, statementId: null, from: null, to: group.asOf },
      openingMinor: summaries.get(summaryCodes.openingLedger)?.amount ?? null,
    };
    yield { kind: 'account', line: record.line, account };
  }

  private *transaction(record: Bai2Record): Generator<StatementPart> {
    const { group, account } = this;
    if (group === null || account === null) throw this.refused('a transaction is not expected');
    const fields = record.body.split(',');
    const [code = '', amountText = ''] = fields;
    const amount = this.amount(amountText);
    const funds = this.fundsType(fields, 2);
    const [bank, customer, ...text] = fields.slice(funds.next);
    account.control.total += amount;
    account.control.records += record.lines;
    if (!/^\d{3}$/.test(code))
      throw this.refused('a transaction needs a type code of three digits');
    const side = sideOfCode(code);
    if (side === null || amount === 0n) return;
    if (amount < 0n || amount > amountMaxMinor)
      throw this.refused('the amount of a transaction is not possible');
    const { line } = record;
    if (account.currency !== 'USD') {
      yield { kind: 'foreign', line, currencyCode: account.currency };
      return;
    }
    const entry = {
      bankReference: identifierOf(bank),
      reference: identifierOf(customer),
      side,
      amountMinor: Number(amount),
      status: 'booked',
      bookedOn: funds.date ?? group.asOf,
      ...saidBy(code, text.join(',').replace(/^,+/, '').trim()),
    } as const;
    account.counted.add(entry);
    yield { kind: 'entry', line, entry };
  }

  private *accountTrailer(record: Bai2Record): Generator<StatementPart> {
    const { group, account } = this;
    if (group === null || account === null) throw this.refused('a trailer is not expected');
    const { control, summaries, counted, currency } = account;
    control.records += record.lines;
    const [total = '', records = ''] = fieldsOf(record);
    yield* this.control('account', control, { total, records });
    if (currency === 'USD') yield* accountContradictions(record.line, summaries, counted);
    group.control.add(control);
    this.account = null;
  }

  private *groupTrailer(record: Bai2Record): Generator<StatementPart> {
    const { file, group, account } = this;
    if (file === null || group === null || account !== null)
      throw this.refused('a trailer is not expected');
    group.control.records += record.lines;
    const [total = '', parts = '', records = ''] = fieldsOf(record);
    yield* this.control('group', group.control, { total, parts, records });
    file.add(group.control);
    this.group = null;
  }

  private *fileTrailer(record: Bai2Record): Generator<StatementPart> {
    const { file, group } = this;
    if (file === null || group !== null) throw this.refused('a trailer is not expected');
    file.records += record.lines;
    const [total = '', parts = '', records = ''] = fieldsOf(record);
    yield* this.control('file', file, { total, parts, records });
    this.isEnded = true;
  }

  private *control(
    whose: 'account' | 'group' | 'file',
    found: Control,
    stated: { readonly total: string; readonly parts?: string; readonly records: string },
  ): Generator<StatementPart> {
    const { line } = this;
    yield* compared(line, `control total of the ${whose}`, this.amount(stated.total), found.total);
    if (stated.parts !== undefined)
      yield* compared(line, `parts of the ${whose}`, this.count(stated.parts), found.parts);
    yield* compared(line, `records of the ${whose}`, this.count(stated.records), found.records);
  }

  /** The funds type that begins at this field: how many fields it has, and its value date. */
  private fundsType(
    fields: readonly string[],
    at: number,
  ): { readonly next: number; readonly date: string | null } {
    const type = (fields[at] ?? '').toUpperCase();
    switch (type) {
      case '':
      case 'Z':
      case '0':
      case '1':
      case '2':
        return { next: at + 1, date: null };
      case 'V':
        return { next: at + 3, date: this.date(fields[at + 1] ?? '') };
      case 'S':
        return { next: at + 4, date: null };
      case 'D':
        return { next: at + 2 + 2 * this.count(fields[at + 1] ?? ''), date: null };
      default:
        throw this.refused('a funds type is not known');
    }
  }

  private amount(text: string): bigint {
    if (!/^[+-]?\d{0,18}$/.test(text)) throw this.refused('an amount is a whole number of cents');
    return BigInt(text.replace(/^\+/, '').replace(/^-?$/, '0'));
  }

  private count(text: string): number {
    if (!/^\d{1,9}$/.test(text)) throw this.refused('a count is a whole number');
    return Number(text);
  }

  /** Of YYMMDD. */
  private date(text: string): string {
    const date = `20${text.slice(0, 2)}-${text.slice(2, 4)}-${text.slice(4)}`;
    if (!/^\d{6}$/.test(text) || !isCalendarDate(date))
      throw this.refused('a date is written YYMMDD');
    return date;
  }

  /** Midnight may be written 2400, and an unknown time 9999. */
  private instant(date: string, time: string): Date | null {
    const [hours, minutes] = [Number(time.slice(0, 2)), Number(time.slice(2))];
    const isTime = /^\d{4}$/.test(time) && hours <= 24 && minutes < 60;
    const at = Date.parse(`${this.date(date)}T00:00:00Z`);
    return isTime ? new Date(at + (hours * 60 + minutes) * 60_000) : null;
  }

  private refused(reason: string): StatementRefused {
    return new StatementRefused(this.line, reason);
  }
}

function fieldsOf({ body }: Bai2Record): readonly string[] {
  return body.split(',').map((field) => field.trim());
}

function* accountContradictions(
  line: number,
  summaries: ReadonlyMap<string, Summary>,
  counted: CountedEntries,
): Generator<StatementPart> {
  const { credits, debits } = counted.totals;
  const { totalCredits, totalDebits, openingLedger, closingLedger } = summaryCodes;
  yield* summed(line, 'credits', summaries.get(totalCredits), credits);
  yield* summed(line, 'debits', summaries.get(totalDebits), debits);
  const opening = summaries.get(openingLedger)?.amount;
  if (opening !== undefined)
    yield* compared(
      line,
      'closing balance',
      summaries.get(closingLedger)?.amount ?? null,
      opening + credits.sumMinor - debits.sumMinor,
    );
}

function* summed(
  line: number,
  side: string,
  stated: Summary | undefined,
  { count, sumMinor }: EntryTotals,
): Generator<StatementPart> {
  if (stated === undefined) return;
  yield* compared(line, `sum of ${side}`, stated.amount, sumMinor);
  yield* compared(line, `number of ${side}`, stated.count, count);
}
