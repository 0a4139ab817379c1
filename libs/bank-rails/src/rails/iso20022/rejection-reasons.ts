/**
 * What a bank's reason for a rejection means for the payment: one table, ISO external status reason → failure
 * code, field and message. A rejection means that no funds moved, so the payment is FAILED. Reasons about the
 * contact's data name the contact's field, reasons about the originator's name the originator's; everything
 * else is INTERNAL_ERROR. Each message says what is wrong and what to do.
 *
 * docs/rails-iso20022.md shows the same table; a test compares them.
 */
import type { EntityType, FailureCode } from '@pis/domain';
import type { RailRejection } from '../../bank-connection.js';
import type { IsoReason, IsoRail } from './messages.js';

/** The data that a reason is about. The field's name depends on the party and the rail. */
export type ReasonSubject = 'account' | 'accountType' | 'bank' | 'name' | 'address';

export interface ReasonMeaning {
  readonly party: 'contact' | 'originator' | null;
  readonly subject: ReasonSubject | null;
  /** What is wrong. */
  readonly problem: string;
  /** What to do about it. */
  readonly remedy: string;
}

const contact = (
  subject: ReasonSubject,
  problem: string,
  remedy = ask[subject],
): ReasonMeaning => ({
  party: 'contact',
  subject,
  problem,
  remedy: `${remedy}, update the contact, then create a new payment`,
});
const originator = (subject: ReasonSubject, problem: string): ReasonMeaning => ({
  party: 'originator',
  subject,
  problem,
  remedy: 'correct the originator, then create a new payment',
});
const other = (problem: string, remedy: string): ReasonMeaning => ({
  party: null,
  subject: null,
  problem,
  remedy,
});

const ask: Readonly<Record<ReasonSubject, string>> = {
  account: 'ask the contact for the right account number',
  accountType: 'ask the contact for an account of another type',
  bank: 'ask the contact for the right bank code',
  name: 'ask the contact for the name of the account holder',
  address: 'ask the contact for the full address',
};
const anotherAccount = 'ask the contact for another account';
const support = 'contact support';
const smaller = 'create payments of smaller amounts';
const later = 'create a new payment later';
const rejectedFormat = 'the bank could not read the payment';

/** By ISO code: ExternalStatusReason1Code, as of the August 2026 code sets. */
export const rejectionReasons = {
  AC01: contact('account', 'the account number is wrong'),
  AC02: originator('account', "the originator's account number is wrong"),
  AC03: contact('account', 'the account number is wrong'),
  AC04: contact('account', 'the account is closed', anotherAccount),
  AC05: originator('account', "the originator's account is closed"),
  AC06: contact('account', 'the account is blocked', anotherAccount),
  AC07: contact('account', 'the account is closed', anotherAccount),
  AC08: contact('bank', 'the bank code is wrong'),
  AC10: originator('account', "the originator's account has another currency"),
  AC11: contact('account', 'the account has another currency', anotherAccount),
  AC12: contact('accountType', 'the account cannot receive this payment'),
  AC13: originator('accountType', "the originator's account cannot send this payment"),
  AC14: contact('accountType', 'the account cannot receive this payment'),
  AG01: contact('account', 'the account may not receive payments on this rail', anotherAccount),
  AG03: contact('account', 'the bank does not take this payment for the account', anotherAccount),
  AG04: contact('bank', "the country of the contact's bank is wrong"),
  AG06: contact('bank', "the country of the contact's bank is wrong"),
  AG10: other('a bank is suspended from the rail', later),
  AG11: contact('bank', "the contact's bank is suspended from the rail", anotherAccount),
  AGNT: contact('bank', "the bank code is not the contact's bank"),
  AM02: other('the amount is not allowed', smaller),
  AM03: other('the currency is not allowed', support),
  AM04: other(
    "the originator's account has not enough funds",
    'add funds, then create a new payment',
  ),
  AM06: other('the amount is too low', 'create a payment of a larger amount'),
  AM07: other("the funds in the originator's account are blocked", support),
  AM09: other('the amount is wrong', support),
  AM11: other('the currency is not allowed', support),
  AM12: other('the amount is not valid', support),
  AM13: other('the amount is above the limit of the rail', smaller),
  AM14: other('the amount is above the limit agreed with the bank', smaller),
  AM15: other('the amount is below the minimum of the rail', 'create a payment of a larger amount'),
  AM21: other('the limit for payments is reached', later),
  AM23: other('the amount is above the settlement limit', smaller),
  BE01: contact('name', 'the name does not belong to the account'),
  BE04: contact('address', 'the address is missing or incomplete'),
  BE05: originator('name', 'the bank does not know the originator'),
  BE06: contact('name', 'the bank does not know the account holder'),
  BE07: originator('address', "the originator's address is missing or incomplete"),
  BE08: originator('name', "the originator's name is missing"),
  BE09: contact('address', 'the country is wrong'),
  BE10: originator('address', "the originator's country is wrong"),
  BE11: contact('address', 'the country is wrong'),
  BE12: contact('address', 'the country of residence is wrong'),
  BE13: originator('address', "the originator's country of residence is wrong"),
  BE14: contact('address', 'the country of residence is wrong'),
  BE15: contact('name', 'the account holder cannot be identified'),
  BE16: originator('name', 'the originator cannot be identified'),
  BE17: contact('name', 'the account holder cannot be identified'),
  BE18: contact('name', 'the details of the account holder are not valid'),
  BE19: other(rejectedFormat, support),
  BE20: contact('name', 'the name is too long'),
  BE21: contact('name', 'the name is missing'),
  BE22: contact('name', 'the name is missing'),
  BE23: contact('account', 'the account number is wrong'),
  CNOR: contact('bank', "the contact's bank does not take part in the rail", anotherAccount),
  CUST: other('the payment was canceled', 'create a new payment if it is still wanted'),
  DNOR: originator('bank', "the originator's bank does not take part in the rail"),
  DS0H: originator('account', "the originator's account may not be debited for this payment"),
  DS24: other('the bank gave the payment up because it waited too long', later),
  DT01: other(rejectedFormat, support),
  DT02: other(rejectedFormat, support),
  DT04: other('the rail takes no payments for a later date', later),
  FF02: other(rejectedFormat, support),
  FF08: other(rejectedFormat, support),
  FRAD: other('the bank suspects fraud', support),
  LEGL: other('the bank may not execute the payment for legal reasons', support),
  MD07: contact('account', 'the account is no longer in use', anotherAccount),
  MS02: other('the bank gave no reason', support),
  MS03: other('the bank gave no reason', support),
  NARR: other('the bank rejected the payment', support),
  RC01: contact('bank', 'the bank code is wrong'),
  RC02: contact('bank', 'the bank code is wrong'),
  RC03: originator('bank', "the originator's bank code is wrong"),
  RC04: contact('bank', 'the bank code is wrong'),
  RC05: contact('bank', 'the bank code is wrong'),
  RC06: originator('bank', "the originator's bank code is wrong"),
  RC07: contact('bank', 'the bank code is wrong'),
  RC08: contact('bank', 'the bank code is wrong'),
  RC09: originator('bank', "the originator's bank code is wrong"),
  RC10: contact('bank', 'the bank code is wrong'),
  RR01: originator('account', "the originator's account or identification is missing"),
  RR02: originator('address', "the originator's name or address is missing"),
  RR03: contact('address', 'the name or address is missing'),
  RR04: other('the bank may not execute the payment for regulatory reasons', support),
  SL03: other('the bank rejected the payment for this service', support),
  SL11: contact(
    'account',
    'the contact does not take payments from the originator',
    anotherAccount,
  ),
  SL12: contact(
    'account',
    'the contact does not take payments from the originator',
    anotherAccount,
  ),
  TM01: other("the bank's cutoff time has passed", later),
} as const satisfies Record<string, ReasonMeaning>;

