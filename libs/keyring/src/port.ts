/**
 * Keyring: bank details and secrets at rest. A data key per owner (originator, contact, webhook
 * endpoint), wrapped by the master key; AES-256-GCM with the owner as additional data, so that a
 * ciphertext moved to another record does not open.
 */

import type { Owner } from './owner.js';

/** A data key wrapped by the master key; safe to store. */
export type WrappedKey = string;
/** Ciphertext together with its wrapped data key; safe to store, opens with the master key alone. */
export type Sealed = string;

export interface Keyring {
  /** Derived from the master key; in every wrapped data key, safe to store and to show. */
  readonly masterKeyId: string;
  createDataKey(): WrappedKey;
  seal(dataKey: WrappedKey, plaintext: string, owner: Owner): Sealed;
  /** @throws CannotOpen when it was altered, belongs to another owner, or to another master key */
  open(sealed: Sealed, owner: Owner): string;
  /** HMAC-SHA-256 (hex) under a key derived from the master key for this purpose alone. */
  mac(purpose: string, text: string): string;
}
