/**
 * Whom a payment is for that a second person approves: fixed when it is requested. Who changes the recipient's name
 * or account between the request and the approval has nothing approved. So has who changes the originator's account.
 */
import { randomUUID } from 'node:crypto';
import type { DashboardPaymentRequest } from '@pis/contracts';
import {
  type Contact,
  hasActiveAccount,
  type Originator,
  type PaymentApproval,
  type PaymentParty,
} from '@pis/domain';
import { fingerprintAtRest, KeyDestroyed, type Keyring, ownerOf } from '@pis/keyring';
import { partyOf } from '../payment-draft.js';

/** A request that a second person has approved. */
export interface ApprovedRequest {
  readonly paymentId: string;
  readonly approval: PaymentApproval;
  readonly recipient: PaymentParty;
  /** See ApprovalRequest. */
  readonly originatorAccount: string | null;
}

export type ContactWithAccount = Contact & {
  readonly bankAccount: NonNullable<Contact['bankAccount']>;
};

/** The contact that is paid without a link; null where a link asks for the account. */
export function directlyPaid(
  { direction }: Pick<DashboardPaymentRequest, 'direction'>,
  contact: Contact | null,
): ContactWithAccount | null {
  const isDirect = direction === 'OUTBOUND' && contact !== null && hasActiveAccount(contact);
  return isDirect ? (contact as ContactWithAccount) : null;
}

/** The recipient as it is now. An unsaved one gets an ID, which its payment will use. */
export function recipientOf(
  request: DashboardPaymentRequest,
  contact: Contact | null,
): PaymentParty {
  const { recipient } = request;
  if (contact !== null) {
    const bankAccount = directlyPaid(request, contact)?.bankAccount ?? null;
    return { ...partyOf(contact.contactId, contact), legalAddress: null, bankAccount };
  }
  if ('contactId' in recipient) throw new Error('a saved recipient is a contact');
  const { entityType, firstName, lastName, companyName } = recipient;
  const name = { entityType, firstName, lastName, companyName };
  return { id: randomUUID(), ...name, legalAddress: null, bankAccount: null };
}

/** @throws KeyDestroyed */
export async function accountOf(
  keyring: Keyring,
  { originatorId, bankAccount }: Pick<Originator, 'originatorId' | 'bankAccount'>,
): Promise<string> {
  const owner = ownerOf.originator(originatorId);
  if (bankAccount === null) throw new KeyDestroyed(owner);
  return fingerprintAtRest(keyring, bankAccount, owner);
}

/** Whether the recipient that was approved is the one that would be paid now. @throws KeyDestroyed */
export async function isSameRecipient(
  keyring: Keyring,
  approved: PaymentParty,
  now: PaymentParty,
): Promise<boolean> {
  const fields = ['entityType', 'firstName', 'lastName', 'companyName'] as const;
  if (fields.some((field) => approved[field] !== now[field])) return false;
  const [before, after] = [approved.bankAccount, now.bankAccount];
  if (before === null || after === null) return before === after;
  if (before.sealed === after.sealed) return true;
  const owner = ownerOf.contact(approved.id);
  const [one, other] = await Promise.all([
    fingerprintAtRest(keyring, before, owner),
    fingerprintAtRest(keyring, after, owner),
  ]);
  return one === other;
}
