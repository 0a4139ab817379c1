/**
 * Payments: one row a payment, for the list. `item` is the finished list item (rule
 * list-item-1): masked by construction, since no bank account ever enters it.
 */
import type { PartyView, PaymentListItem } from '@pis/contracts';
import {
  isTransition,
  payment,
  type PaymentParty,
  type PaymentTransition,
  statusAfter,
  unreachable,
} from '@pis/domain';
import { domainEventOf } from '@pis/event-store';
import { erasedButNamedIn, repeatErasures } from './erased-parties.js';
import { paymentLinksTable } from './payment-links.projection.js';
import { laterPrefixesOf, prefixesFollowedBy } from './projected-streams.js';
import { type Projection, readTable, type ReadTableDefinition, restOfLists } from './projection.js';

export type PaymentRow = {
  readonly paymentId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  /** Of a saved contact, or the ID that its link gave to the counterparty. */
  readonly contactId: string | null;
  readonly status: string;
  readonly direction: string;
  readonly paymentRail: string;
  readonly externalPaymentId: string | null;
  readonly idempotencyKey: string | null;
  readonly createdAt: string;
  readonly revision: number;
  readonly item: PaymentListItem;
};

type Fields = Omit<PaymentRow, 'revision'>;
export type Creation = Extract<
  PaymentTransition,
  { type: 'PaymentAwaitingConfirmation' | 'PaymentQueued' }
>;

/** The row of a new payment, or of one that its counterparty has completed: the event has all fields. */
function fromDetails({ type, at, data }: Creation, row: PaymentRow | null): Fields {
  const status = statusAfter[type];
  const createdAt = row?.createdAt ?? at;
  // Until QUEUED a counterparty that is not a saved contact is not shown (spec, rule 3).
  const shown = type === 'PaymentQueued' || data.contactId !== null ? data.contact : null;
  return {
    paymentId: data.paymentId,
    organizationId: data.organizationId,
    originatorId: data.originatorId,
    contactId: data.contactId ?? counterpartyIdOf(data),
    status,
    direction: data.direction,
    paymentRail: data.paymentRail,
    externalPaymentId: data.externalPaymentId,
    idempotencyKey: data.idempotencyKey,
    createdAt,
    item: {
      paymentId: data.paymentId,
      status,
      createdAt,
      completedAt: null,
      failedAt: null,
      returnedAt: null,
      canceledAt: null,
      paymentAmount: data.amountMinor,
      discountFee: data.discountFeeMinor,
      flatFee: data.flatFeeMinor,
      returnFee: data.returnFeeMinor,
      currencyCode: data.currencyCode,
      paymentRail: data.paymentRail,
      direction: data.direction,
      paymentNote: data.paymentNote,
      externalPaymentId: data.externalPaymentId,
      failureCode: null,
      failureMessage: null,
      originator: partyItem(data.originator),
      contact: shown === null ? null : partyItem(shown),
    },
  };
}

/** Of somebody who is no saved contact: found by this ID once it is to be erased. */
export function counterpartyIdOf(data: Creation['data']): string | null {
  return 'link' in data ? data.link.counterpartyId : (data.contact?.id ?? null);
}

function partyItem(party: PaymentParty): PartyView {
  const { id, firstName, lastName, companyName, entityType } = party;
  const item = { id, firstName, lastName, companyName, entityType };
  return party.erased === true ? { ...item, erased: true } : item;
}

type Progress = Exclude<PaymentTransition, Creation>;

/** The fields that a transition changes besides the status, like `payment.evolve` of the domain. */
function progress(event: Progress): Partial<PaymentListItem> {
  switch (event.type) {
    case 'PaymentProcessing':
    case 'PaymentBlocked':
      return {};
    case 'PaymentCompleted':
      return { completedAt: event.at, failedAt: null, failureCode: null, failureMessage: null };
    case 'PaymentFailed': {
      const { failureCode, failureMessage } = event.data;
      return { failedAt: event.at, failureCode, failureMessage };
    }
    case 'PaymentFailedInFlight':
      return { failedAt: event.at };
    case 'PaymentReturned':
      return { returnedAt: event.at };
    case 'PaymentCanceled':
      return { canceledAt: event.at };
    default:
      return unreachable(event);
  }
}

export const paymentsTable: ReadTableDefinition<PaymentRow> = {
  name: 'payments',
  key: 'paymentId',
  ownsStream: true,
  columns: {
    paymentId: 'uuid',
    organizationId: 'uuid',
    originatorId: 'uuid',
    contactId: 'uuid',
    status: 'text',
    direction: 'text',
    paymentRail: 'text',
    externalPaymentId: 'text',
    idempotencyKey: 'text',
    createdAt: 'timestamptz(3)',
    revision: 'integer',
    item: 'json',
  },
  category: 'payment',
  begins: ({ revision }) => revision === 0,
  evolve(row, recorded) {
    const event = domainEventOf(payment, recorded);
    if (event.type === 'PaymentAwaitingConfirmation' || event.type === 'PaymentQueued')
      return fromDetails(event, row);
    if (row === null) throw new Error('a payment cannot begin with this event');
    if (!isTransition(event)) return row;
    const status = statusAfter[event.type];
    return { ...row, status, item: { ...row.item, ...progress(event), status } };
  },
};

/** Between the clock of a rebuild and that of an erasure. */
const clockDifferenceMaxMs = 60_000;

export const paymentsProjection: Projection = {
  name: 'payments',
  streamPrefixes: prefixesFollowedBy('payments'),
  laterPrefixes: laterPrefixesOf('payments'),
  tables: [readTable(paymentsTable), paymentLinksTable],
  ...restOfLists,
  async replacing(client, { startedAt, tableOf }) {
    const partyIds = await erasedButNamedIn(client, tableOf('payments'));
    // Rows that were copied before an erasure still have what was erased since.
    const erasedAfter = new Date(startedAt.getTime() - clockDifferenceMaxMs);
    return () => repeatErasures(client, { partyIds, erasedAfter });
  },
};
