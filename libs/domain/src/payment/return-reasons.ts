/**
 * Why the bank returned a payment. docs/return-reasons.md shows the table, and a test compares the two.
 * Source: Nacha Operating Rules, Appendix Four, "Return reason codes".
 */

/** Titles by code. A bank may use others: they are recorded as they are. */
export const returnReasons: Readonly<Record<string, string>> = {
  R01: 'Insufficient funds',
  R02: 'Account closed',
  R03: 'No account, or unable to locate the account',
  R04: 'Invalid account number',
  R05: 'Unauthorized debit to a consumer account with a corporate class code',
  R06: "Returned at the originating bank's request",
  R07: 'Authorization revoked by the customer',
  R08: 'Payment stopped',
  R09: 'Uncollected funds',
  R10: 'The customer says that the originator is not known or not authorized',
  R11: 'The customer says that the entry does not follow the authorization',
  R12: 'Account sold to another bank',
  R13: 'Invalid routing number',
  R14: 'Representative payee deceased or unable to continue',
  R15: 'Beneficiary or account holder deceased',
  R16: 'Account frozen, or entry returned on instruction of OFAC',
  R17: 'File record edit criteria, or suspicious entry with an invalid account number',
  R18: 'Improper effective entry date',
  R19: 'Amount field error',
  R20: 'Non-transaction account',
  R21: 'Invalid company identification',
  R22: 'Invalid individual identification',
  R23: 'Credit entry refused by the receiver',
  R24: 'Duplicate entry',
  R25: 'Addenda error',
  R26: 'Mandatory field error',
  R27: 'Trace number error',
  R28: 'Routing number check digit error',
  R29: 'The corporate customer says that the entry is not authorized',
  R30: 'The receiving bank does not take part in check truncation',
  R31: 'Permissible return of a CCD or CTX entry',
  R32: 'The receiving bank does not settle',
  R33: 'Return of an XCK entry',
  R34: 'The receiving bank takes part only to a limited extent',
  R35: 'Return of an improper debit entry',
  R36: 'Return of an improper credit entry',
  R37: 'Source document presented for payment',
  R38: 'Stop payment on the source document',
  R39: 'Improper source document',
  R40: 'Return of an enrollment entry by a federal agency',
  R41: 'Invalid transaction code (enrollment)',
  R42: 'Routing number or check digit error (enrollment)',
  R43: 'Invalid account number (enrollment)',
  R44: 'Invalid individual identification (enrollment)',
  R45: 'Invalid individual or company name (enrollment)',
  R46: 'Invalid representative payee indicator (enrollment)',
  R47: 'Duplicate enrollment',
  R50: 'State law concerning re-presented check entries',
  R51: 'The re-presented check entry is ineligible or improper',
  R52: 'Stop payment on a re-presented check entry',
  R53: 'Item and re-presented check entry presented for payment',
  R61: 'Dishonored: misrouted return',
  R62: 'Dishonored: return of an erroneous or reversing debit',
  R67: 'Dishonored: duplicate return',
  R68: 'Dishonored: untimely return',
  R69: 'Dishonored: field error',
  R70: 'Dishonored: permissible return not accepted, or not requested',
  R71: 'Contested: misrouted dishonored return',
  R72: 'Contested: untimely dishonored return',
  R73: 'Contested: timely original return',
  R74: 'Contested: corrected return',
  R75: 'Contested: return not a duplicate',
  R76: 'Contested: no errors found',
  R77: 'Contested: dishonored return R62 not accepted',
  R80: 'International entry: coding error',
  R81: 'International entry: the bank does not take part',
  R82: 'International entry: invalid foreign receiving bank',
  R83: 'International entry: the foreign receiving bank cannot settle',
  R84: 'International entry: not processed by the gateway',
  R85: 'International entry: incorrectly coded outbound payment',
};

const noMoney = 'The account did not hold enough money. The same payment may succeed later.';
const badAccount =
  'The account cannot be used. Replace the bank account of the contact, or send a link.';
const unauthorized =
  'The account holder says that the debit was not authorized. Clear this up before you collect again.';

/** What to do about it, for reasons where the answer is the same for everybody. */
export const returnAdvice: Readonly<Record<string, string>> = {
  R01: noMoney,
  R09: noMoney,
  R02: badAccount,
  R03: badAccount,
  R04: badAccount,
  R12: badAccount,
  R13: badAccount,
  R20: badAccount,
  R28: badAccount,
  R05: unauthorized,
  R07: unauthorized,
  R10: unauthorized,
  R11: unauthorized,
  R29: unauthorized,
  R08: 'The account holder stopped this payment. Ask before you collect again.',
  R16: 'The account is frozen. Ask the contact for another one.',
  R23: 'The recipient refused the money. Ask before you send it again.',
};

export interface ReturnReason {
  readonly code: string;
  /** Null for a code that is not in the table. */
  readonly title: string | null;
  readonly advice: string | null;
}

export function returnReasonOf(code: string): ReturnReason {
  return { code, title: returnReasons[code] ?? null, advice: returnAdvice[code] ?? null };
}
