/**
 * The port to the bank. What always holds, in every adapter (conformance suite:
 * `bankConnectionConformance` in `@pis/bank-rails/testing`):
 * - a transfer executes at most once per reference, however often it is submitted, for as long as the
 *   bank remembers the reference (BankTerms);
 * - a voided reference is never executed, also when a submission arrives after the void;
 * - the feed has one order: what was read up to a cursor never changes;
 * - BankUnavailable leaves the outcome unknown; asking again with the same reference is safe within
 *   the bank's memory.
 * When a claimed payment may be submitted or FAILED follows from this: submission-rule.ts.
 */
import type {
  AchService,
  BankAccountSubType,
  Direction,
  EntityType,
  LegalAddress,
  PaymentRail,
  RailRejection,
} from '@pis/domain';

export type { RailRejection } from '@pis/domain';

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
  readonly organizationId: string;
  readonly rail: PaymentRail;
  /** How fast the ACH operator settles the entry; null on other rails, and where the payment does not say. */
  readonly achService: AchService | null;
  /** From the originator's point of view. */
  readonly direction: Direction;
  /** Minor units, positive. */
  readonly amountMinor: number;
  readonly currencyCode: string;
  /** Whether it presents an ACH debit again that was returned for R01 or R09. */
  readonly isReinitiation?: boolean | undefined;
  /** When the payment was created, ISO 8601. The same in every submission. */
  readonly createdAt: string;
  readonly note: string | null;
  readonly originatorId: string;
  readonly originatorEntityType: EntityType;
  readonly originatorName: string;
  /** As it was when the payment was created. */
  readonly originatorAddress: LegalAddress | null;
  readonly originatorAccount: FullBankAccount;
  readonly contactId: string;
  readonly contactEntityType: EntityType;
  readonly contactName: string;
  readonly contactAddress: LegalAddress | null;
  readonly contactAccount: FullBankAccount;
}

export type SubmissionResult =
  | { readonly outcome: 'accepted' }
  | {
      readonly outcome: 'pending';
      /** False when the bank names no time for it: there is no deadline to miss. */
      readonly confirmationExpected: boolean;
    }
  /** Definitely not executed, and never will be under this reference. */
  | { readonly outcome: 'error'; readonly rejection: RailRejection };

/**
 * A connection may answer from its own rows. This says that it had none: nobody asked the bank, and a restore of the
 * database may have lost the row of a transfer that was sent.
 */
interface Unseen {
  readonly isUnseen?: boolean;
}

export type InquiryResult =
  /**
   * The rail has accepted it. The amount, minor units, is as in BankNotification. Where it is absent or null, the records of
   * the connection count, if it keeps them.
   */
  | { readonly outcome: 'accepted'; readonly sentAmountMinor?: number | null | undefined }
  /** The bank has it and investigates it. The feed reports the outcome. */
  | { readonly outcome: 'received' }
  /** Definitely not executed, and never will be under this reference. */
  | ({ readonly outcome: 'error'; readonly rejection: RailRejection } & Unseen)
  /** The bank has no transfer of this reference: it never came, is still under way, or was forgotten. */
  | ({ readonly outcome: 'unknown' } & Unseen);

export type VoidResult =
  /** Never executed: later arrivals under this reference are answered with 'error'. */
  | ({ readonly outcome: 'voided' } & Unseen)
  /** Too late: the bank has accepted it. */
  | { readonly outcome: 'received' }
  /** The bank does not offer it. */
  | { readonly outcome: 'unable' };

/** What a connection states about itself. */
export interface BankTerms {
  /**
   * The longest time, in milliseconds, from a call of `submit` until the bank can no longer take that
   * submission. Counts our own timeouts, the network and the bank's queues, not the caller's answer.
   */
  readonly submissionInFlightMaxMs: number;
  /**
   * How long the bank remembers a reference after its first submission, in milliseconds. Later it
   * would execute the same reference again, and answers about it mean nothing.
   */
  readonly referenceMemoryMs: number;
}

/** The simulated bank's terms. A real connection states its bank's contract. */
export const simulatedBankTerms: BankTerms = {
  submissionInFlightMaxMs: 600_000,
  referenceMemoryMs: 90 * 24 * 3_600_000,
};

