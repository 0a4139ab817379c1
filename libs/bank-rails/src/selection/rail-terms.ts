/** What each rail takes, and how long it normally needs. */
import type { PaymentRail } from '@pis/domain';

const dollarsMinor = 100;

/**
 * The most that one payment on a rail may move, minor units. RTP: The Clearing House, since February 2025.
 * FedNow: the Federal Reserve, since November 2025. ACH: the amount of an entry has ten digits (Nacha
 * Operating Rules, Appendix Three). Fedwire: the amount has twelve digits; SWIFT has no limit of its own, so
 * the API's is below both.
 */
export const railLimitMinor = {
  ACH: 99_999_999_99,
  FEDNOW: 10_000_000 * dollarsMinor,
  RTP: 10_000_000 * dollarsMinor,
  FEDWIRE: 9_999_999_999_99,
  SWIFT: 9_999_999_999_99,
} as const satisfies Record<PaymentRail, number>;

/** The limit of a same-day ACH entry (Nacha Operating Rules, since March 2022). */
export const sameDayLimitMinor = 1_000_000 * dollarsMinor;

/**
 * Rails that need the contact's postal address, as their message profiles do (docs/rails-iso20022.md). SWIFT
 * takes structured or hybrid addresses only, since November 2026 (CBPR+).
 */
export const needsAddress = {
  ACH: false,
  FEDNOW: false,
  RTP: false,
  FEDWIRE: false,
  SWIFT: true,
} as const satisfies Record<PaymentRail, boolean>;

const secondMs = 1000;
const hourMs = 3600 * secondMs;

/**
 * The normal time of each rail, milliseconds from submission to confirmation: PROCESSING becomes
 * FAILED_IN_FLIGHT after it (rule transition-11). ACH: two banking days (the Nacha
 * rules settle a standard entry within them). RTP and FedNow answer within seconds; a minute covers
 * the networks' own timeouts. Fedwire settles the same day. SWIFT: two days for correspondents.
 */
export const normalTimeMs = {
  ACH: 48 * hourMs,
  FEDNOW: 60 * secondMs,
  RTP: 60 * secondMs,
  FEDWIRE: 4 * hourMs,
  SWIFT: 48 * hourMs,
} as const satisfies Record<PaymentRail, number>;
