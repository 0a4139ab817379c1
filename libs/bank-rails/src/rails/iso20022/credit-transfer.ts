/** A payment as a pacs.008 of its rail, or what keeps it from being one. */
import type { LegalAddress } from '@pis/domain';
import type { FullBankAccount, RailRejection, TransferInstruction } from '../../bank-connection.js';
import { railName, railText } from './characters.js';
import { instructionCodeOf, uetrOf } from './identifiers.js';
import type { CreditTransfer, IsoAddress, IsoAgent, IsoParty } from './messages.js';
import type { IsoIdentity, IsoRailProfile } from './profile.js';

export interface TransferTiming {
  readonly messageId: string;
  readonly createdAt: Date;
  /** YYYY-MM-DD. */
  readonly settlementDate: string;
}

const limits = { street: 70, line: 70, postalCode: 16, town: 35, state: 35, note: 140 } as const;

/** YYYYMMDD of a date. */
export function dayOf(date: string): string {
  return date.replaceAll('-', '');
}

export function creditTransferOf(
  instruction: TransferInstruction,
  profile: IsoRailProfile,
  identity: IsoIdentity,
  { messageId, createdAt, settlementDate }: TransferTiming,
): CreditTransfer | RailRejection {
  const { reference, contactAccount, originatorAccount } = instruction;
  const unfit = whatIsMissing(instruction, profile);
  if (unfit !== null) return unfit;
  const code = instructionCodeOf(reference);
  const instructionId = profile.instructionId({ day: dayOf(settlementDate), identity, code });
  const ours = agentFor(profile, identity);
  const theirs = agentOf(contactAccount, profile);
  return {
    type: 'pacs.008',
    messageId,
    createdAt: profile.dateTime(createdAt),
    instructionId,
    endToEndId: reference,
    transactionId: profile.hasTransactionId ? instructionId : null,
    uetr: uetrOf(reference),
    amountMinor: instruction.amountMinor,
    currencyCode: instruction.currencyCode,
    settlementDate,
    isBusiness:
      profile.paymentType.categoryPurpose === null
        ? null
        : instruction.originatorEntityType === 'BUSINESS',
    instructingAgent: ours,
    instructedAgent: theirs,
    debtor: partyOf(instruction.originatorName, instruction.originatorAddress, profile),
    debtorAccount: originatorAccount.achAccountNumber,
    debtorAgent: profile.agents === 'BIC' ? ours : agentOf(originatorAccount, profile),
    creditorAgent: theirs,
    creditor: partyOf(instruction.contactName, instruction.contactAddress, profile),
    creditorAccount: contactAccount.achAccountNumber,
    note: instruction.note === null ? null : railText(instruction.note, limits.note) || null,
  };
}

/** Whether the message says what the instruction says. */
export function isSameTransfer(
  message: CreditTransfer,
  instruction: TransferInstruction,
  profile: IsoRailProfile,
): boolean {
  return (
    message.endToEndId === instruction.reference &&
    message.amountMinor === instruction.amountMinor &&
    message.currencyCode === instruction.currencyCode &&
    message.debtorAccount === instruction.originatorAccount.achAccountNumber &&
    isToSameAccount(message, instruction, profile)
  );
}

/** Whether the message pays the account of the instruction. */
export function isToSameAccount(
  message: CreditTransfer,
  { contactAccount }: Pick<TransferInstruction, 'contactAccount'>,
  profile: IsoRailProfile,
): boolean {
  const { routingNumber, bic } = agentOf(contactAccount, profile);
  return (
    message.creditorAccount === contactAccount.achAccountNumber &&
    message.creditorAgent.routingNumber === routingNumber &&
    wholeBic(message.creditorAgent.bic) === wholeBic(bic)
  );
}

/** A BIC of eight characters names the head office, as one with XXX does. */
function wholeBic(bic: string | null): string | null {
  return bic?.length === 8 ? `${bic}XXX` : bic;
}

/** Only the name by which the rail knows a bank. */
export function agentFor({ agents }: IsoRailProfile, { routingNumber, bic }: IsoAgent): IsoAgent {
  return agents === 'BIC' ? { routingNumber: null, bic } : { routingNumber, bic: null };
}

function agentOf(account: FullBankAccount, profile: IsoRailProfile): IsoAgent {
  return agentFor(profile, { routingNumber: account.achRoutingNumber, bic: account.swiftCode });
}

function partyOf(name: string, address: LegalAddress | null, profile: IsoRailProfile): IsoParty {
  return { name: railName(name) ?? '', address: address && isoAddressOf(address, profile) };
}

/** Null when the rail wants more of an address than there is. It is optional then, see whatIsMissing. */
function isoAddressOf(address: LegalAddress, profile: IsoRailProfile): IsoAddress | null {
  const street = railText(address.addressLine1, limits.street + limits.line);
  const iso: IsoAddress = {
    street: street.slice(0, limits.street).trimEnd() || null,
    postalCode: railText(address.postalCode, limits.postalCode) || null,
    town: railText(address.city, limits.town),
    state: railText(address.state, limits.state) || null,
    country: address.countryCode,
    // What the street's element has no room for.
    lines: street.length > limits.street ? [street.slice(limits.street).trim()] : [],
  };
  const isComplete = iso.town !== '' && profile.addressNeeds.every((need) => iso[need] !== null);
  return isComplete ? iso : null;
}

function whatIsMissing(
  instruction: TransferInstruction,
  profile: IsoRailProfile,
): RailRejection | null {
  const { contactName, contactAddress, contactAccount, originatorName } = instruction;
  const nameField = (entityType: string) =>
    entityType === 'BUSINESS' ? 'companyName' : 'lastName';
  const rail = profile.rail;
  if (railName(contactName) === null)
    return missing(
      'INVALID_CONTACT_DATA',
      nameField(instruction.contactEntityType),
      rail,
      spelledName,
    );
  if (railName(originatorName) === null)
    return missing(
      'INVALID_ORIGINATOR_DATA',
      nameField(instruction.originatorEntityType),
      rail,
      spelledName,
    );
  if (profile.agents === 'BIC' && contactAccount.swiftCode === null)
    return missing(
      'INVALID_CONTACT_DATA',
      'bankAccount.swiftCode',
      rail,
      'the SWIFT code of a bank',
    );
  const address = contactAddress && isoAddressOf(contactAddress, profile);
  if (profile.requiresContactAddress && address === null)
    return missing(
      'INVALID_CONTACT_DATA',
      'legalAddress',
      rail,
      'a postal address with town and country',
    );
  return null;
}

const spelledName = 'a name that can be spelled in Latin letters or digits';

function missing(
  failureCode: 'INVALID_CONTACT_DATA' | 'INVALID_ORIGINATOR_DATA',
  field: string,
  rail: string,
  what: string,
): RailRejection {
  const party = failureCode === 'INVALID_CONTACT_DATA' ? 'contact' : 'originator';
  const message = `${rail} needs ${what}: update the ${party}, then create a new payment.`;
  return { failureCode, field, message, reason: `${field}: ${message}`, railCode: null };
}
