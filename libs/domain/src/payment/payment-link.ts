/**
 * The link of a payment that was requested in the dashboard: where the counterparty enters its bank account.
 * It lives in the stream of its payment, so one decision orders its use, its cancellation and its expiry.
 *
 * Source: docs/specification.md, "Payment link (dashboard feature)".
 */
import type { EntityType, Erasable } from '../party.js';
import type { Direction } from './payment-details.js';

/** Whose account is asked for. Fixed when the link is created. */
export interface AccountHolder {
  readonly entityType: EntityType;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
}

export interface PaymentLinkRequest extends Erasable {
  /** SHA-256 of the token, hex. */
  readonly tokenDigest: string;
  /** The token, sealed under the originator's key: the dashboard shows the URL again. */
  readonly sealedToken: string;
  /** Null only when erased. */
  readonly holder: AccountHolder | null;
  /** The saved contact's ID. For an unsaved recipient a new one, which becomes the `id` of the contact. */
  readonly counterpartyId: string;
  /** The dashboard's user; null when no user created it. */
  readonly createdBy: string | null;
}

export interface PaymentLink extends PaymentLinkRequest {
  /** ISO 8601. From then on nothing can be submitted. */
  readonly expiresAt: string;
}

/** Fixed: a link is neither extended nor issued again (rule payment-link-4). */
export const linkLifetimeMs = 30 * 24 * 60 * 60 * 1000;

export function linkExpiryOf(at: string): string {
  return new Date(Date.parse(at) + linkLifetimeMs).toISOString();
}

/** What the payer's fee depends on. */
export interface PayerFeeTerms {
  readonly direction: Direction;
  readonly discountFeeMinor: number;
  readonly flatFeeMinor: number;
  readonly link: PaymentLink | null;
}

/**
 * What the transfer moves, minor units. The payer of a link pays the processing fee on top of the amount
 * (rule payment-link-17). Every other payment moves its amount.
 */
export function transferAmountMinor(
  payment: PayerFeeTerms & { readonly amountMinor: number },
): number {
  return payment.amountMinor + payerFeeMinor(payment);
}

/** The processing fee that the payer of a link pays; 0 for every other payment. */
export function payerFeeMinor({
  direction,
  discountFeeMinor,
  flatFeeMinor,
  link,
}: PayerFeeTerms): number {
  return direction === 'INBOUND' && link !== null ? discountFeeMinor + flatFeeMinor : 0;
}

/** Until schema version 2 the event had only the time of expiry. No release made such events. */
export function withLink(data: unknown): unknown {
  const { expiresAt, ...details } = data as {
    readonly expiresAt?: unknown;
    readonly contactId?: unknown;
    readonly paymentId?: unknown;
  };
  const link = {
    tokenDigest: '',
    sealedToken: '',
    holder: null,
    counterpartyId: details.contactId ?? details.paymentId,
    createdBy: null,
    expiresAt,
  };
  return { ...details, link };
}
