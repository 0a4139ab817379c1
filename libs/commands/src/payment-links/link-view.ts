/** A payment as its counterparty sees it on the page of its link. */
import {
  type Direction,
  type EntityType,
  type LogoRecord,
  payerFeeMinor,
  type Payment,
  type PaymentLink,
  type PaymentStatus,
} from '@pis/domain';
import type { OrganizationProfile } from './organization-profiles.js';

export type LinkState = 'open' | 'submitted' | 'expired';

export interface LinkPayment {
  readonly organizationName: string;
  /** Null without one. */
  readonly organizationLogo: LogoRecord | null;
  /** Null only when erased. */
  readonly originatorName: string | null;
  /** Null only when erased. */
  readonly holder: { readonly entityType: EntityType; readonly name: string } | null;
  readonly direction: Direction;
  readonly status: PaymentStatus;
  /** When the status was reached. ISO 8601. */
  readonly statusAt: string;
  /** Without the fee. Minor units. */
  readonly amountMinor: number;
  /** What the counterparty pays on top of the amount; 0 for an OUTBOUND payment. */
  readonly payerFeeMinor: number;
  readonly paymentNote: string | null;
  /** The bank of the submitted account; null before. */
  readonly bankName: string | null;
  readonly expiresAt: string;
}

/** All that an expired link shows: who created it, and the direction. */
export type ExpiredLinkPayment = Pick<
  LinkPayment,
  'organizationName' | 'organizationLogo' | 'originatorName' | 'direction'
>;

export type FoundLink = {
  readonly paymentId: string;
  readonly organizationId: string;
  /** Whom the record of visits is sealed for. */
  readonly counterpartyId: string;
} & (
  | { readonly state: 'open'; readonly payment: LinkPayment }
  | { readonly state: 'submitted'; readonly payment: LinkPayment }
  | { readonly state: 'expired'; readonly payment: ExpiredLinkPayment }
);

export interface LinkedPayment extends Payment {
  readonly link: PaymentLink;
}

export function foundLink(
  payment: LinkedPayment,
  { at, organization }: { readonly at: string; readonly organization: OrganizationProfile },
): FoundLink {
  const { link, originator, contact, direction } = payment;
  const ids = {
    paymentId: payment.paymentId,
    organizationId: payment.organizationId,
    counterpartyId: link.counterpartyId,
  };
  const state = stateAt(payment, at);
  const originatorName = originator.erased === true ? null : nameOf(originator);
  const { name: organizationName, logo: organizationLogo } = organization;
  const creator = { organizationName, organizationLogo, originatorName, direction };
  if (state === 'expired') return { ...ids, state, payment: creator };
  return {
    ...ids,
    state,
    payment: {
      ...creator,
      holder: link.holder && { entityType: link.holder.entityType, name: nameOf(link.holder) },
      status: payment.status,
      statusAt: payment.statusAt,
      amountMinor: payment.amountMinor,
      payerFeeMinor: payerFeeMinor(payment),
      paymentNote: payment.paymentNote,
      bankName: contact?.bankAccount?.bankName ?? null,
      expiresAt: link.expiresAt,
    },
  };
}

/** A link that was used is a page about the status, until it expires. */
export function stateAt({ status, link }: LinkedPayment, at: string): LinkState {
  if (at >= link.expiresAt) return 'expired';
  return status === 'AWAITING_CONFIRMATION' ? 'open' : 'submitted';
}

function nameOf({
  firstName,
  lastName,
  companyName,
}: Pick<Payment['originator'], 'firstName' | 'lastName' | 'companyName'>): string {
  return companyName ?? [firstName, lastName].filter(Boolean).join(' ');
}
