/**
 * Settles a payment by what staff found in the bank's books, where the service cannot find it out: the database was
 * restored, or the bank does not answer. The row of the transfer comes first, so that nothing is sent while the
 * payment moves. To repeat it is safe.
 */
import { paymentIdOfRailReference, railReferenceOf, type RailRejection } from '@pis/bank-rails';
import { type LoadedTransfer, TransferMissing, TransferStream } from '@pis/commands';
import {
  orderingOrganizationOf,
  type Payment,
  type PaymentCommand,
  transferAmountMinor,
  unreachable,
} from '@pis/domain';
import type { CommandContext, EventStore } from '@pis/event-store';
import { heldRows } from '@pis/postgres';
import type pg from 'pg';
import { CommandFailed } from '../output.js';
import {
  isOverAch,
  requireArrived,
  requireKnown,
  type SentTransfer,
  type TermsOf,
} from './arrival.js';
import { retryNotifications } from './notifications.js';
import { otherTransfer, type Records } from './other-transfer.js';

export const settlements = ['executed', 'never-sent'] as const;
export type Settlement = (typeof settlements)[number];

export interface Stores extends Records {
  readonly store: EventStore;
  readonly by: CommandContext;
  readonly termsOf: TermsOf;
}

export interface SettlementOrder {
  readonly paymentId: string;
  readonly as: Settlement;
  /** Needed for a payment that was never claimed and is in no row. Another one than the payment's is refused. */
  readonly connection?: string;
  /** Under which the bank has the ACH entry. */
  readonly traceNumber?: string;
}

export interface Settled {
  readonly paymentId: string;
  readonly connection: string;
  readonly reference: string;
  readonly status: string;
}

const traceForm = /^\d{15}$/;
const individualIdForm = /^[0-9A-Z]{15}$/;

/**
 * The payment that the bank knows by this end-to-end id, individual ID or trace number.
 * @throws CommandFailed when it is none of ours, or when several entries are called so
 */
export async function paymentNamed(
  pool: pg.Pool,
  name: string,
  connection: string | null,
): Promise<string> {
  const paymentId =
    paymentIdOfRailReference(name) ??
    paymentIdOfRailReference((await achReference(pool, name, connection)) ?? '');
  if (paymentId === null)
    throw new CommandFailed(
      'no payment of this system has this reference, individual ID or trace number',
    );
  return paymentId;
}

async function achReference(
  pool: pg.Pool,
  name: string,
  connection: string | null,
): Promise<string | null> {
  const { individualIdOf, referencesOfAchEntry } = await import('@pis/bank-rails/ach');
  if (traceForm.test(name)) {
    const entries = await referencesOfAchEntry(pool, { traceNumber: name }, connection);
    if (entries.length > 0) return theOnly(entries, connection);
  }
  if (!individualIdForm.test(name)) return null;
  const entries = await referencesOfAchEntry(pool, { individualId: name }, connection);
  if (entries.length > 0) return theOnly(entries, connection);
  // The entry's row may be lost. The payment is under way, and the ID tells nothing of its reference.
  const underWay = "SELECT reference FROM rail_pending WHERE rail = 'ACH'";
  for await (const { reference } of heldRows<{ reference: string }>(pool, underWay))
    if (individualIdOf(reference) === name) return reference;
  return null;
}

function theOnly([reference, ...others]: readonly string[], connection: string | null) {
  if (others.length > 0)
    throw new CommandFailed(
      connection === null
        ? 'several ACH entries have this number: give --connection, or name the payment with --payment'
        : 'several ACH entries of this connection have this number: name the payment with --payment',
    );
  return reference ?? null;
}

/** @throws CommandFailed when the payment's status or what the bank has said does not allow it */
export async function settlePayment(stores: Stores, order: SettlementOrder): Promise<Settled> {
  const { store, pool, by } = stores;
  const payments = new TransferStream(store, by.actor);
  const transfer = await payments.load(order.paymentId).catch((error: unknown) => {
    throw error instanceof TransferMissing ? new CommandFailed(error.message) : error;
  });
  const { state } = transfer;
  const connection = await connectionOf(pool, state, order);
  const reference = state.railReference ?? railReferenceOf(state.paymentId);
  const claim = { railReference: reference, connection };
  const other = await otherTransfer(stores, transfer, { connection, reference });
  const rejection = other === null ? neverArrived : other.rejection;
  // Refuses before anything is written.
  const planned = commandsFor(state, order.as, claim, rejection);
  if (state.status !== 'FAILED_IN_FLIGHT' && planned.length > 0)
    await requirePause(pool, connection);
  if (order.as === 'never-sent' && planned.length > 0)
    await requireArrived(pool, state, { connection, reference }, stores.termsOf);
  const { as, traceNumber = null } = order;
  if (as === 'executed' && planned.length > 0 && other !== null)
    throw new CommandFailed(other.refusal);
  const finding = { connection, reference, as, traceNumber, isOther: other !== null };
  await settleRow(pool, transfer, finding);
  const cause = by.causationId === null ? {} : { eventId: by.causationId };
  const settled = await payments.apply(state.paymentId, cause, (current) =>
    commandsFor(current, order.as, claim, rejection),
  );
  await pool.query('DELETE FROM rail_pending WHERE payment_id = $1', [state.paymentId]);
  // A return may wait for the payment, and be tried no more after three days.
  await retryNotifications(pool, reference);
  return { paymentId: state.paymentId, connection, reference, status: settled.state.status };
}