/** Whether a transfer that was not submitted yet may be. */
export type Readiness =
  | { readonly outcome: 'ready' }
  /** Ask again at this time, milliseconds since the epoch; soon when it is null. */
  | { readonly outcome: 'wait'; readonly untilMs: number | null }
  /** It must not be. Nothing was sent under its reference. */
  | { readonly outcome: 'error'; readonly rejection: RailRejection };

/**
 * `held`: the bank has it and names no time for it, so there is no deadline to miss. `prenote`: what became of a prenote
 * that the transfer waits for; it was not submitted, and `prepare` says whether it may be.
 */
export const bankNotificationTypes = [
  'confirmed',
  'returned',
  'rejected',
  'corrected',
  'held',
  'prenote',
] as const;
export type BankNotificationType = (typeof bankNotificationTypes)[number];

/** What a notification of change says the right data are. A field that was right is absent. */
export interface CorrectedData {
  readonly achRoutingNumber?: string;
  readonly achAccountNumber?: string;
  readonly subType?: BankAccountSubType;
  readonly name?: string;
  /** What the bank wrote, where it is none of these. */
  readonly other?: string;
}

export interface BankCorrection {
  /** C01 to C14. */
  readonly changeCode: string;
  /**
   * CorrectedData as JSON, sealed by the connection under the contact's key (keyring: ownerOf.contact), for the place
   * that correctionPlace names.
   */
  readonly corrected: string;
}

/** Where a correction is sealed for: it opens for no other payment. */
export function correctionPlace(connection: string, reference: string): string {
  return `ach-correction/${connection}/${reference}`;
}

/** What came back of a transfer, as the bank says it. */
export interface ReturnedAmount {
  /** Minor units. */
  readonly amountMinor: number;
  readonly currencyCode: string;
}

export interface BankNotification {
  /** Its position in the feed, an opaque cursor: `after: sequence` continues behind it. */
  readonly sequence: string;
  readonly reference: string;
  /**
   * `unreadable`: a notification in an unknown form. One with a returned amount is a return that does not fit the
   * transfer as the connection sent it.
   */
  readonly type: BankNotificationType | 'unreadable';
  /** R01 to R85 for returns; null when the bank gave none. */
  readonly returnReasonCode: string | null;
  /** Of a return, when the bank names one: see PaymentReturn of the domain. Otherwise null. */
  readonly returnReference: string | null;
  /** Of a return, when the bank names it. Null: the whole transfer came back. */
  readonly returnedAmount: ReturnedAmount | null;
  /** Of a rejection, when the bank says why; otherwise null. */
  readonly rejection: RailRejection | null;
  /**
   * The amount of the transfer that has this reference, minor units, as the connection recorded it when it was sent, or as the
   * bank says. It is the amount of another payment if the log was restored, and a client has created a lost payment again
   * with another amount. Null where it is not known.
   */
  readonly sentAmountMinor: number | null;
  /**
   * When the connection recorded the transfer, ISO 8601. It is before the claim of its payment if the log was restored, and a client
   * has created a lost payment again. Absent or null where it is not known.
   */
  readonly recordedAt?: string | null | undefined;
  /** Of a correction; otherwise null. */
  readonly correction: BankCorrection | null;
  /** ISO 8601 with milliseconds. */
  readonly at: string;
}

export interface BankNotificationPage {
  readonly notifications: readonly BankNotification[];
  /** For the next call; unchanged at the end of the feed. It may move on over what says nothing. */
  readonly cursor: string;
  /** Whether the next page should be read at once. Absent: if there are `max` notifications on this one. */
  readonly mayHaveMore?: boolean;
}

/** Before every notification. */
export const feedBeginning = '';

export interface Bank {
  readonly terms: BankTerms;
  /** Submits it. If repeated, returns the transfer's status. @throws BankUnavailable, BankRefused */
  submit(instruction: TransferInstruction): Promise<SubmissionResult>;
  /** Asks for a transfer's status, and asks the bank to investigate it. @throws BankUnavailable, BankRefused */
  inquire(reference: string): Promise<InquiryResult>;
  /** Asks never to execute the reference, whether it is known or not. @throws BankUnavailable, BankRefused */
  void(reference: string): Promise<VoidResult>;
  /** The feed, oldest first, at most `max` (up to notificationsMax). @throws BankUnavailable */
  notifications(page: {
    readonly after: string;
    readonly max: number;
  }): Promise<BankNotificationPage>;
}

