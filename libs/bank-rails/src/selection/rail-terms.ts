/** What each rail takes, and how long it normally needs. */
import type { PaymentRail } from '@pis/domain';
import { bankingDayAfter } from '../calendar/banking-days.js';
import { daysAfter, easternTime, instantOf } from '../calendar/eastern-time.js';

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

type NormalTime = { readonly ms: number } | { readonly bankingDays: number };

/**
 * RTP and FedNow answer within seconds; a minute covers the networks' own timeouts. Fedwire settles the same day. The Nacha
 * rules settle a standard ACH entry within two banking days, and correspondents take as long for a SWIFT payment.
 */
const normalTimes = {
  ACH: { bankingDays: 2 },
  FEDNOW: { ms: 60 * secondMs },
  RTP: { ms: 60 * secondMs },
  FEDWIRE: { ms: 4 * hourMs },
  SWIFT: { bankingDays: 2 },
} as const satisfies Record<PaymentRail, NormalTime>;

/**
 * The normal time of a rail, milliseconds from submission to confirmation: PROCESSING becomes FAILED_IN_FLIGHT after it
 * (rule transition-11). Banking days end at midnight in New York, so it is longer over a weekend or a holiday.
 * @param fromMs when the bank gets the transfer, milliseconds since 1970
 */
export function normalTimeMs(rail: PaymentRail, fromMs: number): number {
  const time: NormalTime = normalTimes[rail];
  if ('ms' in time) return time.ms;
  const last = bankingDayAfter(easternTime(fromMs).date, time.bankingDays);
  return instantOf(daysAfter(last, 1), '00:00') - fromMs;
}
