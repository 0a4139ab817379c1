/**
 * Checks before the rail: what a rail would reject is rejected before the claim, with the field and what to
 * do. A check that the rail makes anyway is better made here: nothing was sent, and the message is ours.
 */
import {
  isOutsideUs,
  needsAddress,
  railLimitMinor,
  railRejectionText,
  type RailRejection,
  type RoutingDirectory,
  sameDayLimitMinor,
  type TransferInstruction,
} from '@pis/bank-rails';
import { railName } from '@pis/bank-rails/iso20022';
import {
  type PayerFeeTerms,
  payerFeeMinor,
  type Payment,
  type RailRejectionCode,
} from '@pis/domain';

type Side = 'originator' | 'contact';

/** Of a payment that no rail could take when it was created; null when a rail was chosen. */
export function rejectionWithoutRail(payment: Payment): RailRejection | null {
  const { railDecision, contact, direction } = payment;
  if (railDecision?.isPossible !== false) return null;
  const isAbroad = railDecision.rejected.some(({ code }) => code === 'account_outside_us');
  if (direction === 'INBOUND' && isAbroad) return debitAbroad;
  const isAddressAsked = railDecision.rejected.some(({ code }) => code === 'address_required');
  if (isAddressAsked && (contact?.legalAddress ?? null) === null)
    return rejected(
      'contact',
      'legalAddress',
      'is missing, and no rail reaches the bank without it',
    );
  const reasons = railDecision.rejected.map(railRejectionText);
  const isTooLarge = railDecision.rejected.some(({ code }) => aboutAmount.has(code));
  if (isTooLarge && payerFeeMinor(payment) > 0)
    reasons.push(`The transfer moves ${amountWithFee}.`);
  return impossible(`No rail can take this payment. ${reasons.join(' ')}`);
}

const aboutAmount: ReadonlySet<RailRejectionCode> = new Set([
  'amount_above_rail_limit',
  'amount_above_organization_limit',
]);
const amountWithFee = 'paymentAmount plus the processing fee that the payer of the link pays';

/**
 * Null when the rail can take the transfer as far as we know.
 * @param payment the payment that the instruction is for
 * @throws when the directory cannot be reached
 */
export async function rejectionBeforeRail(
  instruction: TransferInstruction,
  payment: PayerFeeTerms,
  directory: RoutingDirectory,
): Promise<RailRejection | null> {
  return (
    amountRejection(instruction, payment) ??
    nameRejection('originator', instruction) ??
    nameRejection('contact', instruction) ??
    accountRejection('originator', instruction) ??
    accountRejection('contact', instruction) ??
    addressRejection(instruction) ??
    (await reachRejection(instruction, directory))
  );
}

function amountRejection(
  { rail, achService, amountMinor }: TransferInstruction,
  payment: PayerFeeTerms,
) {
  const isSameDay = achService === 'same_day';
  const limitMinor = isSameDay ? sameDayLimitMinor : railLimitMinor[rail];
  if (amountMinor <= limitMinor) return null;
  const dollars = (limitMinor / 100).toLocaleString('en-US', { minimumFractionDigits: 2 });
  const name = isSameDay ? 'Same-day ACH' : rail;
  const what = payerFeeMinor(payment) > 0 ? amountWithFee : 'paymentAmount';
  return impossible(
    `${what} is above what ${name} takes (${dollars} USD): create payments of smaller amounts.`,
  );
}

function nameRejection(side: Side, instruction: TransferInstruction): RailRejection | null {
  const isContact = side === 'contact';
  const name = isContact ? instruction.contactName : instruction.originatorName;
  if (railName(name) !== null) return null;
  const type = isContact ? instruction.contactEntityType : instruction.originatorEntityType;
  return rejected(
    side,
    type === 'BUSINESS' ? 'companyName' : 'firstName',
    'has no letter or digit that the rail can send: write it in Latin letters',
  );
}

/** ACH: 17 characters (Nacha, entry detail record). ISO 20022: Max34Text. */
const accountForm = { ach: /^[0-9A-Za-z]{1,17}$/, iso: /^[0-9A-Za-z]{1,34}$/ };

function accountRejection(side: Side, instruction: TransferInstruction): RailRejection | null {
  const { rail, direction, contactAccount, originatorAccount } = instruction;
  const { achAccountNumber, swiftCode } = side === 'contact' ? contactAccount : originatorAccount;
  const form = rail === 'ACH' ? accountForm.ach : accountForm.iso;
  if (!form.test(achAccountNumber))
    return rejected(
      side,
      'bankAccount.achAccountNumber',
      `is no account number that ${rail} takes`,
    );
  if (side === 'contact' && rail === 'SWIFT' && swiftCode === null)
    return rejected(side, 'bankAccount.swiftCode', 'is missing, and SWIFT needs it');
  // An earlier release has chosen ACH for it.
  if (side === 'contact' && direction === 'INBOUND' && isOutsideUs(swiftCode)) return debitAbroad;
  return null;
}

function addressRejection({ rail, contactAddress }: TransferInstruction): RailRejection | null {
  if (!needsAddress[rail] || contactAddress !== null) return null;
  return rejected('contact', 'legalAddress', `is missing, and ${rail} needs it`);
}

/** Every US bank takes ACH, also one that the directory does not have. */
async function reachRejection(
  { rail, contactAccount: { achRoutingNumber } }: TransferInstruction,
  directory: RoutingDirectory,
): Promise<RailRejection | null> {
  if (rail === 'ACH' || rail === 'SWIFT') return null;
  const entry = await directory.find(achRoutingNumber);
  if (entry?.rails.includes(rail) === true) return null;
  const what =
    entry === null
      ? 'is not in the routing directory any more'
      : `is of a bank that takes no ${rail} payments any more`;
  return rejected('contact', 'bankAccount.achRoutingNumber', what);
}

function rejected(side: Side, field: string, what: string): RailRejection {
  const message = `The ${side}'s ${field} ${what}: update the ${side}, then create a new payment.`;
  const failureCode = side === 'contact' ? 'INVALID_CONTACT_DATA' : 'INVALID_ORIGINATOR_DATA';
  return { failureCode, field, message, reason: message, railCode: null };
}

const debitAbroad = rejected(
  'contact',
  'bankAccount.swiftCode',
  'is of another country, and an ACH debit reaches accounts in the US only',
);

/** No party's data is at fault. */
function impossible(message: string): RailRejection {
  return { failureCode: 'INTERNAL_ERROR', field: null, message, reason: message, railCode: null };
}
