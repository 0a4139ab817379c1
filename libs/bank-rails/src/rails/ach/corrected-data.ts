/**
 * Notifications of change: what the receiving bank says must be corrected in the next entry. The corrected data are one
 * field of 29 characters, whose layout follows from the change code. Source: Nacha Operating Rules, Appendix Five.
 */
import { type CorrectedData, isTransactionCode } from './nacha-file.js';

export const correctedDataMax = 29;

/** What each change code means. C08 and C14 concern international entries, which we do not send. */
export const changeCodes = {
  C01: 'Incorrect account number',
  C02: 'Incorrect routing number',
  C03: 'Incorrect routing number and account number',
  C04: 'Incorrect name of the receiver',
  C05: 'Incorrect transaction code',
  C06: 'Incorrect account number and transaction code',
  C07: 'Incorrect routing number, account number and transaction code',
  C08: 'Incorrect foreign receiving bank',
  C09: 'Incorrect identification number of the receiver',
  C10: 'Incorrect company name',
  C11: 'Incorrect company identification',
  C12: 'Incorrect company name and company identification',
  C13: 'Addenda format error',
  C14: 'Incorrect class code for an outbound international payment',
} as const;
export type ChangeCode = keyof typeof changeCodes;

export function isChangeCode(code: string): code is ChangeCode {
  return Object.hasOwn(changeCodes, code);
}

/** What a notification of change can correct. Give those that its change code names. */
export interface Correction {
  readonly routingNumber?: string;
  readonly accountNumber?: string;
  readonly transactionCode?: string;
  readonly individualName?: string;
  readonly individualId?: string;
  /** For the change codes without a layout. */
  readonly text?: string;
}

/**
 * The corrected fields of a notification. A field is null when the change code does not name it or the text has
 * no such field where the layout puts it: the text is always kept.
 */
export function correctedDataOf(changeCode: ChangeCode, text: string): CorrectedData {
  const nothing: CorrectedData = {
    text,
    routingNumber: null,
    accountNumber: null,
    transactionCode: null,
    individualName: null,
    individualId: null,
  };
  const at = (start: number, end: number): string | null => text.slice(start, end).trim() || null;
  switch (changeCode) {
    case 'C01':
      return { ...nothing, accountNumber: at(0, 17) };
    case 'C02':
      return { ...nothing, routingNumber: routing(at(0, 9)) };
    case 'C03':
      return { ...nothing, routingNumber: routing(at(0, 9)), accountNumber: at(12, 29) };
    case 'C04':
      return { ...nothing, individualName: at(0, 22) };
    case 'C05':
      return { ...nothing, transactionCode: transaction(at(0, 2)) };
    case 'C06':
      return { ...nothing, accountNumber: at(0, 17), transactionCode: transaction(at(20, 22)) };
    case 'C07':
      return {
        ...nothing,
        routingNumber: routing(at(0, 9)),
        accountNumber: at(9, 26),
        transactionCode: transaction(at(26, 28)),
      };
    case 'C09':
      return { ...nothing, individualId: at(0, 22) };
    case 'C08':
    case 'C10':
    case 'C11':
    case 'C12':
    case 'C13':
    case 'C14':
      return nothing;
  }
}

/** The field of a notification: the bank's side of correctedDataOf. */
export function correctedTextOf(changeCode: ChangeCode, correction: Correction): string {
  const { routingNumber = '', accountNumber = '', transactionCode = '' } = correction;
  const { individualName = '', individualId = '', text = '' } = correction;
  switch (changeCode) {
    case 'C01':
      return accountNumber;
    case 'C02':
      return routingNumber;
    case 'C03':
      return routingNumber.padEnd(12) + accountNumber;
    case 'C04':
      return individualName;
    case 'C05':
      return transactionCode;
    case 'C06':
      return accountNumber.padEnd(20) + transactionCode;
    case 'C07':
      return routingNumber.padEnd(9) + accountNumber.padEnd(17) + transactionCode;
    case 'C09':
      return individualId;
    case 'C08':
    case 'C10':
    case 'C11':
    case 'C12':
    case 'C13':
    case 'C14':
      return text;
  }
}

function routing(text: string | null): string | null {
  return text !== null && /^\d{9}$/.test(text) ? text : null;
}

function transaction(text: string | null): CorrectedData['transactionCode'] {
  return text !== null && isTransactionCode(text) ? text : null;
}
