/** The rail's last step: the one place where full account numbers are opened. */
import type { FullBankAccount, TransferInstruction } from '@pis/bank-rails';
import type { Payment, PaymentParty } from '@pis/domain';
import { type Keyring, openBankAccount, type Owner, ownerOf } from '@pis/keyring';

/** @throws CannotOpen when the sealed numbers were altered or belong to another master key */
export function transferInstruction(
  payment: Payment,
  reference: string,
  keyring: Keyring,
): TransferInstruction {
  const { contact, originator } = payment;
  if (contact === null) throw new Error('a payment past AWAITING_CONFIRMATION has a contact');
  return {
    reference,
    paymentId: payment.paymentId,
    rail: payment.paymentRail,
    direction: payment.direction,
    amountMinor: payment.amountMinor,
    currencyCode: payment.currencyCode,
    originatorName: nameOf(originator),
    originatorAccount: openAccount(originator, ownerOf.originator(originator.id), keyring),
    contactName: nameOf(contact),
    contactAccount: openAccount(contact, ownerOf.contact(contact.id), keyring),
  };
}

function nameOf(party: PaymentParty): string {
  return party.companyName ?? [party.firstName, party.lastName].filter(Boolean).join(' ');
}

function openAccount(party: PaymentParty, owner: Owner, keyring: Keyring): FullBankAccount {
  if (party.bankAccount === null) throw new Error(`${owner} has no bank account`);
  const { subType } = party.bankAccount;
  return { ...openBankAccount(keyring, party.bankAccount, owner), subType };
}
