/** Why an entry was not taken, in the words of the API. The bank's codes: ack-file.ts. */
import { returnReasons } from '@pis/domain';
import type { RailRejection } from '../../bank-connection.js';
import { changeCodes, isChangeCode } from './corrected-data.js';

/**
 * The bank rejected the entry, or its whole file. Nothing was moved. The bank's own text is left out, because it
 * may repeat an account number. Staff find it in the archived file.
 */
export function bankRejection(code: string | null, isBusiness: boolean): RailRejection {
  const railCode = code !== null && /^[A-Z0-9_]{1,30}$/.test(code) ? code : null;
  const reason = `The bank rejected the ACH entry${railCode === null ? '' : ` with ${railCode}`}. No funds were moved.`;
  const name = isBusiness ? 'companyName' : 'lastName';
  switch (railCode) {
    case 'ROUTING_NUMBER':
    case 'R13':
    case 'R28':
      return contactRejection('bankAccount.achRoutingNumber', 'is unknown', railCode);
    case 'ACCOUNT_NUMBER':
    case 'R03':
    case 'R04':
      return contactRejection('bankAccount.achAccountNumber', 'is unknown', railCode);
    case 'R02':
      return contactRejection('bankAccount.achAccountNumber', 'is closed', railCode);
    case 'R20':
      return contactRejection('bankAccount.achAccountNumber', 'takes no ACH entries', railCode);
    case 'INDIVIDUAL_NAME':
      return contactRejection(name, 'cannot be used', railCode);
    default:
      return {
        failureCode: 'INTERNAL_ERROR',
        field: null,
        message:
          'The bank rejected the payment and no funds were moved: contact support before you create a new payment.',
        reason,
        railCode,
      };
  }
}

/** The bank rejected the whole file: no field of one party is at fault. */
export function fileRejection(code: string | null): RailRejection {
  const { railCode } = bankRejection(code, false);
  return { ...bankRejection(null, false), railCode };
}

/** A field of the entry does not fit the format. See entryProblem. */
export function formatRejection(field: string, isBusiness: boolean): RailRejection {
  const name = isBusiness ? 'companyName' : 'lastName';
  switch (field) {
    case 'receivingDfi':
      return contactRejection('bankAccount.achRoutingNumber', 'is not a routing number', null);
    case 'accountNumber':
      return contactRejection('bankAccount.achAccountNumber', 'does not fit ACH', null);
    case 'individualName':
      return contactRejection(name, 'has no character that ACH can carry', null);
    default:
      return {
        failureCode: 'INTERNAL_ERROR',
        field: null,
        message: 'The payment cannot be sent over ACH and no funds were moved: contact support.',
        reason: `The ACH entry cannot be written: ${field} does not fit.`,
        railCode: null,
      };
  }
}

/** The bank takes no file with it. @param amountMaxMinor of a file, minor units */
export function amountRejection(amountMaxMinor: number): RailRejection {
  const dollars = (amountMaxMinor / 100).toLocaleString('en-US', { minimumFractionDigits: 2 });
  const message = `The payment is above what the bank takes in an ACH file (${dollars} USD): create payments of smaller amounts.`;
  return { failureCode: 'INTERNAL_ERROR', field: null, message, reason: message, railCode: null };
}

export const voidedRejection: RailRejection = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message:
    'An unexpected error prevented the submission: wait a few minutes, then create a new payment.',
  reason: 'The transfer was voided before it was sent. No funds were moved.',
  railCode: null,
};

/** The row does not open: somebody changed it. */
export const alteredRejection: RailRejection = {
  ...voidedRejection,
  reason: 'The stored ACH entry was altered before it was sent. No funds were moved.',
};

/** The contact's keys were destroyed before the entry was in a file. */
export const erasedRejection: RailRejection = {
  failureCode: 'INVALID_CONTACT_DATA',
  field: 'contact',
  message: 'contact: its personal data was erased',
  reason: 'contact: its personal data was erased',
  railCode: null,
};

/** Reasons that concern the receiving bank, and not the account. */
const routingReasons: ReadonlySet<string | null> = new Set(['R12', 'R13', 'R28', 'R32', 'R34']);

/** A prenote came back, whatever the reason: the account must not be used as it is. No payment was sent. */
export function returnRejection(reason: string | null): RailRejection {
  const title = returnReasons[reason ?? ''];
  const why = [reason, title].filter((text) => text != null).join(': ');
  const field = routingReasons.has(reason) ? 'achRoutingNumber' : 'achAccountNumber';
  const problem = `did not pass the check by its bank${why === '' ? '' : ` (${why})`}`;
  return contactRejection(`bankAccount.${field}`, problem, reason);
}

/** A notification of change about a prenote: the account must not be used before that is changed. */
export function changeRejection(changeCode: string, isBusiness: boolean): RailRejection {
  const title = isChangeCode(changeCode) ? `: ${changeCodes[changeCode]}` : '';
  const field = changedField(changeCode, isBusiness);
  const problem = `is not what its bank has (${changeCode}${title})`;
  if (field !== null) return contactRejection(field, problem, changeCode);
  return {
    ...bankRejection(null, isBusiness),
    reason: `The contact's bank asks for a change (${changeCode}${title}). No funds were moved.`,
    railCode: changeCode,
  };
}

/** Null for what the contact's data cannot correct. */
function changedField(changeCode: string, isBusiness: boolean): string | null {
  switch (changeCode) {
    case 'C01':
    case 'C06':
      return 'bankAccount.achAccountNumber';
    case 'C02':
    case 'C03':
    case 'C07':
      return 'bankAccount.achRoutingNumber';
    case 'C04':
      return isBusiness ? 'companyName' : 'lastName';
    case 'C05':
      return 'bankAccount.subType';
    default:
      return null;
  }
}

function contactRejection(field: string, problem: string, railCode: string | null): RailRejection {
  const message = `${field} of the contact ${problem}: update the contact, then create a new payment.`;
  return { failureCode: 'INVALID_CONTACT_DATA', field, message, reason: message, railCode };
}
