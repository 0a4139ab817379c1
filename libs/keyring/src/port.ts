/**
 * Keyring: personal data and secrets at rest. Each owner (originator, contact, webhook endpoint, month of the
 * archive of bank files) has data keys of its own, wrapped under a master key in the table `data_keys`. A
 * sealed text names the version of its key and never holds the key, so master keys can be rotated and an
 * owner's data can be destroyed. AES-256-GCM, with the owner, the version and the place as additional data:
 * a ciphertext moved to another record or place does not open.
 */
import type { Owner } from './owner.js';

/** Ciphertext; safe to store where its owner's key is not. */
export type Sealed = string;

export interface SealedText {
  readonly sealed: Sealed;
  readonly owner: Owner;
  /** Where it was found. Needed for a text that was sealed for a place. */
  readonly place?: string;
}

export interface Keyring {
  /** ID of the active master key, derived from it: safe to store and to show. */
  readonly activeKeyId: string;
  /**
   * Seals under the owner's current data key. If the owner has none, creates it; the key is durable before
   * this resolves.
   * @param place what the text is part of, such as an event: it opens nowhere else
   * @throws KeyDestroyed
   * @throws StoreUnavailable when the key table or the needed master key is missing
   */
  seal(owner: Owner, plaintext: string, place?: string): Promise<Sealed>;
  /**
   * @throws CannotOpen when the text was altered, belongs to another owner or place, or has no key
   * @throws KeyDestroyed
   * @throws StoreUnavailable when the key table or the needed master key is missing
   */
  open(sealed: Sealed, owner: Owner, place?: string): Promise<string>;
  /**
   * Seals part of a document. The sealed bytes are `sealedBytesOverhead` longer.
   * @param place which part of which document it is: it opens nowhere else
   * @throws as seal
   */
  sealBytes(owner: Owner, bytes: Uint8Array, place: string): Promise<Buffer>;
  /** @throws as open */
  openBytes(sealed: Uint8Array, owner: Owner, place: string): Promise<Buffer>;
  /**
   * In order; null where the owner's keys were destroyed. One query for all keys that are not cached.
   * @throws as open
   */
  openAll(texts: readonly SealedText[]): Promise<readonly (string | null)[]>;
  /** Those of the owners whose keys were destroyed, also before they had one. @throws StoreUnavailable */
  destroyedOf<Of extends Owner>(owners: readonly Of[]): Promise<ReadonlySet<Of>>;
  /**
   * Destroys all keys of these owners for good; they can get no new ones. Idempotent. Every process stops
   * using the keys within 5 s.
   * @throws StoreUnavailable
   */
  destroy(owners: readonly Owner[]): Promise<void>;
  /**
   * HMAC-SHA-256 (hex) under a key derived from the MAC root for this purpose alone.
   * @throws StoreUnavailable until the process has checked its stores
   */
  mac(purpose: string, text: string): string;
}
