/** Which rail a payment takes, and how long that rail normally needs. */
import { type Direction, type PaymentRail, unreachable } from '@pis/domain';

export interface RailRequest {
  readonly direction: Direction;
  /** Minor units. */
  readonly amountMinor: number;
  /** When the payment is created, ISO 8601: cut-off times depend on it. */
  readonly at: string;
  /** The rails the contact's bank takes part in, when known. */
  readonly participation?: readonly PaymentRail[];
}

/**
 * The rail of a new payment; recorded in its first event and never changed.
 *
 * The policy in force: every payment takes ACH. INBOUND always will (only ACH debits); OUTBOUND
 * stays on ACH because no participation data says which banks can be reached on a faster rail, and
 * every US bank account can be reached over ACH.
 */
export function selectRail(request: RailRequest): PaymentRail {
  switch (request.direction) {
    case 'INBOUND':
    case 'OUTBOUND':
      return 'ACH';
    default:
      return unreachable(request.direction);
  }
}

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
