/** The tables that payment links need beside the event store. Every method throws StoreUnavailable. */

export interface LinkRow {
  /** SHA-256 of the token, hex. */
  readonly tokenDigest: string;
  readonly paymentId: string;
  readonly organizationId: string;
  /** ISO 8601. */
  readonly expiresAt: string;
  /** Of a counterparty that is no saved contact; null for a saved one. */
  readonly counterpartyId: string | null;
}

/**
 * Which payment a token belongs to. A row is written before the payment is recorded, and the payments
 * projection writes it again, so no link is without one for long. A row proves nothing: the payment decides.
 */
export interface LinkTable {
  add(row: LinkRow): Promise<void>;
  /** The payment's ID, or null. */
  find(tokenDigest: string): Promise<string | null>;
  /** Of a canceled payment: its link is unknown from then on. */
  disable(paymentId: string, canceledAt: string): Promise<void>;
}

export type LinkAccessKind = 'open' | 'submit' | 'show';

/** An access as it is recorded. */
export interface NewLinkAccess {
  readonly accessId: string;
  readonly paymentId: string;
  readonly organizationId: string;
  readonly kind: LinkAccessKind;
  /** ISO 8601. */
  readonly at: string;
  /** The user that was shown the link; null for the counterparty. */
  readonly actor: string | null;
  /** Of a submission: `QUEUED` or why it was refused; null while it is under way, and for other kinds. */
  readonly outcome: string | null;
  /** The visitor, sealed; null when nobody can be sealed for any more, and for `show`. */
  readonly sealed: string | null;
}

/** One row of the record. `at` and the visitor are those of its first access. */
export interface LinkAccess extends NewLinkAccess {
  /** Of the last access. ISO 8601. */
  readonly lastAt: string;
  readonly count: number;
}

/** Accesses that count in the row of an earlier one. */
export interface RepeatedAccess {
  /** The first access of the row, as it was recorded. */
  readonly access: NewLinkAccess;
  /** ISO 8601. */
  readonly lastAt: string;
  readonly count: number;
}

/** The record of who opened a link, submitted it, and was shown it. Nothing is ever deleted. */
export interface LinkAccessLog {
  /** Durable when it resolves. Accesses with the same ID count in one row. */
  record(access: NewLinkAccess): Promise<void>;
  /** Adds to the counts of rows. A row that is missing is made. Each row is named once. */
  recordRepeats(repeats: readonly RepeatedAccess[]): Promise<void>;
  /** What a submission came to. */
  setOutcome(accessId: string, outcome: string): Promise<void>;
  /** The newest first, so many of each kind. The submission that was accepted is always there. */
  list(paymentId: string, limitOfKind: number): Promise<readonly LinkAccess[]>;
}
