/**
 * Collections that a restored log does not know. After the log was restored from an older backup, a month may be closed
 * again with another sum, because events are lost. Its collection then has the ID and the reference of one that was
 * submitted with the earlier sum. The answer of the bank to that one is no answer to this one, and sending this one, too,
 * would debit the originator a second time. Nor is one collected that the bank has returned: it tells the return once.
 */
import type { LoadedTransfer } from '@pis/commands';
import { collectionSentBefore, type PaymentCommand, transferAmountMinor } from '@pis/domain';
import type { Banks } from './banks.js';
import type { Transfer } from './pending-transfers.js';

/** How a collection ends because of the record of an earlier one. */
export interface EarlierCollection {
  readonly command: PaymentCommand;
  /** For the log. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/**
 * How this collection ends because a connection has a record of an earlier one under its reference; null when it goes on:
 * there is none, or it is this one. What has not left is voided first.
 * @throws BankUnavailable, BankRefused; ConnectionPaused while it may have left unknown to this database
 */
export async function recordBefore(
  { owner, state }: LoadedTransfer,
  { reference }: Pick<Transfer, 'reference'>,
  banks: Pick<Banks, 'all' | 'requireRecords'>,
): Promise<EarlierCollection | null> {
  if (owner !== 'collection') return null;
  const amountMinor = transferAmountMinor(state);
  for (const { name, connection } of banks.all) {
    let record = (await connection.recordOf?.(reference)) ?? null;
    if (record?.status === 'waiting' && record.amountMinor !== amountMinor) {
      await banks.requireRecords();
      await connection.void(reference);
      // It may have left meanwhile.
      record = (await connection.recordOf?.(reference)) ?? null;
    }
    if (record === null) continue;
    const { status, amountMinor: sentMinor } = record;
    const facts = { connection: name, status, sentMinor, amountMinor };
    if (status === 'voided') return { ...neverSent(), facts };
    if (sentMinor !== amountMinor)
      return {
        ...sentBefore(facts),
        facts,
        message: 'a collection was sent before with another amount',
      };
    if (status === 'returned')
      return { ...sentBefore(facts), facts, message: 'a collection was returned before' };
  }
  return null;
}

/** The period starts another one by itself. */
function neverSent(): Pick<EarlierCollection, 'command' | 'message'> {
  const data = {
    failureCode: 'INTERNAL_ERROR',
    failureMessage: 'The collection was not sent.',
    failureReason: 'the entry of an earlier collection under this reference was voided',
  } as const;
  const command = { type: 'FailPayment', at: new Date().toISOString(), data } as const;
  return { command, message: 'a collection was submitted before, and was voided unsent' };
}

/** Its period is given up, staff are told, and only they can start another collection. */
function sentBefore(facts: {
  readonly connection: string;
  readonly status: string;
  readonly sentMinor: number | null;
  readonly amountMinor: number;
}): Pick<EarlierCollection, 'command'> {
  const { connection, status, sentMinor, amountMinor } = facts;
  const reasons = [
    `the log was restored, and the connection ${connection} has a record of this collection as ${status}: over ${sentMinor} cents, here ${amountMinor}`,
  ];
  const data = { rules: [collectionSentBefore], reasons };
  return { command: { type: 'BlockPayment', at: new Date().toISOString(), data } };
}
