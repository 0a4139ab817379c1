/**
 * Voids the ACH entries that wait for their file although their payment has ended. After the database was restored an
 * entry may be waiting again that was in a file, or that was voided so that its payment could fail. The log knows.
 */
import { paymentIdOfRailReference } from '@pis/bank-rails';
import type { WaitingEntry } from '@pis/bank-rails/ach';
import { TransferMissing, TransferStream } from '@pis/commands';
import { type Payment, unreachable } from '@pis/domain';
import { type EventStore, StoreUnavailable } from '@pis/event-store';
import type pg from 'pg';
import { CommandFailed } from '../output.js';

const pageMax = 200;
/** Streams that are read at a time. */
const readsMax = 10;
/** Payments that a refusal names. */
const namedMax = 20;

/**
 * Looks at every waiting entry of the connection. To repeat it is safe.
 * @returns how many were voided
 * @throws CommandFailed when a payment cannot be read; StoreUnavailable, connection errors of PostgreSQL
 */
export async function voidEntriesOfEndedPayments(
  { pool, store }: { readonly pool: pg.Pool; readonly store: EventStore },
  connection: string,
): Promise<number> {
  const { voidAchEntries, waitingAchEntries } = await import('@pis/bank-rails/ach');
  const payments = new TransferStream(store, 'system:cli');
  const unreadable: string[] = [];
  let voided = 0;
  for (let after = ''; ; ) {
    const page = await waitingAchEntries(pool, { bank: connection, after, max: pageMax });
    const ended: string[] = [];
    for (let from = 0; from < page.length; from += readsMax) {
      const entries = page.slice(from, from + readsMax);
      const findings = await Promise.all(entries.map((entry) => findingOf(payments, entry)));
      for (const [index, { reference }] of entries.entries()) {
        if (findings[index] === 'ended') ended.push(reference);
        else if (findings[index] !== 'under way') unreadable.push(reference);
      }
    }
    if (ended.length > 0) voided += await voidAchEntries(pool, connection, ended);
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.reference;
  }
  if (unreadable.length > 0) throw refusal(unreadable);
  return voided;
}

async function findingOf(
  payments: TransferStream,
  { reference, paymentId: named }: WaitingEntry,
): Promise<'ended' | 'under way' | 'unreadable'> {
  const paymentId = paymentIdOfRailReference(reference) ?? named;
  if (paymentId === null) return 'unreadable';
  try {
    const { state } = await payments.load(paymentId);
    return isUnderWay(state) ? 'under way' : 'ended';
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    // Nobody could follow what becomes of it.
    return error instanceof TransferMissing ? 'ended' : 'unreadable';
  }
}

/** Whether the bank may still get it. */
function isUnderWay({ status, lateRejection }: Payment): boolean {
  switch (status) {
    case 'QUEUED':
    case 'PROCESSING':
    case 'FAILED_IN_FLIGHT':
      return lateRejection === null;
    case 'AWAITING_CONFIRMATION':
    case 'COMPLETED':
    case 'RETURNED':
    case 'FAILED':
    case 'BLOCKED':
    case 'CANCELED':
      return false;
    default:
      return unreachable(status);
  }
}

function refusal(references: readonly string[]): CommandFailed {
  const names = references
    .slice(0, namedMax)
    .map((reference) => paymentIdOfRailReference(reference) ?? reference);
  const others = references.length - names.length;
  const rest = others > 0 ? ` and ${others} others` : '';
  return new CommandFailed(
    `the connection stays paused: ACH entries wait, and their payments cannot be read from the log: ${names.join(', ')}${rest}`,
  );
}
