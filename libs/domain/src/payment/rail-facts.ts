/** What the rails and the automated review do to a payment: the data of its events, beside its details. */

export const failureCodes = [
  'INVALID_ORIGINATOR_DATA',
  'INVALID_CONTACT_DATA',
  'INTERNAL_ERROR',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** The claim: from now on a transfer may be under way. */
export interface PaymentClaim {
  readonly railReference: string;
  /** Name of the connection to the bank that the transfer goes over; absent in older events. */
  readonly connection?: string;
}

export interface PaymentFailure {
  readonly failureCode: FailureCode;
  /** Actionable; for data failures it names the rejected field. */
  readonly failureMessage: string;
  /** For people. For data failures it repeats the message. */
  readonly failureReason: string;
}

/** For data failures the reason repeats the message (rule payment-19). */
export function failureOf(failure: PaymentFailure): PaymentFailure {
  return failure.failureCode === 'INTERNAL_ERROR'
    ? failure
    : { ...failure, failureReason: failure.failureMessage };
}

/** Why a rail rejected a transfer for good: no funds moved, and none will under its reference. */
export interface RailRejection {
  readonly failureCode: FailureCode;
  /** The dotted path of the rejected field of the party; null when no field is at fault. */
  readonly field: string | null;
  /** Says what to do and names the field. */
  readonly message: string;
  /** For people, when no field is at fault. */
  readonly reason: string;
  /** The rail's own code, for example AC04; null when it gave none. */
  readonly railCode: string | null;
}

/** The bank has sent the money back: a movement of its own, opposite to the payment's. */
export interface PaymentReturn {
  /** R01 to R85; null when the bank gave none. */
  readonly returnReasonCode: string | null;
  /**
   * Under which the bank has this movement in its books: the trace number of the returned ACH entry, or the return ID
   * of the pacs.004. Absent when the bank gave none, and in older events.
   */
  readonly returnReference?: string;
  /**
   * Minor units: what came back, where banks on the way kept a part. Absent when the whole transfer came back, and in
   * older events.
   */
  readonly returnedAmountMinor?: number;
}

/** The bank has sent back more of a payment that is RETURNED: over SWIFT the rest may come back apart. */
export interface LaterReturn {
  /** As of a PaymentReturn. */
  readonly returnReasonCode: string | null;
  /** The bank's own. It tells the returns of a payment apart. */
  readonly returnReference: string;
  /** Minor units: what came back with this return. All returns of a payment together are at most what was sent. */
  readonly returnedAmountMinor: number;
}

/** A notification of change: the bank executed the transfer, and says which data of the account is wrong. */
export interface PaymentCorrection {
  /** C01 to C14. */
  readonly changeCode: string;
  /** The right data, sealed under the contact's key. */
  readonly corrected: string;
}

/** What the review found about one party. The reasons may name the party. */
export interface ReviewFindings {
  /** The party's. */
  readonly id: string;
  readonly reasons: readonly string[];
}

/** Why the review blocked a payment. For staff only. */
export interface PaymentBlock {
  /** Names of the rules that matched. */
  readonly rules?: readonly string[];
  /** Without personal data. */
  readonly reasons?: readonly string[];
  readonly originator?: ReviewFindings;
  readonly contact?: ReviewFindings;
}

/** More notifications of change than a payment can have. */
export const correctionsMax = 20;

/** More returns after the first one than a payment can have. */
export const laterReturnsMax = 20;
