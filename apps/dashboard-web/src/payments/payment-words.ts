/** What the events, failures and references of a payment are in words. */
import type { DashboardApi } from '@pis/dashboard/api';

export type PaymentPageData = DashboardApi['getPayment']['data'];
type Entry = PaymentPageData['timeline'][number];

const events: Readonly<Record<string, string | undefined>> = {
  PaymentAwaitingConfirmation: 'Waits for the bank details of the counterparty.',
  PaymentQueued: 'Accepted, and waits for its turn.',
  PaymentProcessing: 'Handed over for sending to the bank.',
  PaymentCompleted: 'The bank confirmed it.',
  PaymentFailed: 'It did not take place. No money moved.',
  PaymentFailedInFlight: 'The bank did not confirm it in time. The outcome is open.',
  PaymentBlocked: 'The review stopped it. No money moved.',
  PaymentReturned: 'The bank sent the money back.',
  PaymentCanceled: 'Canceled before the counterparty had confirmed.',
  PaymentCorrected: "The counterparty's bank reported data that should be changed.",
  PaymentReturnedAgain: 'The bank sent back more of the money.',
  PaymentRejectedLate: 'The bank reported later that it had rejected the payment.',
};

/** Null for an event of a later version. */
export function eventText({ type }: Entry, isFirst: boolean): string | null {
  // Behind another event, it is a link that was answered.
  if (type === 'PaymentQueued' && !isFirst) return 'The counterparty confirmed its bank details.';
  return events[type] ?? null;
}

/** `Rail reference assigned` of `RailReferenceAssigned`. */
export function spaced(type: string): string {
  const words = type.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Characters of an ID that tell keys apart. */
const idShownMax = 8;

/** An e-mail address, a key of the API, the payer, or a part of the system. */
export function actorText(actor: string, email: string | null): string {
  if (email !== null) return email;
  const [kind = '', ...rest] = actor.split(':');
  const name = rest.join(':');
  switch (kind) {
    case 'user':
      return `user ${name.slice(0, idShownMax)}`;
    case 'apiKey':
      return `API key ${name.slice(0, idShownMax)}`;
    case 'link':
      return 'the counterparty, by the link';
    case 'system':
      return `the system (${name.replaceAll('-', ' ')})`;
    case 'operator':
      return `staff (${name})`;
    default:
      return actor;
  }
}

const failures: Readonly<Record<string, string | undefined>> = {
  INVALID_CONTACT_DATA: 'The data of the counterparty must be corrected before you try again.',
  INVALID_ORIGINATOR_DATA: 'The data of the originator must be corrected before you try again.',
  INTERNAL_ERROR: 'The fault is not in your data. You may create the payment again.',
};

/** What to do about a failure. */
export function failureAdvice(failureCode: string): string | null {
  return failures[failureCode] ?? null;
}

export function railName(paymentRail: string, achService: string | null): string {
  if (achService === null) return paymentRail;
  return achService === 'same_day' ? 'Same-day ACH' : 'ACH';
}

/** Colors of the dots in the timeline. */
export function toneOf({ status }: Entry): 'good' | 'bad' | 'open' | 'plain' {
  switch (status) {
    case 'COMPLETED':
      return 'good';
    case 'FAILED':
    case 'BLOCKED':
    case 'RETURNED':
      return 'bad';
    case 'FAILED_IN_FLIGHT':
    case 'AWAITING_CONFIRMATION':
      return 'open';
    case 'QUEUED':
    case 'PROCESSING':
    case 'CANCELED':
    case null:
      return 'plain';
  }
}