/** Why what a bank reports cannot be read. */
export interface Unread {
  readonly reason: BankUnavailable | BankRefused;
  /** Of performance.now(). */
  readonly sinceMs: number;
}

/** What the records of a connection say of a transfer. */
export interface TransferRecord {
  /** Minor units. Null where the transfer was voided before it came. */
  readonly amountMinor: number | null;
  /** 'waiting': nothing of it has left, and it may be voided. 'filed': the bank may have it. */
  readonly status: 'waiting' | 'filed' | 'accepted' | 'returned' | 'rejected' | 'voided';
}

export interface BankConnection extends Bank {
  /**
   * Calls back when the feed may have something new. Returns a function that ends it. It is only a hint
   * that may be missing or wrong, so readers of the feed also poll. Absent where nothing calls: they poll more often.
   */
  onNotification?(listener: () => void): () => void;
  /** Why what the bank reports cannot be read; null when it can. Absent where `notifications` asks the bank itself. */
  unread?(): Unread | null;
  /**
   * A sign of life of the bank. Absent where every inquiry reaches the bank: some connections answer by themselves that they
   * have sent nothing under a reference. @throws BankUnavailable, BankRefused
   */
  ping?(): Promise<void>;
  /**
   * Which of these transfers are in a queue of the connection itself: not sent yet, or the bank's answer not
   * read yet. The bank is not late with them. Absent where nothing waits.
   */
  queued?(references: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * When these transfers go to the bank, milliseconds since the epoch: they may wait for days until the file that they are in
   * goes out. The time for the bank's confirmation counts from then. Without those that the connection does not have. Absent
   * where every transfer is sent at once.
   */
  sentAt?(references: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * Begins what must be over before this transfer is submitted, and says whether it is. Safe to repeat. Absent where
   * every transfer may be submitted at once. @throws BankUnavailable, BankRefused
   */
  prepare?(instruction: TransferInstruction): Promise<Readiness>;
  /**
   * What the connection's own records say of the transfer of this reference; null without a record. The bank is not asked.
   * Absent where the connection keeps no records.
   */
  recordOf?(reference: string): Promise<TransferRecord | null>;
  /**
   * Whether the transfer of this reference moves the same amount, to or from the same account of the contact, by the connection's
   * own records. The rail, the originator and the contact's ID may differ. Null when the records do not tell. Absent as
   * `recordOf`.
   */
  isSame?(instruction: TransferInstruction): Promise<boolean | null>;
  close(): Promise<void>;
}

/** A connection by the name under which claims record it. */
export interface NamedConnection {
  /** Never changes: payments refer to it. */
  readonly name: string;
  /** The rails that it takes. A rail belongs to at most one connection. */
  readonly rails: readonly PaymentRail[];
  readonly connection: BankConnection;
  /**
   * When the rail takes a payment that is ready at this instant, both milliseconds since the epoch: later than that
   * while the rail is closed. Absent where every rail is always open.
   */
  readonly opensAt?: (rail: PaymentRail, atMs: number) => number;
  /**
   * What its configuration lacks to send in the name of an organization; null when it lacks nothing. Absent where every
   * name will do.
   */
  readonly lacksFor?: (organizationId: string) => string | null;
  /** Begins to exchange files by itself, where the connection does that. Called once the stores are open. */
  readonly start?: () => void;
}

/** The name of the only connection of older releases. A claim without a name went over it. */
export const firstConnectionName = 'bank';

/** The largest page of the feed. */
export const notificationsMax = 500;

/** Wait and ask again: the bank cannot be reached or did not answer; the outcome is unknown. */
export class BankUnavailable extends Error {
  override readonly name: string = 'BankUnavailable';
  readonly isUnavailable: boolean = true;
}

/**
 * The bank answered this request with something that cannot be read. The outcome is unknown, as with
 * BankUnavailable, but it says nothing about other requests: the bank is there.
 */
export class BankAnswerUnclear extends BankUnavailable {
  override readonly name = 'BankAnswerUnclear';
  override readonly isUnavailable = false;
}

/** Give up: the bank will not take this request, and has done nothing. */
export class BankRefused extends Error {
  override readonly name = 'BankRefused';
}
