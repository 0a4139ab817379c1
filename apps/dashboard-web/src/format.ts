/** How values read: amounts in dollars, times in the reader's zone, names of statuses. */
import type { PaymentRail } from '@pis/dashboard/api';

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const minorPerDollar = 100;
const amountFormat = /^\$?\s*(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d{1,2}))?$/;

/** `$1,234.56` of 123456. */
export function money(amountMinor: number): string {
  return dollars.format(amountMinor / minorPerDollar);
}

/** Minor units of what a person typed in dollars; null if it is no amount above zero. */
export function amountMinorOf(text: string): number | null {
  const match = amountFormat.exec(text.trim());
  if (match === null) return null;
  const [, whole = '', cents = ''] = match;
  const minor = Number(whole.replaceAll(',', '')) * minorPerDollar + Number(cents.padEnd(2, '0'));
  return Number.isSafeInteger(minor) && minor > 0 ? minor : null;
}

const dateTime = new Intl.DateTimeFormat('en-US', {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
});
const date = new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'short', day: 'numeric' });

export function timeText(at: string): string {
  return dateTime.format(new Date(at));
}

const sameYear = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
});

/** `Nov 23, 12:53 AM`; in another year than the reader's `Nov 23, 2025`. */
export function shortTimeText(at: string, now = new Date()): string {
  const time = new Date(at);
  return (time.getFullYear() === now.getFullYear() ? sameYear : date).format(time);
}

export interface Named {
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
}

/** What sets the direction of the text behind it (UAX #9, explicit formatting): an amount after such a name would read backwards. */
const directions = /[\u202a-\u202e\u2066-\u2069]/g;

/** Null when the party was erased. */
export function nameOf({ firstName, lastName, companyName }: Named): string | null {
  const person = [firstName, lastName].filter((part) => part !== null && part !== '').join(' ');
  const name = companyName ?? (person === '' ? null : person);
  return name && name.replaceAll(directions, '');
}

export const directionNames = { INBOUND: 'Request', OUTBOUND: 'Send' } as const;
export const recipientTypes = { INDIVIDUAL: 'Individual', BUSINESS: 'Business' } as const;

export const statusNames = {
  AWAITING_CONFIRMATION: 'Awaiting confirmation',
  QUEUED: 'Queued',
  PROCESSING: 'Processing',
  COMPLETED: 'Completed',
  RETURNED: 'Returned',
  FAILED: 'Failed',
  FAILED_IN_FLIGHT: 'Failed in flight',
  BLOCKED: 'Blocked',
  CANCELED: 'Canceled',
} as const;

/** The compiler asks for a new rail here. */
const everyRail = {
  ACH: true,
  FEDNOW: true,
  RTP: true,
  FEDWIRE: true,
  SWIFT: true,
} as const satisfies Record<PaymentRail, true>;
export const rails = Object.keys(everyRail) as readonly PaymentRail[];

/** A status or direction of a later version reads as it is called. */
export function labelOf(names: Readonly<Record<string, string>>, name: string): string {
  return names[name] ?? name;
}
