import { randomUUID } from 'node:crypto';
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
    rail: 'ACH',
    direction: 'OUTBOUND',
    amountMinor: 12_345,
    currencyCode: 'USD',
    originatorName: 'Acme Corp',
    originatorAccount: {
      achRoutingNumber: '021000021',
      achAccountNumber: '987654321098',
      swiftCode: null,
      subType: 'CHECKING',
    },
    contactName: 'Ada Lovelace',
    contactAccount: {
      achRoutingNumber: '011000138',
      achAccountNumber: `77665544${ending}`,
      swiftCode: null,
      subType: 'SAVINGS',
    },
    ...changes,
  };
}
