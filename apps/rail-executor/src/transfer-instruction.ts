/** The rail's last step: the one place where full account numbers are opened. */
import type { FullBankAccount, TransferInstruction } from '@pis/bank-rails';
import { type Payment, type PaymentParty, transferAmountMinor } from '@pis/domain';
import { KeyDestroyed, type Keyring, openBankAccount, type Owner, ownerOf } from '@pis/keyring';
import type { Side } from './erasure-guard.js';

/**
 * The instruction, or the side whose party was erased: such a payment slipped in, and is never sent.
 * @throws as transferInstruction, but for KeyDestroyed
 */
export async function instructionUnlessErased(
  payment: Payment,
  reference: string,
  keyring: Keyring,
): Promise<TransferInstruction | Side> {
  const { originator, contact } = payment;
  if (originator.erased === true) return 'originator';
  if (contact?.erased === true) return 'contact';
  try {
    return await transferInstruction(payment, reference, keyring);
  } catch (error) {
    if (!(error instanceof KeyDestroyed)) throw error;
    return error.owner === ownerOf.originator(originator.id) ? 'originator' : 'contact';
  }
}

/**
 * @throws CannotOpen when the sealed numbers were altered or moved
 * @throws KeyDestroyed when a party was erased
 * @throws StoreUnavailable when a key cannot be read
 */
export async function transferInstruction(
  payment: Payment,
  reference: string,
  keyring: Keyring,
): Promise<TransferInstruction> {
  const { contact, originator } = payment;
  if (contact === null) throw new Error('a payment past AWAITING_CONFIRMATION has a contact');
  const [originatorAccount, contactAccount] = await Promise.all([
    openAccount(originator, ownerOf.originator(originator.id), keyring),
    openAccount(contact, ownerOf.contact(contact.id), keyring),
  ]);
  return {
    reference,
    paymentId: payment.paymentId,
    organizationId: payment.organizationId,
    rail: payment.paymentRail,
    achService: payment.railDecision?.achService ?? null,
    direction: payment.direction,
    amountMinor: transferAmountMinor(payment),
    currencyCode: payment.currencyCode,
    createdAt: payment.createdAt,
    note: payment.paymentNote,
    originatorId: originator.id,
    originatorEntityType: originator.entityType,
    originatorName: nameOf(originator),
    originatorAddress: originator.legalAddress ?? null,
    originatorAccount,
    contactId: contact.id,
    contactEntityType: contact.entityType,
    contactName: nameOf(contact),
    contactAddress: contact.legalAddress ?? null,
    contactAccount,
  };
}

function nameOf(party: PaymentParty): string {
  return party.companyName ?? [party.firstName, party.lastName].filter(Boolean).join(' ');
}

async function openAccount(
  party: PaymentParty,
  owner: Owner,
  keyring: Keyring,
): Promise<FullBankAccount> {
  if (party.bankAccount === null) throw new Error(`${owner} has no bank account`);
  const { subType } = party.bankAccount;
  return { ...(await openBankAccount(keyring, party.bankAccount, owner)), subType };
}
