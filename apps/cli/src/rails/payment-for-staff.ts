/** One payment or collection with what no client sees: its events, the review's reasons, and the bank's corrections, masked. */
import { type CorrectedData, correctionPlace, railReferenceOf } from '@pis/bank-rails';
import {
  collection as collections,
  contact as contacts,
  type Payment,
  payment as payments,
  type PaymentBlock,
  type PaymentCorrection,
  type PaymentStatus,
  type RailRejection,
  returnAmountsOf,
  transferAmountMinor,
  type TransferOwner,
} from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { KeyDestroyed, type Keyring, maskNumber, ownerOf, type SealedText } from '@pis/keyring';
import type pg from 'pg';
import { CommandFailed } from '../output.js';
import { prenoteOf, type ShownPrenote } from './prenotes.js';
import { type Inquiries, inquiriesOf, type Unmatched, unmatchedOf } from './in-doubt.js';

export interface PaymentForStaff {
  readonly paymentId: string;
  readonly transfer: TransferOwner;
  readonly organizationId: string;
  readonly status: PaymentStatus;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly paymentRail: string;
  readonly direction: string;
  readonly paymentAmount: number;
  /** What the bank moves: for the payer of a link also the processing fee. Minor units. */
  readonly transferAmount: number;
  /** What came back with all returns, and what banks on the way kept of the transfer. Minor units; null unless it was returned. */
  readonly returned: {
    readonly amount: number;
    readonly kept: number;
    /** The bank's own, of the first return; null when it gave none. */
    readonly reference: string | null;
    /** Returns after the first one, oldest first. */
    readonly later: readonly { readonly amount: number; readonly reference: string }[];
  } | null;
  readonly currencyCode: string;
  readonly connection: string | null;
  readonly reference: string | null;
  readonly events: readonly {
    readonly type: string;
    readonly at: string;
    readonly actor: string;
  }[];
  /** Why the review blocked it; null when it did not. */
  readonly review: PaymentBlock | null;
  readonly lateRejection: RailRejection | null;
  readonly corrections: readonly ShownCorrection[];
  /** Why it stays QUEUED, or has failed, when an entry of zero dollars checks its account. */
  readonly prenote: ShownPrenote | null;
  readonly inquiries: Inquiries | null;
  readonly unmatchedNotifications: readonly Unmatched[];
}

export interface ShownCorrection {
  readonly changeCode: string;
  /** Numbers are masked; null when the contact was erased. */
  readonly corrected: CorrectedData | null;
}

interface Stores {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
}

/** @throws CommandFailed when there is no such payment */
export async function paymentForStaff(
  { store, pool, keyring }: Stores,
  paymentId: string,
): Promise<PaymentForStaff> {
  const { owner, state, events } = await transferWithEvents(store, paymentId);
  const prenote = await prenoteOf(pool, railReferenceOf(paymentId));
  const blocked = events.find(({ type }) => type === 'PaymentBlocked');
  return {
    paymentId,
    transfer: owner,
    organizationId: state.organizationId,
    status: state.status,
    failureCode: state.failureCode,
    failureMessage: state.failureMessage,
    paymentRail: state.paymentRail,
    direction: state.direction,
    paymentAmount: state.amountMinor,
    transferAmount: transferAmountMinor(state),
    returned: returnedOf(state),
    currencyCode: state.currencyCode,
    connection: state.connection,
    reference: state.railReference,
    events: events.map(({ type, metadata }) => ({ type, at: metadata.at, actor: metadata.actor })),
    review: blocked === undefined ? null : (blocked.data as PaymentBlock),
    lateRejection: state.lateRejection,
    corrections: await correctionsOf(store, state, keyring, prenote),
    prenote,
    inquiries: await inquiriesOf(pool, paymentId),
    unmatchedNotifications: await unmatchedOf(pool, state.railReference),
  };
}

function returnedOf(state: Payment): PaymentForStaff['returned'] {
  const amounts = returnAmountsOf(state);
  if (amounts === null) return null;
  const { returnedMinor: amount, keptMinor: kept } = amounts;
  const later = state.laterReturns.map(({ returnReference, returnedAmountMinor }) => ({
    ...{ amount: returnedAmountMinor, reference: returnReference },
  }));
  return { amount, kept, reference: state.returnReference, later };
}

/** @throws CommandFailed when there is no such payment or collection */
async function transferWithEvents(store: EventStore, transferId: string) {
  for (const aggregate of [payments, collections]) {
    const found = repository(store, aggregate);
    const events = await store.readStream(found.streamIdOf(transferId));
    const { state } = found.fold(events);
    const owner: TransferOwner = aggregate === collections ? 'collection' : 'payment';
    if (state !== null) return { owner, state, events };
  }
  throw new CommandFailed(`there is no payment or collection ${transferId}`);
}

/** A correction about a prenote is on the contact alone: its payment was not submitted. */
async function correctionsOf(
  store: EventStore,
  { paymentId, contact, corrections, connection, railReference }: Payment,
  keyring: Keyring,
  prenote: ShownPrenote | null,
): Promise<readonly ShownCorrection[]> {
  const shown: ShownCorrection[] = [];
  const contactId = contact?.id ?? '';
  const owner = ownerOf.contact(contactId);
  const ofPrenote = prenote === null ? [] : await correctionOf(store, contactId, paymentId);
  const place = correctionPlace(
    connection ?? prenote?.connection ?? '',
    railReference ?? railReferenceOf(paymentId),
  );
  for (const { changeCode, corrected: sealed } of [...corrections, ...ofPrenote])
    shown.push({ changeCode, corrected: await opened(keyring, { sealed, owner, place }) });
  return shown;
}

async function correctionOf(
  store: EventStore,
  contactId: string,
  paymentId: string,
): Promise<readonly PaymentCorrection[]> {
  const { state } = await repository(store, contacts).load(contactId);
  const { correction } = state ?? { correction: null };
  return correction?.paymentId === paymentId ? [correction] : [];
}

async function opened(
  keyring: Keyring,
  { sealed, owner, place }: SealedText,
): Promise<CorrectedData | null> {
  try {
    const data = JSON.parse(await keyring.open(sealed, owner, place)) as CorrectedData;
    const { achRoutingNumber, achAccountNumber } = data;
    return {
      ...data,
      ...(achRoutingNumber !== undefined && { achRoutingNumber: maskNumber(achRoutingNumber) }),
      ...(achAccountNumber !== undefined && { achAccountNumber: maskNumber(achAccountNumber) }),
    };
  } catch (error) {
    if (error instanceof KeyDestroyed) return null;
    throw error;
  }
}
