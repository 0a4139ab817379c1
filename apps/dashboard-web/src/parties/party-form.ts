/** The fields of a contact or originator as a form holds them, and what is sent of them. */
import type { DashboardApi } from '@pis/dashboard/api';
import type { Party } from './party-queries.js';

export const emptyParty = {
  originatorId: '',
  entityType: 'INDIVIDUAL',
  firstName: '',
  lastName: '',
  companyName: '',
  email: '',
  phoneNumber: '',
  addressLine1: '',
  city: '',
  state: '',
  postalCode: '',
  countryCode: 'US',
  /** What happens to the account of a saved party: keep, replace, remove. A new one has nothing to keep. */
  account: 'replace',
  subType: 'CHECKING',
  achRoutingNumber: '',
  achAccountNumber: '',
  /** The account number again: a wrong digit would send money to somebody else. */
  confirmation: '',
  swiftCode: '',
};
export type PartyForm = typeof emptyParty;

export const accountTypes = { CHECKING: 'Checking', SAVINGS: 'Savings' } as const;

/** The form of a saved party. Its account number is not known here. */
export function formOf(party: Party): PartyForm {
  const { legalAddress: address } = party;
  return {
    ...emptyParty,
    originatorId: party.originatorId,
    entityType: party.entityType,
    firstName: party.firstName ?? '',
    lastName: party.lastName ?? '',
    companyName: party.companyName ?? '',
    email: party.email ?? '',
    phoneNumber: party.phoneNumber ?? '',
    ...(address === null
      ? {}
      : {
          addressLine1: address.addressLine1,
          city: address.city,
          state: address.state,
          postalCode: address.postalCode,
          countryCode: address.countryCode,
        }),
    account: party.bankAccount === null ? 'replace' : 'keep',
  };
}

type Create = DashboardApi['createContact']['body'];
type Change = DashboardApi['changeContact']['body'];
type Address = NonNullable<Create['legalAddress']>;
type Account = NonNullable<Create['bankAccount']>;

/** Null when only the country is there: it is filled in from the beginning. */
function addressOf(form: PartyForm): Address | null {
  const { addressLine1, city, state, postalCode, countryCode } = trimmed(form);
  const isEmpty = [addressLine1, city, state, postalCode].every((text) => text === '');
  return isEmpty ? null : { addressLine1, city, state, postalCode, countryCode };
}

function accountOf(form: PartyForm): Account | null {
  const { achRoutingNumber, achAccountNumber, swiftCode, subType } = trimmed(form);
  const isEmpty = [achRoutingNumber, achAccountNumber, swiftCode].every((text) => text === '');
  if (isEmpty) return null;
  return {
    subType: subType as Account['subType'],
    achRoutingNumber,
    achAccountNumber,
    ...(swiftCode === '' ? {} : { swiftCode }),
  };
}

function namesOf(form: PartyForm) {
  const { entityType, firstName, lastName, companyName } = trimmed(form);
  return entityType === 'BUSINESS' ? { companyName } : { firstName, lastName };
}

/** What can be said without the server, by field. @param initial the form as it was opened */
export function problemsOf(form: PartyForm, initial: PartyForm): Readonly<Record<string, string>> {
  const { email, achAccountNumber, achRoutingNumber, confirmation } = trimmed(form);
  const isReplaced = initial.account === 'keep' && form.account === 'replace';
  const required = {
    ...namesOf(form),
    email,
    ...(isReplaced ? { achRoutingNumber, achAccountNumber } : {}),
  };
  const missing = Object.entries(required).filter(([, text]) => text === '');
  return {
    ...Object.fromEntries(missing.map(([field]) => [field, 'Fill in this field.'])),
    ...(form.account === 'replace' && achAccountNumber !== confirmation
      ? { confirmation: 'The two account numbers differ.' }
      : {}),
  };
}

export function createBodyOf(form: PartyForm): Create {
  const { originatorId, entityType, email, phoneNumber } = trimmed(form);
  return {
    originatorId,
    entityType: entityType as Create['entityType'],
    ...namesOf(form),
    email,
    phoneNumber: phoneNumber === '' ? null : phoneNumber,
    legalAddress: addressOf(form),
    bankAccount: accountOf(form),
  };
}

/** Only what differs from the party. A field that was emptied is sent as null. */
export function changesOf(party: Party, form: PartyForm): Change {
  const before = formOf(party);
  const { email, phoneNumber } = trimmed(form);
  const names = Object.entries(namesOf(form)).filter(
    ([field, text]) => text !== before[field as keyof PartyForm],
  );
  const address = addressOf(form);
  const isOtherAddress = JSON.stringify(address) !== JSON.stringify(addressOf(before));
  const account = accountOf(form);
  return {
    ...Object.fromEntries(names),
    ...(email === before.email ? {} : { email }),
    ...(phoneNumber === before.phoneNumber
      ? {}
      : { phoneNumber: phoneNumber === '' ? null : phoneNumber }),
    ...(isOtherAddress ? { legalAddress: address } : {}),
    ...(form.account === 'remove' ? { bankAccount: null } : {}),
    ...(form.account === 'replace' && account !== null ? { bankAccount: account } : {}),
  };
}

function trimmed(form: PartyForm): PartyForm {
  return Object.fromEntries(
    Object.entries(form).map(([field, text]) => [field, text.trim()]),
  ) as PartyForm;
}
