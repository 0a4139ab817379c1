/**
 * What the API accepts and returns, in the terms of its specification. New fields may appear in answers and
 * events at any time. Ignore unknown ones.
 */

export type PaymentStatus =
  | 'AWAITING_CONFIRMATION'
  | 'QUEUED'
  | 'PROCESSING'
  | 'COMPLETED'
  | 'FAILED'
  | 'FAILED_IN_FLIGHT'
  | 'BLOCKED'
  | 'RETURNED'
  | 'CANCELED';

/** From the originator's point of view: OUTBOUND pays the contact, INBOUND collects from it. */
export type Direction = 'INBOUND' | 'OUTBOUND';
export type PaymentRail = 'ACH' | 'FEDNOW' | 'RTP' | 'FEDWIRE' | 'SWIFT';
export type FailureCode = 'INVALID_ORIGINATOR_DATA' | 'INVALID_CONTACT_DATA' | 'INTERNAL_ERROR';
export type EntityType = 'INDIVIDUAL' | 'BUSINESS';
export type BankAccountSubType = 'CHECKING' | 'SAVINGS';

export interface LegalAddress {
  readonly addressLine1: string;
  readonly city: string;
  /** Two letters in the US. */
  readonly state: string;
  /** Five digits in the US. */
  readonly postalCode: string;
  /** Two letters. */
  readonly countryCode: string;
}

/** As it is sent: the only place where full numbers occur. */
export interface BankAccountRequest {
  readonly subType: BankAccountSubType;
  readonly achRoutingNumber: string;
  readonly achAccountNumber: string;
  readonly swiftCode?: string | null | undefined;
}

/** As it is shown: numbers masked, the last four characters visible. */
export interface BankAccount {
  readonly bankName: string | null;
  readonly swiftCode: string | null;
  readonly subType: BankAccountSubType;
  readonly achRoutingNumber: string;
  readonly achAccountNumber: string;
}

interface Profile {
  readonly entityType: EntityType;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
  readonly email: string;
  readonly phoneNumber: string | null;
  readonly legalAddress: LegalAddress | null;
  /** ISO 8601, as all times. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Originator extends Profile {
  readonly originatorId: string;
  readonly bankAccount: BankAccount;
}

export interface Contact extends Profile {
  readonly contactId: string;
  readonly originatorId: string;
  readonly bankAccount: BankAccount | null;
}

export interface ContactCreateRequest {
  readonly originatorId: string;
  readonly entityType: EntityType;
  /** Required for an INDIVIDUAL. */
  readonly firstName?: string | null | undefined;
  /** Required for an INDIVIDUAL. */
  readonly lastName?: string | null | undefined;
  /** Required for a BUSINESS. */
  readonly companyName?: string | null | undefined;
  readonly email: string;
  /** International format, for example +12125550123. */
  readonly phoneNumber?: string | null | undefined;
  readonly legalAddress?: LegalAddress | null | undefined;
  /** A payment needs one. */
  readonly bankAccount?: BankAccountRequest | null | undefined;
}

export type ContactCreated = Pick<Contact, 'contactId' | 'createdAt'>;

/** An absent field stays as it is, null clears it. */
export interface ContactPatchRequest {
  readonly firstName?: string | null | undefined;
  readonly lastName?: string | null | undefined;
  readonly companyName?: string | null | undefined;
  readonly email?: string | undefined;
  readonly phoneNumber?: string | null | undefined;
  /** Replaced whole. */
  readonly legalAddress?: LegalAddress | null | undefined;
  /** Replaced whole. */
  readonly bankAccount?: BankAccountRequest | null | undefined;
}

/** As a contact's, but an originator is never without a bank account. */
export interface OriginatorPatchRequest extends Omit<ContactPatchRequest, 'bankAccount'> {
  readonly bankAccount?: BankAccountRequest | undefined;
}

type MaybeErased<Party> = Omit<Party, 'email' | 'bankAccount'> & {
  /** Null only when the party was erased. */
  readonly email: string | null;
  readonly bankAccount: BankAccount | null;
  /** Only when it was erased since: the personal fields are null. */
  readonly erased?: true | undefined;
};
/** In a list as of a time. */
export type OriginatorAsOf = MaybeErased<Originator>;
export type ContactAsOf = MaybeErased<Contact>;

export interface AsOf {
  /** What the API said at this time, which is not in the future; a date alone means the end of that UTC day. */
  readonly asOf: Instant;
}

export interface ContactFilter {
  readonly originatorId?: string | undefined;
}

