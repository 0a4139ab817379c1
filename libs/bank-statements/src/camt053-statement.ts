/** What a camt.053 says about an account before its entries, and the forms of its values. */
import { MessagePart, MessageRefused } from '@pis/bank-rails/xml';
import { type CountedEntries, isCalendarDate } from './statement.js';

/** A statement that is being read. */
export interface Statement {
  readonly line: number;
  id: string | null;
  from: string | null;
  to: string | null;
  account: MessagePart | null;
  currencyCode?: string;
  opening: Balance | null;
  closing: Balance | null;
  stated: Stated | null;
  /** The account was given to the reader of the file; its entries follow. */
  isGiven: boolean;
  readonly booked: CountedEntries;
  /** With those that are not booked. */
  readonly all: CountedEntries;
}

export interface Balance {
  readonly code: string;
  readonly minor: bigint;
}

interface StatedTotals {
  readonly count: number | null;
  readonly sumMinor: bigint | null;
}

export interface Stated {
  readonly credits: StatedTotals;
  readonly debits: StatedTotals;
}

export function balanceOf(balance: MessagePart): Balance {
  const type = balance.one('Tp').one('CdOrPrtry');
  const { minor } = amountOf(balance.one('Amt'));
  const isNegative = sideIn(balance) === 'debit';
  return { code: type.text('Cd') ?? '', minor: isNegative ? -minor : minor };
}

export function totalsIn(summary: MessagePart): Stated {
  const read = (name: string): StatedTotals => {
    const totals = summary.maybe(name);
    const count = totals?.text('NbOfNtries') ?? null;
    const sum = totals?.text('Sum') ?? null;
    if (count !== null && !/^\d{1,9}$/.test(count))
      throw new MessageRefused('NbOfNtries is no number');
    return {
      count: count === null ? null : Number(count),
      sumMinor: sum === null ? null : minorOf(sum),
    };
  };
  return { credits: read('TtlCdtNtries'), debits: read('TtlDbtNtries') };
}

export function amountOf({ element }: MessagePart): {
  readonly minor: bigint;
  readonly currencyCode: string;
} {
  const currencyCode = element.attributes.get('Ccy') ?? '';
  if (!/^[A-Z]{3}$/.test(currencyCode)) throw new MessageRefused('an amount needs its currency');
  return { minor: minorOf(element.text, currencyCode), currencyCode };
}

/** Cents. Decimals beyond the second must be zeros; those of other currencies are cut, because nothing is done with them. */
function minorOf(text: string, currencyCode = 'USD'): bigint {
  const [, whole, decimals = ''] = /^(\d{1,16})(?:\.(\d{0,5}))?$/.exec(text) ?? [];
  const isTooFine = currencyCode === 'USD' && /[^0]/.test(decimals.slice(2));
  if (whole === undefined || isTooFine) throw new MessageRefused('an amount is not possible');
  return BigInt(whole + decimals.slice(0, 2).padEnd(2, '0'));
}

export function sideIn(part: MessagePart): 'credit' | 'debit' {
  const indicator = part.one('CdtDbtInd').element.text;
  if (indicator === 'CRDT') return 'credit';
  if (indicator === 'DBIT') return 'debit';
  throw new MessageRefused('CdtDbtInd is CRDT or DBIT');
}

/** Of a date, or of a date and time. */
export function dateOf(text: string | null): string | null {
  if (text === null) return null;
  const date = text.slice(0, 10);
  if (!/^.{10}(?:$|T)/.test(text) || !isCalendarDate(date))
    throw new MessageRefused('a date is not possible');
  return date;
}
