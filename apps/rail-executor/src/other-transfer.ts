/**
 * Tells a payment from an earlier one with its reference. After the log was restored, a client may create a lost payment
 * again, under its key, with another account. The bank has the earlier one alone: what it says is not true of this one, and
 * staff must look at both. Other amounts are told apart before, without the accounts.
 */
import { BankRefused } from '@pis/bank-rails';
import { CannotOpen, type Keyring } from '@pis/keyring';
import type { Banks } from './banks.js';
import { type InstructedTransfer, instructionUnlessErased } from './transfer-instruction.js';

export interface Comparison {
  readonly banks: Pick<Banks, 'of'>;
  readonly keyring: Keyring;
}

/**
 * Whether the bank has moved money to or from another account under this reference, by the records of its connection. False
 * where they do not tell, and after an erasure: nobody has the account any more. False for a collection: it pays what is
 * owed, whatever account it came from.
 * @throws BankUnavailable, StoreUnavailable
 */
export async function isOtherTransfer(
  transfer: InstructedTransfer,
  reference: string,
  { banks, keyring }: Comparison,
): Promise<boolean> {
  const { connection } = banks.of(transfer.state);
  if (connection.isSame === undefined || transfer.owner === 'collection') return false;
  try {
    const instruction = await instructionUnlessErased(transfer, reference, keyring);
    if (typeof instruction === 'string') return false;
    return (await connection.isSame(instruction)) === false;
  } catch (error) {
    // Its account cannot be read, or is none for this rail. The bank's word counts.
    if (error instanceof CannotOpen || error instanceof BankRefused) return false;
    throw error;
  }
}

/** Clocks that differ more cost a comparison of each report, and nothing else. */
const clocksDifferMs = 1_000;

/** Whether a connection recorded a transfer before its payment was claimed: only then can it be another one. */
export function isOlderThanClaim(
  recordedAt: string | null | undefined,
  claimedAt: string | null,
): boolean {
  if (recordedAt == null || claimedAt === null) return false;
  return Date.parse(recordedAt) < Date.parse(claimedAt) - clocksDifferMs;
}
