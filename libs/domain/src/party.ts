/** What originators and contacts have in common: who they are and which bank account is theirs. */

export const entityTypes = ['INDIVIDUAL', 'BUSINESS'] as const;
export type EntityType = (typeof entityTypes)[number];

export const bankAccountSubTypes = ['CHECKING', 'SAVINGS'] as const;
export type BankAccountSubType = (typeof bankAccountSubTypes)[number];

/** Postal address; `postalCode` is a five-digit ZIP and `state` two letters for US (rule party-input-3). */
export interface LegalAddress {
  readonly addressLine1: string;
  readonly city: string;
  readonly state: string;
  readonly postalCode: string;
  readonly countryCode: string;
}

/**
 * A bank account at rest: the masked numbers that may be shown, and the full ones sealed. `sealed`
 * is opaque here; keyring opens it at the rail's last step and nowhere else.
 */
export interface BankAccount {
  readonly bankName: string | null;
  readonly subType: BankAccountSubType;
  /** Masked. */
  readonly achRoutingNumber: string;
  /** Masked. */
  readonly achAccountNumber: string;
  /** Masked. */
  readonly swiftCode: string | null;
  /** Ciphertext of the full `{achRoutingNumber, achAccountNumber, swiftCode}`. */
  readonly sealed: string;
}

/** Of a party whose personal data was destroyed: its other fields that tell who it was are null. */
export interface Erasable {
  readonly erased?: true;
}

/** The fields a party shows; names are null where the entity type has none. */
export interface PartyProfile extends Erasable {
  readonly entityType: EntityType;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
  /** Null only when erased. */
  readonly email: string | null;
  readonly phoneNumber: string | null;
  readonly legalAddress: LegalAddress | null;
}

/** A party as it was when a payment was created, kept in the payment forever. */
export interface PaymentParty extends Erasable {
  readonly id: string;
  readonly entityType: EntityType;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
  /** For rails that require it. Absent in older events. */
  readonly legalAddress?: LegalAddress | null;
  readonly bankAccount: BankAccount | null;
}

/** What a PATCH may change: a missing field stays, null clears (where clearing is allowed). */
export interface PartyChanges extends Erasable {
  readonly firstName?: string | null;
  readonly lastName?: string | null;
  readonly companyName?: string | null;
  /** Null only when erased. */
  readonly email?: string | null;
  readonly phoneNumber?: string | null;
  readonly legalAddress?: LegalAddress | null;
  readonly bankAccount?: BankAccount | null;
}

/** The fields of `changes` whose value really differs from `current`, compared deeply. */
export function effectiveChanges<Changes extends object>(
  current: object,
  changes: Changes,
): Partial<Changes> {
  const now = current as Record<string, unknown>;
  const differs = ([field, value]: [string, unknown]) =>
    value !== undefined && !isSame(now[field], value);
  return Object.fromEntries(Object.entries(changes).filter(differs)) as Partial<Changes>;
}

/** Deep equality of JSON values. Not by their text: a store may give keys back in another order. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length && keys.every((key) => isSame(left[key], right[key]))
  );
}

/** Until schema version 2 the first event of a party held the wrapped data key of its bank accounts. */
export function withoutDataKey(data: unknown): unknown {
  const { dataKey: _, ...record } = data as { readonly dataKey?: unknown };
  return record;
}
