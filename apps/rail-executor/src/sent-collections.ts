/**
 * Collections that a restored log does not know. After the log was restored from an older backup, a month may be closed
 * again with another sum, because events are lost. Its collection then has the ID and the reference of one that was
 * sent with the earlier sum. The answer of the bank to that one is no answer to this one, and sending this one, too,
 * would debit the originator a second time.
 */
import type { LoadedTransfer } from '@pis/commands';
import { type PaymentCommand, transferAmountMinor } from '@pis/domain';
import type { Banks } from './banks.js';
import type { Transfer } from './pending-transfers.js';

export interface SentCollection {
  readonly connection: string;
  /** Minor units. */
  readonly sentMinor: number;
  /** Of the collection in the log. Minor units. */
  readonly amountMinor: number;
}

/**
 * What a connection has a record of under the reference of this collection, with another amount; null when there is
 * nothing of that kind. @throws BankUnavailable
 */
export async function sentWithOtherAmount(
  { owner, state }: LoadedTransfer,
  { reference }: Pick<Transfer, 'reference'>,
  banks: Pick<Banks, 'all'>,
): Promise<SentCollection | null> {
  if (owner !== 'collection') return null;
  const amountMinor = transferAmountMinor(state);
  for (const { name, connection } of banks.all) {
    const sentMinor = (await connection.recordedAmountMinor?.(reference)) ?? null;
    if (sentMinor !== null && sentMinor !== amountMinor)
      return { connection: name, sentMinor, amountMinor };
  }
  return null;
}

/** Blocks it: its period is given up, staff are told, and only they can start another collection. */
export function blockedAsSent({
  connection,
  sentMinor,
  amountMinor,
}: SentCollection): PaymentCommand {
  const reasons = [
    `the connection ${connection} has a record of this collection over ${sentMinor} cents, not ${amountMinor}: the log was restored, and the bank may have debited the other amount`,
  ];
  return { type: 'BlockPayment', at: new Date().toISOString(), data: { reasons } };
}
