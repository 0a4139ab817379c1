/** The rail's last step: the one place where full account numbers are opened. */
import type { FullBankAccount, TransferInstruction } from '@pis/bank-rails';
import type { LoadedTransfer } from '@pis/commands';
import { orderingOrganizationOf, type PaymentParty, transferAmountMinor } from '@pis/domain';
import { KeyDestroyed, type Keyring, openBankAccount, type Owner, ownerOf } from '@pis/keyring';
import { counterpartyKindOf, type Side } from './erasure-guard.js';

/** What the instruction is made of. The owner says whose keys the accounts are sealed under. */
export type InstructedTransfer = Pick<LoadedTransfer, 'owner' | 'state'>;

/**
 * The instruction, or whose party was erased: such a transfer slipped in, and is never sent. Both sides of a collection
 * are originators, see collection.ts of the domain.
 * @throws as transferInstruction, but for KeyDestroyed
 */
export async function instructionUnlessErased(
  transfer: InstructedTransfer,
  reference: string,
  keyring: Keyring,
): Promise<TransferInstruction | Side> {
  const { originator, contact } = transfer.state;
  const counterparty = counterpartyKindOf[transfer.owner];
  if (originator.erased === true) return 'originator';
  if (contact?.erased === true) return counterparty;
  try {
    return await transferInstruction(transfer, reference, keyring);
  } catch (error) {
    if (!(error instanceof KeyDestroyed)) throw error;
    return error.owner === ownerOf.originator(originator.id) ? 'originator' : counterparty;
  }
}

/**
 * @throws CannotOpen when the sealed numbers were altered or moved
 * @throws KeyDestroyed when a party was erased
 * @throws StoreUnavailable when a key cannot be read
 */
async function transferInstruction(
  { owner, state: payment }: InstructedTransfer,
  reference: string,
  keyring: Keyring,
): Promise<TransferInstruction> {
  const { contact, originator } = payment;
  if (contact === null) throw new Error('a payment past AWAITING_CONFIRMATION has a contact');
  const [originatorAccount, contactAccount] = await Promise.all([
    openAccount(originator, ownerOf.originator(originator.id), keyring),
    openAccount(contact, ownerOf[counterpartyKindOf[owner]](contact.id), keyring),
  ]);
  return {
    reference,
    paymentId: payment.paymentId,
    organizationId: orderingOrganizationOf(owner, payment),
    rail: payment.paymentRail,
    achService: payment.railDecision?.achService ?? null,
    direction: payment.direction,
    amountMinor: transferAmountMinor(payment),
    currencyCode: payment.currencyCode,
    ...(payment.reinitiates === undefined ? {} : { isReinitiation: true }),
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
