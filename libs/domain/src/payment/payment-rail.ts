/** The rails, and how the rail of a payment was chosen. */

export const paymentRails = ['ACH', 'FEDNOW', 'RTP', 'FEDWIRE', 'SWIFT'] as const;
export type PaymentRail = (typeof paymentRails)[number];

/** How fast an ACH entry settles. */
export const achServices = ['same_day', 'standard'] as const;
export type AchService = (typeof achServices)[number];

/** Why a rail was not chosen. */
export const railRejectionCodes = [
  /** Money is collected by ACH alone. */
  'direction_not_supported',
  /** The account is outside the US. */
  'account_outside_us',
  /** The account is in the US, or has no SWIFT code. */
  'account_in_us',
  /** No bank of this system takes payments of this rail. */
  'rail_not_connected',
  'rail_not_allowed',
  'bank_not_reachable',
  'address_required',
  'amount_above_rail_limit',
  'amount_above_organization_limit',
  'closed_at_this_time',
  /** Only for amounts that cheaper rails of the same day do not take. */
  'cheaper_rail_on_same_day',
  /** It could take the payment, but comes after the chosen one. */
  'not_preferred',
] as const;
export type RailRejectionCode = (typeof railRejectionCodes)[number];

export interface RejectedRail {
  readonly paymentRail: PaymentRail;
  /** Null for other rails than ACH. */
  readonly achService: AchService | null;
  readonly code: RailRejectionCode;
}

/** Recorded with the payment, without personal data. The chosen rail is the payment's `paymentRail`. */
export interface RailDecision {
  /** Null for other rails than ACH. */
  readonly achService: AchService | null;
  /** False when no rail can take the payment. It then fails before anything is sent. */
  readonly isPossible: boolean;
  /** ISO 8601; null when it is not possible. */
  readonly expectedSettlementAt: string | null;
  /** By when the bank must have it to settle then; null without a cutoff. ISO 8601. */
  readonly nextCutoffAt: string | null;
  /** Each way that was not chosen. */
  readonly rejected: readonly RejectedRail[];
}

export const railPreferences = ['fastest', 'cheapest'] as const;
export type RailPreference = (typeof railPreferences)[number];

/** An organization's settings for the selection of rails. */
export interface RailSettings {
  readonly allowedRails: readonly PaymentRail[];
  readonly preference: RailPreference;
  /** The most that a payment on this rail may move, minor units; a rail without an entry has its own limit alone. */
  readonly limitsMinor: Readonly<Partial<Record<PaymentRail, number>>>;
}
