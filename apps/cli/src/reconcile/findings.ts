/** What reconciliation says: of entries of the bank, of transfers of ours, and of the files themselves. */
import type { PaymentRail } from '@pis/domain';

/** Days, both inclusive. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

/** In the order in which findings come. */
export const findingKinds = [
  'matched',
  /** The bank has not booked it yet, and it is open here, too. */
  'pending',
  /** The files have the entry, and it is about no transfer of ours. */
  'missingHere',
  'differing',
  /** One more entry for a movement that has one already. */
  'duplicates',
  /** We have the movement, and the files do not. */
  'missingAtBank',
] as const;
export type FindingKind = (typeof findingKinds)[number];

/** With these kinds alone, the books agree. */
export const agreeing: readonly FindingKind[] = ['matched', 'pending'];

export interface BankSide {
  readonly file: string;
  readonly line: number;
  readonly account: string;
  readonly bankReference: string | null;
  readonly traceNumber: string | null;
  readonly side: 'credit' | 'debit';
  readonly amount: number;
  readonly status: 'booked' | 'pending';
  readonly bookedOn: string;
  readonly returnReasonCode: string | null;
}

export interface OurSide {
  /** Of the bank's account, where the bank should book it. */
  readonly side: 'credit' | 'debit';
  readonly amount: number;
  /** Of the payment or collection. */
  readonly status: string;
  /** Of the rail's acknowledgement on record. */
  readonly acknowledgement: string | null;
  /** When the movement was recorded; null while there is none. */
  readonly at: string | null;
  readonly returnReasonCode: string | null;
}

export interface Finding {
  readonly kind: FindingKind;
  readonly reference: string | null;
  readonly movement: 'transfer' | 'return';
  readonly rail: PaymentRail | null;
  readonly paymentId: string | null;
  readonly collectionId: string | null;
  readonly organizationId: string | null;
  readonly originatorId: string | null;
  /** Of a differing one: amount, side, date, status, returnReasonCode. */
  readonly differs: readonly string[];
  readonly bank: BankSide | null;
  readonly ours: OurSide | null;
}

/** A file says one thing in two places, and they differ. */
export interface Contradiction {
  readonly file: string;
  readonly line: number;
  readonly what: string;
  readonly stated: string;
  readonly found: string;
}
