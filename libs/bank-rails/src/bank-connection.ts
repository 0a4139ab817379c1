/**
 * The port to the bank. What always holds, in every adapter (conformance suite:
 * `bankConnectionConformance` in `@pis/bank-rails/testing`):
 * - a transfer executes at most once per reference, however often it is submitted;
 * - the feed has one order: what was read up to a cursor never changes;
 * - BankUnavailable leaves the outcome unknown; asking again with the same reference is safe.
 */
import type { BankAccountSubType, Direction, FailureCode, PaymentRail } from '@pis/domain';

/** A bank account with its full numbers: in memory at the rail's last step, nowhere else. */
export interface FullBankAccount {
  readonly achRoutingNumber: string;
  readonly achAccountNumber: string;
  readonly swiftCode: string | null;
  readonly subType: BankAccountSubType;
}

export interface TransferInstruction {
  /** See railReferenceOf. */
  readonly reference: string;
  readonly paymentId: string;
  readonly rail: PaymentRail;
  /** From the originator's point of view. */
  readonly direction: Direction;
  /** Minor units, positive. */
  readonly amountMinor: number;
  readonly currencyCode: string;
  readonly originatorName: string;
  readonly originatorAccount: FullBankAccount;
  readonly contactName: string;
  readonly contactAccount: FullBankAccount;
}

export type ScreeningResult =
  | { readonly outcome: 'clear' }
  /** Stopped for good by the automated review. */
  | { readonly outcome: 'blocked' }
  /** Kept back until the bank releases it by hand; there is nothing to ask for. */
  | { readonly outcome: 'hold' }
  /** Still looking: ask again after this time. */
  | { readonly outcome: 'in_review'; readonly checkAgainInMs: number }
  | {
      readonly outcome: 'rejected';
      readonly failureCode: FailureCode;
      /** The rejected field, dotted; null when no field is at fault. */
      readonly field: string | null;
      /** Says what to do; names the field. */
      readonly message: string;
      readonly reason: string;
    };

export type SubmissionResult =
  | { readonly outcome: 'accepted' }
  | {
      readonly outcome: 'pending';
      /** False when the bank names no time for it: there is no deadline to miss. */
      readonly confirmationExpected: boolean;
    }
  /** Definitely not executed, now and under this reference never. */
  | { readonly outcome: 'error'; readonly message: string };

export type InquiryResult =
  | { readonly outcome: 'received' }
  /** The bank has no transfer of this reference. */
  | { readonly outcome: 'unknown' };

export const bankNotificationTypes = ['confirmed', 'returned', 'rejected'] as const;
export type BankNotificationType = (typeof bankNotificationTypes)[number];

export interface BankNotification {
  /** Where it stands in the feed; a cursor: `after: sequence` goes on behind it. Opaque. */
  readonly sequence: string;
  readonly reference: string;
  readonly type: BankNotificationType;
  /** R01 to R85 for returns; null when the bank gave none. */
  readonly returnReasonCode: string | null;
  /** ISO 8601 with milliseconds. */
  readonly at: string;
}

export interface BankNotificationPage {
  readonly notifications: readonly BankNotification[];
  /** For the next call; unchanged when there was nothing. */
  readonly cursor: string;
}

/** Before every notification. */
export const feedBeginning = '';

export interface Bank {
  /** Looks at a transfer before it is submitted; moves nothing. @throws BankUnavailable, BankRefused */
  screen(instruction: TransferInstruction): Promise<ScreeningResult>;
  /** Submits it. Again with the same reference: says how it stands. @throws BankUnavailable, BankRefused */
  submit(instruction: TransferInstruction): Promise<SubmissionResult>;
  /** Asks to look into a transfer that was not confirmed in time. @throws BankUnavailable */
  inquire(reference: string): Promise<InquiryResult>;
  /** The feed, oldest first, at most `max` (up to notificationsMax). @throws BankUnavailable */
  notifications(page: {
    readonly after: string;
    readonly max: number;
  }): Promise<BankNotificationPage>;
}

export interface BankConnection extends Bank {
  /**
   * Calls back when the feed may have something new; returns what ends it. A hint that may be
   * missing or wrong: whoever reads the feed polls as well.
   */
  onNotification(listener: () => void): () => void;
  close(): Promise<void>;
}

/** The largest page of the feed. */
export const notificationsMax = 500;

/** Wait and ask again: the bank cannot be reached or did not answer; the outcome is unknown. */
export class BankUnavailable extends Error {
  override readonly name = 'BankUnavailable';
}

/** Give up: the bank will not take this request, and has done nothing. */
export class BankRefused extends Error {
  override readonly name = 'BankRefused';
}