export interface PaymentCreateRequest {
  readonly originatorId: string;
  readonly contactId: string;
  /** Minor units (cents), a positive integer. */
  readonly paymentAmount: number;
  readonly direction: Direction;
  readonly paymentNote?: string | null | undefined;
  /** A label of your own; neither unique nor used for idempotency. */
  readonly externalPaymentId?: string | null | undefined;
}

export interface PaymentCreated {
  readonly paymentId: string;
  /** The key that was sent: yours, or the one made for this call. */
  readonly idempotencyKey: string;
  /** The payment existed already: an earlier request, or an earlier attempt of this one, created it. */
  readonly replayed: boolean;
}

/** A party as it was when the payment was created. */
export interface Party {
  readonly id: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
  readonly entityType: EntityType;
  /** Only on a party whose personal data was erased: all its fields but these two and `id` are null. */
  readonly erased?: true | undefined;
}

export interface PartyWithAccount extends Party {
  readonly bankAccount: BankAccount | null;
}

/** A payment in a list: without bank accounts, failureReason and returnReasonCode. */
export interface PaymentListItem {
  readonly paymentId: string;
  readonly status: PaymentStatus;
  readonly createdAt: string;
  readonly completedAt: string | null;
  readonly failedAt: string | null;
  readonly returnedAt: string | null;
  readonly canceledAt: string | null;
  /** Minor units, as all amounts. */
  readonly paymentAmount: number;
  readonly discountFee: number;
  readonly flatFee: number;
  readonly returnFee: number;
  readonly currencyCode: string;
  readonly paymentRail: PaymentRail;
  readonly direction: Direction;
  readonly paymentNote: string | null;
  readonly externalPaymentId: string | null;
  /** Branch on this, not on the texts: their wording may change. */
  readonly failureCode: FailureCode | null;
  readonly failureMessage: string | null;
  readonly originator: Party;
  readonly contact: Party | null;
}

export interface Payment extends PaymentListItem {
  readonly failureReason: string | null;
  /** For example R01; null too when the bank gave no code. */
  readonly returnReasonCode: string | null;
  readonly originator: PartyWithAccount;
  /** Null before the counterparty of a payment link, who is no saved contact, has answered. */
  readonly contact: PartyWithAccount | null;
}

/** ISO 8601 or a Date; a date alone means its start in createdFrom and its end in createdTo, UTC. */
export type Instant = string | Date;

export interface PaymentFilter extends Partial<AsOf> {
  readonly status?: PaymentStatus | undefined;
  readonly originatorId?: string | undefined;
  readonly contactId?: string | undefined;
  readonly direction?: Direction | undefined;
  readonly paymentRail?: PaymentRail | undefined;
  readonly externalPaymentId?: string | undefined;
  /** Finds the payment that a key created, for instance after an unknown outcome. */
  readonly idempotencyKey?: string | undefined;
  readonly createdFrom?: Instant | undefined;
  readonly createdTo?: Instant | undefined;
}

export interface PageQuery {
  /** 1 to 100, default 20. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before, with the same filter. */
  readonly cursor?: string | undefined;
}

export interface Page<Item> {
  readonly data: readonly Item[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** A monthly statement of an originator. */
export interface Statement {
  readonly statementId: string;
  readonly originatorId: string;
  readonly periodYear: number;
  /** 1 to 12. */
  readonly periodMonth: number;
  readonly generatedAt: string;
  /** Of the PDF. */
  readonly sizeBytes: number;
  /** Of the PDF, 64 hexadecimal characters. */
  readonly sha256: string;
}

export interface StatementFilter {
  readonly originatorId?: string | undefined;
  readonly year?: number | undefined;
}

/** How fast an ACH entry settles. */
export type AchService = 'same_day' | 'standard';

export interface RejectedRail {
  readonly paymentRail: PaymentRail;
  /** Null for other rails than ACH. */
  readonly achService: AchService | null;
  /** Branch on this: values may be added. */
  readonly code: string;
  readonly reason: string;
}

/** The rail that a payment would take now. */
export interface RailEvaluation {
  /** Null if no rail can take the payment. */
  readonly paymentRail: PaymentRail | null;
  readonly achService: AchService | null;
  readonly expectedSettlementAt: string | null;
  readonly nextCutoffAt: string | null;
  /** Each other rail. ACH occurs once for each service. */
  readonly rejectedRails: readonly RejectedRail[];
}

export type SimulatedOutcome = 'complete' | 'return' | 'fail' | 'time_out' | 'late_confirm';

export interface SimulateRequest {
  readonly outcome: SimulatedOutcome;
  /** R01 to R85, for `return`. */
  readonly returnReasonCode?: string | null | undefined;
}
