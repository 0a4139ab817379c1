/** Example records of the directory: one organization, one originator, one contact. */
import type { ContactRecord } from '../contact/contact.js';
import type { OrganizationRecord } from '../organization/organization.js';
import type { OriginatorRecord } from '../originator/originator.js';
import type { BankAccount, LegalAddress } from '../party.js';

/** When the examples' history began; `later` is the next moment. */
export const at = '2026-11-21T09:00:00.000Z';
export const later = '2026-11-21T09:00:01.500Z';

export const ids = {
  organization: '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1a01',
  originator: '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1a02',
  contact: '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1a03',
  otherContact: '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1a04',
  payment: '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1a05',
} as const;

export const legalAddress: LegalAddress = {
  addressLine1: '500 Market Street',
  city: 'Springfield',
  state: 'IL',
  postalCode: '62701',
  countryCode: 'US',
};

export function bankAccountExample(overrides: Partial<BankAccount> = {}): BankAccount {
  return {
    bankName: 'Example Bank',
    subType: 'CHECKING',
    achRoutingNumber: '*****0021',
    achAccountNumber: '******4321',
    swiftCode: null,
    sealed: 'v1.sealed-account',
    ...overrides,
  };
}

export function organizationExample(
  overrides: Partial<OrganizationRecord> = {},
): OrganizationRecord {
  return {
    organizationId: ids.organization,
    name: 'Example Organization',
    feeSchedule: { discountBasisPoints: 25, flatFeeMinor: 50, returnFeeMinor: 400 },
    ...overrides,
  };
}

export function originatorExample(overrides: Partial<OriginatorRecord> = {}): OriginatorRecord {
  return {
    originatorId: ids.originator,
    organizationId: ids.organization,
    entityType: 'BUSINESS',
    firstName: null,
    lastName: null,
    companyName: 'Northwind Traders LLC',
    email: 'treasury@northwind.example',
    phoneNumber: '+12175550100',
    legalAddress,
    bankAccount: bankAccountExample({ sealed: 'v1.sealed-originator-account' }),
    ...overrides,
  };
}

export function contactExample(overrides: Partial<ContactRecord> = {}): ContactRecord {
  return {
    contactId: ids.contact,
    organizationId: ids.organization,
    originatorId: ids.originator,
    entityType: 'INDIVIDUAL',
    firstName: 'Ada',
    lastName: 'Moreno',
    companyName: null,
    email: 'ada.moreno@mail.example',
    phoneNumber: null,
    legalAddress: null,
    bankAccount: bankAccountExample(),
    identity: 'identity-1',
    ...overrides,
  };
}
