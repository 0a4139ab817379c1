/** Amounts, dates and words of a statement. None of them depends on the machine's language or time zone. */
import type { LineStatus } from './content.js';

/** As in the dashboard, which shows a late rejection beside the status. */
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
  REJECTED: 'Rejected by the bank',
} as const satisfies Record<LineStatus, string>;

const monthNames = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'],
  ...['October', 'November', 'December'],
];
const shortMonthLetters = 3;
const centsInUnit = 100;

/** Minor units as in 1,234.56. @throws RangeError if it is not exact */
export function money(amountMinor: number): string {
  if (!Number.isSafeInteger(amountMinor)) throw new RangeError(`not an amount: ${amountMinor}`);
  const minor = Math.abs(amountMinor);
  const cents = String(minor % centsInUnit).padStart(2, '0');
  const units = String(Math.floor(minor / centsInUnit)).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${amountMinor < 0 ? '-' : ''}${units}.${cents}`;
}

/** As in November 2026. */
export function monthName(year: number, month: number): string {
  return `${monthNames[month - 1] ?? month} ${year}`;
}

export interface Days {
  /** As in Nov 3. */
  short(at: Date): string;
  /** As in Nov 3, 2026. */
  long(at: Date): string;
}

/** @throws RangeError for an unknown time zone */
export function daysOf(timeZone: string): Days {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn' },
    ...{ year: 'numeric', month: 'numeric', day: 'numeric' },
  });
  const parts = (at: Date) => {
    const part = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, value]),
    );
    const month = (monthNames[Number(part.month) - 1] ?? '').slice(0, shortMonthLetters);
    return { year: part.year, day: `${month} ${part.day}` };
  };
  return {
    short: (at) => parts(at).day,
    long: (at) => {
      const { day, year } = parts(at);
      return `${day}, ${year}`;
    },
  };
}