const unknownReason = other('the bank rejected the payment', support);

/** The bank has a transfer of this reference already: a proof of nothing. Ask it for the status. */
export const duplicateReasons: readonly string[] = ['DUPL', 'AM05'];

/** The bank has no transfer of this reference. */
export const notFoundReason = 'NOOR';

export interface RejectedTransfer {
  readonly rail: IsoRail;
  readonly contactEntityType: EntityType;
  readonly originatorEntityType: EntityType;
}

export function rejectionOf(reason: IsoReason | null, transfer: RejectedTransfer): RailRejection {
  const railCode = railCodeOf(reason);
  const meaning = meaningOf(reason?.code ?? null);
  const message = sentence(meaning);
  const given = railCode === null ? 'without a reason' : `with reason ${railCode}`;
  return {
    failureCode: failureCodeOf(meaning),
    field: fieldOf(meaning, transfer),
    message,
    reason: `The ${transfer.rail} bank rejected the payment ${given}: ${meaning.problem}. No funds were moved.`,
    railCode,
  };
}

/** Longer codes of a bank are no codes. */
const proprietaryCode = /^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,34}$/;
/** The RTP network's own codes: four digits that are no number of somebody. */
const rtpCodes: readonly string[] = [
  ...['1100', '9909', '9910', '9912', '9914', '9934'],
  ...['9946', '9947', '9948', '9956', '9957', '9964'],
];
/** Of an account, a routing or a phone number. */
const partOfNumber = /\d[ ._/-]?\d[ ._/-]?\d[ ._/-]?\d/;

/**
 * What is kept of the bank's reason, in events forever and unsealed: a code of ISO's form, or a bank's own code that
 * can hold no number of somebody. A text may repeat an account number.
 */
function railCodeOf(reason: IsoReason | null): string | null {
  const { code = null, proprietary = null } = reason ?? {};
  if (code !== null && /^[A-Z0-9]{4}$/.test(code) && !/^\d{4}$/.test(code)) return code;
  if (proprietary === null || !proprietaryCode.test(proprietary)) return null;
  return rtpCodes.includes(proprietary) || !partOfNumber.test(proprietary) ? proprietary : null;
}

export function meaningOf(code: string | null): ReasonMeaning {
  if (code === null || !Object.hasOwn(rejectionReasons, code)) return unknownReason;
  return rejectionReasons[code as keyof typeof rejectionReasons];
}

/** For example: The account is closed: ask the contact for another account, update the contact, … */
export function sentence({ problem, remedy }: ReasonMeaning): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}: ${remedy}.`;
}

export function failureCodeOf({ party }: ReasonMeaning): FailureCode {
  if (party === null) return 'INTERNAL_ERROR';
  return party === 'contact' ? 'INVALID_CONTACT_DATA' : 'INVALID_ORIGINATOR_DATA';
}

/** The dotted path of the API's field. */
function fieldOf({ party, subject }: ReasonMeaning, transfer: RejectedTransfer): string | null {
  if (party === null || subject === null) return null;
  const { rail, contactEntityType, originatorEntityType } = transfer;
  const entityType = party === 'contact' ? contactEntityType : originatorEntityType;
  const fields: Readonly<Record<ReasonSubject, string>> = {
    account: 'bankAccount.achAccountNumber',
    accountType: 'bankAccount.subType',
    bank:
      rail === 'SWIFT' && party === 'contact'
        ? 'bankAccount.swiftCode'
        : 'bankAccount.achRoutingNumber',
    name: entityType === 'BUSINESS' ? 'companyName' : 'lastName',
    address: 'legalAddress',
  };
  return fields[subject];
}
