import { randomUUID } from 'node:crypto';
import type { LegalAddress } from '@pis/domain';
import type { TransferInstruction } from '../bank-connection.js';
import { railReferenceOf } from '../rail-reference.js';

/** An instruction with this ending of the contact's account number, which selects what the simulated bank does. */
export function instructionEnding(
  ending: string,
  changes: Partial<TransferInstruction> = {},
): TransferInstruction {
  const paymentId = changes.paymentId ?? randomUUID();
  return {
    reference: railReferenceOf(paymentId),
    paymentId,
    organizationId: '0b9e6a4e-5a5c-4f3c-9d3e-3f1d6c5b2a10',
    rail: 'ACH',
    achService: null,
    direction: 'OUTBOUND',
    amountMinor: 12_345,
    currencyCode: 'USD',
    createdAt: '2026-11-24T15:00:00.000Z',
    note: 'Invoice 1042',
    originatorId: '1f0c7c55-7c0e-4b62-8a55-0d5c5b1f9e21',
    originatorEntityType: 'BUSINESS',
    originatorName: 'Acme Corp',
    originatorAddress: addressIn('Albany', 'NY', '12207'),
    originatorAccount: {
      achRoutingNumber: '021000021',
      achAccountNumber: '987654321098',
      swiftCode: null,
      subType: 'CHECKING',
    },
    contactId: '2a6f1c9b-44f0-4b1e-9c58-6f0a7d3b8c32',
    contactEntityType: 'INDIVIDUAL',
    contactName: 'Ada Lovelace',
    contactAddress: addressIn('Boston', 'MA', '02108'),
    contactAccount: {
      achRoutingNumber: '011000138',
      achAccountNumber: `77665544${ending}`,
      swiftCode: null,
      subType: 'SAVINGS',
    },
    ...changes,
  };
}

function addressIn(city: string, state: string, postalCode: string): LegalAddress {
  return { addressLine1: '1 Main Street', city, state, postalCode, countryCode: 'US' };
}
