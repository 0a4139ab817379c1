/**
 * What BAI2 says about a movement: a type code, and in the text what no code says. Codes of the Cash Management Balance
 * Reporting Specifications, version 2 (BAI).
 */
import { type PaymentRail, paymentRails } from '@pis/domain';
import type { BankEntry, Side } from './statement.js';

export const summaryCodes = {
  openingLedger: '010',
  closingLedger: '015',
  totalCredits: '100',
  totalDebits: '400',
} as const;

interface CodePair {
  readonly credit: string;
  readonly debit: string;
}

/** 169 and 469: miscellaneous ACH. 257 and 557: an ACH entry that came back. */
const achTransfer: CodePair = { credit: '169', debit: '469' };
const achReturn: CodePair = { credit: '257', debit: '557' };
/** 195 and 495: money transfers, in and out. */
const moneyTransfer: CodePair = { credit: '195', debit: '495' };
/** 399 and 699: miscellaneous. */
const other: CodePair = { credit: '399', debit: '699' };

export function typeCodeOf({ rail, side, isReturn }: BankEntry): string {
  return pairOf(rail, isReturn)[side];
}

function pairOf(rail: PaymentRail | null, isReturn: boolean): CodePair {
  switch (rail) {
    case null:
      return other;
    case 'ACH':
      return isReturn ? achReturn : achTransfer;
    case 'FEDNOW':
    case 'RTP':
    case 'FEDWIRE':
    case 'SWIFT':
      return moneyTransfer;
  }
}

/** 100 to 399 are credits, 400 to 699 debits; 920 to 959 and 960 to 999 are the bank's own. Null for no movement. */
export function sideOfCode(code: string): Side | null {
  const number = Number(code);
  if (number >= 100 && number <= 399) return 'credit';
  if (number >= 400 && number <= 699) return 'debit';
  if (number >= 920 && number <= 959) return 'credit';
  if (number >= 960 && number <= 999) return 'debit';
  return null;
}

type Said = Pick<BankEntry, 'rail' | 'isReturn' | 'returnReasonCode' | 'traceNumber'>;

/** `ACH RETURN REASON R01 TRACE 091000010000001`. */
export function textOf({ rail, isReturn, returnReasonCode, traceNumber }: Said): string {
  const words: string[] = [rail ?? 'OTHER', isReturn ? 'RETURN' : 'TRANSFER'];
  if (returnReasonCode !== null) words.push('REASON', returnReasonCode);
  if (traceNumber !== null) words.push('TRACE', traceNumber);
  return words.join(' ');
}

const ownText =
  /^(?<rail>[A-Z]+) (?<kind>RETURN|TRANSFER)(?: REASON (?<reason>[0-9A-Z]{2,4}))?(?: TRACE (?<trace>\d{15}))?$/;

/** What the code and the text say. Of a text in other words only a lone trace number is understood. */
export function saidBy(code: string, text: string): Said {
  const isAchReturn = code === achReturn.credit || code === achReturn.debit;
  const isAch = isAchReturn || code === achTransfer.credit || code === achTransfer.debit;
  const found = ownText.exec(text)?.groups;
  if (found === undefined) {
    const traces = [...new Set(text.match(/(?<!\d)\d{15}(?!\d)/g) ?? [])];
    return {
      rail: isAch ? 'ACH' : null,
      isReturn: isAchReturn,
      returnReasonCode: null,
      traceNumber: (traces.length === 1 ? traces[0] : null) ?? null,
    };
  }
  return {
    rail: paymentRails.find((rail) => rail === found['rail']) ?? null,
    isReturn: found['kind'] === 'RETURN',
    returnReasonCode: found['reason'] ?? null,
    traceNumber: found['trace'] ?? null,
  };
}
