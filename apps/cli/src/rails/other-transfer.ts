/**
 * Tells a payment from an earlier one with its reference. After the log was restored, a client may create a lost payment again,
 * under its key, with another amount or account. The bank has the earlier one: COMPLETED would be said of money that was never
 * moved.
 */
import { type RailRejection } from '@pis/bank-rails';
import type { LoadedTransfer } from '@pis/commands';
import { type Payment, transferAmountMinor } from '@pis/domain';
import { CannotOpen, KeyDestroyed, type Keyring, openBankAccount, ownerOf } from '@pis/keyring';
import type pg from 'pg';
import { isOverAch, type SentTransfer } from './arrival.js';

export interface Records {
  readonly pool: pg.Pool;
  /** Opened when accounts are compared. */
  readonly keyring: () => Promise<Keyring>;
}

export interface OtherTransfer {
  /** For staff: why this payment is not settled as executed. */
  readonly refusal: string;
  /** For the client, when this payment is settled as never sent. */
  readonly rejection: RailRejection;
}

/** Null when the bank was sent this payment, as far as the records of the connection tell. @throws StoreUnavailable */
export async function otherTransfer(
  records: Records,
  transfer: LoadedTransfer,
  sent: SentTransfer,
): Promise<OtherTransfer | null> {
  const { state } = transfer;
  const isAch = await isOverAch(records.pool, sent, state);
  const sentMinor = await sentAmountMinor(records.pool, isAch, sent);
  const amountMinor = transferAmountMinor(state);
  if (sentMinor !== null && sentMinor !== amountMinor)
    return {
      refusal: `the bank was sent ${sentMinor} under this reference, and the payment has ${amountMinor} (minor units)`,
      rejection: neverSent('amount'),
    };
  if ((await isSameAccount(records, transfer, isAch, sent)) !== false) return null;
  return {
    refusal:
      "the bank was sent another account under this reference than the one of the payment's contact",
    rejection: neverSent('account'),
  };
}

async function sentAmountMinor(
  pool: pg.Pool,
  isAch: boolean,
  sent: SentTransfer,
): Promise<number | null> {
  if (isAch) {
    const { amountOfAchEntry } = await import('@pis/bank-rails/ach');
    return amountOfAchEntry(pool, sent);
  }
  const { amountOfIsoTransfer } = await import('@pis/bank-rails/iso20022');
  return amountOfIsoTransfer(pool, sent);
}

/**
 * Null when nobody can tell: the contact was erased, or the connection has no record. Null for a collection, too: it pays
 * what is owed, whatever account it came from.
 */
async function isSameAccount(
  { pool, keyring: open }: Records,
  { owner, state }: LoadedTransfer,
  isAch: boolean,
  sent: SentTransfer,
): Promise<boolean | null> {
  if (owner === 'collection') return null;
  const keyring = await open();
  const account = await contactAccountOf(state, keyring);
  if (account === null) return null;
  if (isAch) {
    const { isSameAchEntry } = await import('@pis/bank-rails/ach');
    const { paymentId, direction } = state;
    const terms = { paymentId, direction, amountMinor: transferAmountMinor(state), account };
    return isSameAchEntry({ pool, keyring }, sent, terms);
  }
  const { isToIsoAccount } = await import('@pis/bank-rails/iso20022');
  return isToIsoAccount({ pool, keyring }, sent, account);
}

async function contactAccountOf({ contact }: Payment, keyring: Keyring) {
  if (contact === null || contact.erased === true || contact.bankAccount === null) return null;
  const { bankAccount, id } = contact;
  const { subType } = bankAccount;
  try {
    return { ...(await openBankAccount(keyring, bankAccount, ownerOf.contact(id))), subType };
  } catch (error) {
    if (error instanceof KeyDestroyed || error instanceof CannotOpen) return null;
    throw error;
  }
}

/** The bank was sent another one under the reference, and may have executed that. */
const neverSent = (what: 'amount' | 'account'): RailRejection => ({
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: `The bank was sent another ${what} for this payment: find out what was paid before you create a new payment.`,
  reason:
    'This payment was not sent to the bank. An earlier one under its reference was, and may have moved funds.',
  railCode: null,
});
