/**
 * The rule for a payment that was claimed (PROCESSING): when it may be submitted, and when it may be
 * FAILED. FAILED tells the client to pay again, so it needs proof that no submission is executed, now
 * or later. Silence is no proof: it ends in FAILED_IN_FLIGHT.
 *
 * The rule rests on what the connection states (BankTerms) and on two durable facts: when the payment
 * was claimed, which is before its first submission, and when a submission was last noted, which is
 * before it is sent. All times are milliseconds since the epoch.
 */
import { unreachable } from '@pis/domain';
import type { BankTerms } from './bank-connection.js';

/** What may prove that a transfer is never executed. */
export type Evidence =
  /** The bank's definite error. */
  | 'error'
  /** The bank confirmed that it will never execute the reference. */
  | 'voided'
  /** The bank was asked, and has no such reference. */
  | 'unknown';

export interface Submissions {
  readonly claimedAtMs: number;
  /** Of the last submission that may have been sent. No other may be noted after it. */
  readonly lastNotedAtMs: number;
  /** When the bank was asked for the evidence. */
  readonly askedAtMs: number;
}

/**
 * How long after its note the bank may still accept a submission: the sender has submissionInFlightMaxMs to
 * send it, and the bank has the same time again to accept it.
 */
export function arrivalMaxMs({ submissionInFlightMaxMs }: BankTerms): number {
  return 2 * submissionInFlightMaxMs;
}

/** Whether a submission noted now is sure to arrive while the bank remembers the first one. */
export function maySubmit(terms: BankTerms, claimedAtMs: number, nowMs: number): boolean {
  return nowMs + arrivalMaxMs(terms) < claimedAtMs + terms.referenceMemoryMs;
}

/** Whether the bank still remembers the reference: without it, it does not know what it executed. */
export function remembers(
  terms: Pick<BankTerms, 'referenceMemoryMs'>,
  claimedAtMs: number,
  nowMs: number,
): boolean {
  return nowMs < claimedAtMs + terms.referenceMemoryMs;
}

/**
 * A restore of the database takes longer, with the processes that use it. A failover does not, but its connections are
 * paused, and an operator takes longer to compare and resume them.
 */
const restoreMinMs = 60_000;

/**
 * Whether the row of a transfer that was sent at this time may have been lost, if the connection never saw the reference
 * (Unseen) and is not paused. It may not if that is so short a time ago that the database cannot have been restored since.
 */
export function mayBeLost(sentAtMs: number, nowMs: number): boolean {
  return nowMs >= sentAtMs + restoreMinMs;
}

/** Whether the evidence proves that the payment is never executed, so that it is FAILED. */
export function provesFailure(
  evidence: Evidence,
  terms: BankTerms,
  { claimedAtMs, lastNotedAtMs, askedAtMs }: Submissions,
): boolean {
  switch (evidence) {
    case 'error':
    case 'voided':
      return remembers(terms, claimedAtMs, askedAtMs);
    case 'unknown':
      return (
        remembers(terms, claimedAtMs, askedAtMs) && askedAtMs >= lastNotedAtMs + arrivalMaxMs(terms)
      );
    default:
      return unreachable(evidence);
  }
}