/**
 * The claim's, or else that of the payment's row, or else the one given.
 * @throws CommandFailed when another one is given
 */
async function connectionOf(
  pool: pg.Pool,
  payment: Payment,
  { connection: given }: SettlementOrder,
): Promise<string> {
  const known = payment.connection ?? (await connectionUnderWay(pool, payment.paymentId));
  if (known !== null) {
    if (given !== undefined && given !== known)
      throw new CommandFailed(`the payment goes over the connection ${known}`);
    return known;
  }
  if (given === undefined)
    throw new CommandFailed('the payment names no connection: give --connection');
  const reference = payment.railReference ?? railReferenceOf(payment.paymentId);
  await requireKnown(pool, { connection: given, reference }, payment);
  return given;
}

async function connectionUnderWay(pool: pg.Pool, paymentId: string): Promise<string | null> {
  const { rows } = await pool.query<{ connection: string }>(
    "SELECT connection FROM rail_pending WHERE payment_id = $1 AND connection <> ''",
    [paymentId],
  );
  return rows[0]?.connection ?? null;
}

/** An executor may be about to send it. */
async function requirePause(pool: pg.Pool, connection: string): Promise<void> {
  const { readPauses } = await import('@pis/bank-rails/connections');
  if (!(await readPauses(pool, [connection])).has(connection))
    throw new CommandFailed(
      `the payment is under way: run "pis rails pause --connection ${connection}" first`,
    );
}

/** None when it is settled so already. @throws CommandFailed */
function commandsFor(
  { status, lateRejection }: Payment,
  as: Settlement,
  claim: { readonly railReference: string; readonly connection: string },
  rejection: RailRejection,
): readonly PaymentCommand[] {
  const at = new Date().toISOString();
  const complete: PaymentCommand = { type: 'CompletePayment', at, data: {} };
  const refused = () =>
    new CommandFailed(`the payment is ${status}: it cannot be settled as ${as}`);
  switch (status) {
    case 'QUEUED':
      if (as === 'executed') return [{ type: 'ProcessPayment', at, data: claim }, complete];
      throw new CommandFailed(
        'the payment is QUEUED: it is sent when its connection is resumed, and needs no settlement',
      );
    case 'PROCESSING':
      return [
        as === 'executed' ? complete : { type: 'FailPayment', at, data: failureBy(rejection) },
      ];
    case 'FAILED_IN_FLIGHT':
      if (as === 'executed') return [complete];
      return lateRejection === null ? [{ type: 'RejectPaymentLate', at, data: rejection }] : [];
    case 'COMPLETED':
    case 'RETURNED':
      if (as === 'executed') return [];
      throw refused();
    case 'FAILED':
      if (as === 'never-sent') return [];
      throw refused();
    case 'AWAITING_CONFIRMATION':
    case 'BLOCKED':
    case 'CANCELED':
      throw refused();
    default:
      return unreachable(status);
  }
}

const neverArrived: RailRejection = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: 'The payment did not reach the bank: create a new payment.',
  reason: 'The bank does not have the payment. No funds were moved.',
  railCode: null,
};
const failureBy = ({ message, reason }: RailRejection) =>
  ({ failureCode: 'INTERNAL_ERROR', failureMessage: message, failureReason: reason }) as const;

interface Finding extends SentTransfer {
  readonly as: Settlement;
  readonly traceNumber: string | null;
  /** Whether the bank was sent another amount or account under the reference. Then its answer is about that one. */
  readonly isOther: boolean;
}

/** @throws CommandFailed when the bank has said something else of this payment */
async function settleRow(pool: pg.Pool, transfer: LoadedTransfer, finding: Finding): Promise<void> {
  const rowStatus = (await isOverAch(pool, finding, transfer.state))
    ? await settleAch(pool, transfer, finding)
    : await settleMessage(pool, finding);
  if (finding.as === 'never-sent' && rowStatus === 'filed')
    throw new CommandFailed(
      'its file is not sent yet: it goes out when the bank can be reached; to give the file up, see PisAchFileNotSent in docs/runbooks/rails.md',
    );
  const isExecuted = rowStatus === 'accepted' || rowStatus === 'returned';
  if (isExecuted && finding.isOther) return;
  if (isExecuted !== (finding.as === 'executed'))
    throw new CommandFailed(`the bank has answered for this payment: its row is '${rowStatus}'`);
}

async function settleAch(
  pool: pg.Pool,
  { owner, state: payment }: LoadedTransfer,
  { connection, reference, as, traceNumber }: Finding,
): Promise<string | null> {
  const { settleAchEntry } = await import('@pis/bank-rails/ach');
  const { paymentId, originator, contact, direction } = payment;
  if (contact === null) throw new CommandFailed('the payment has no contact');
  const amountMinor = transferAmountMinor(payment);
  const entry = {
    ...{ bank: connection, reference, paymentId, direction },
    organizationId: orderingOrganizationOf(owner, payment),
    originatorId: originator.id,
    ...{ amountMinor, traceNumber, contactId: contact.id },
    contactIsBusiness: contact.entityType === 'BUSINESS',
  };
  return settleAchEntry(pool, entry, as);
}

async function settleMessage(pool: pg.Pool, finding: Finding): Promise<string | null> {
  const { settleIsoTransfer } = await import('@pis/bank-rails/iso20022');
  return settleIsoTransfer(pool, finding, finding.as);
}
