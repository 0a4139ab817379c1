/** What a payment is: the data of its first event. */
import type { PaymentParty } from '../party.js';
import type { PaymentRail, RailDecision } from './payment-rail.js';

export const directions = ['INBOUND', 'OUTBOUND'] as const;
export type Direction = (typeof directions)[number];

/** The two people behind a payment that needed an approval: users of the dashboard. */
export interface PaymentApproval {
  readonly requestedBy: string;
  readonly approvedBy: string;
}

/** Everything a payment needs forever, as it was at creation. Amounts are minor units. */
export interface PaymentDetails {
  readonly paymentId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  /** Null when the counterparty of a dashboard payment is not a saved contact. */
  readonly contactId: string | null;
  readonly amountMinor: number;
  readonly discountFeeMinor: number;
  readonly flatFeeMinor: number;
  readonly returnFeeMinor: number;
  readonly currencyCode: string;
  readonly paymentRail: PaymentRail;
  /** How the rail was chosen. Absent in payments of older releases, and while the counterparty's bank is unknown. */
  readonly railDecision?: RailDecision;
  readonly direction: Direction;
  readonly paymentNote: string | null;
  readonly externalPaymentId: string | null;
  /** The Idempotency-Key that created it; null for dashboard payments. */
  readonly idempotencyKey: string | null;
  /** Absent for a payment that needed none. */
  readonly approval?: PaymentApproval;
  /** Of a collection that is presented again: the one that was returned before it. Absent everywhere else. */
  readonly reinitiates?: string;
  /** Always with its bank account. */
  readonly originator: PaymentParty;
  /** With its bank account from QUEUED on; null while an unsaved counterparty has not answered. */
  readonly contact: PaymentParty | null;
}

/** The details alone, of a payment that has more. */
export function detailsOf(payment: PaymentDetails): PaymentDetails {
  return {
    paymentId: payment.paymentId,
    organizationId: payment.organizationId,
    originatorId: payment.originatorId,
    contactId: payment.contactId,
    amountMinor: payment.amountMinor,
    discountFeeMinor: payment.discountFeeMinor,
    flatFeeMinor: payment.flatFeeMinor,
    returnFeeMinor: payment.returnFeeMinor,
    currencyCode: payment.currencyCode,
    paymentRail: payment.paymentRail,
    ...(payment.railDecision === undefined ? {} : { railDecision: payment.railDecision }),
    direction: payment.direction,
    paymentNote: payment.paymentNote,
    externalPaymentId: payment.externalPaymentId,
    idempotencyKey: payment.idempotencyKey,
    ...(payment.approval === undefined ? {} : { approval: payment.approval }),
    ...(payment.reinitiates === undefined ? {} : { reinitiates: payment.reinitiates }),
    originator: payment.originator,
    contact: payment.contact,
  };
}
