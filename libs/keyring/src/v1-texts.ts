/**
 * Sealed texts of version 1, which hold their wrapped data key:
 *
 *   v1.<master key id>.<wrapped data key>.<iv>.<ciphertext + tag>
 *
 * Nothing seals them any more. They open with the master key that they name, or with the data key that
 * `pis keys rotate` has imported from them.
 */
import { createHash } from 'node:crypto';

const v1Form = /^v1\.([\w-]+\.[\w-]+)\.([\w-]+)\.([\w-]+)$/;

export interface V1Text {
  /** `<master key id>.<wrapped data key>` */
  readonly wrappedKey: string;
  readonly iv: string;
  readonly text: string;
}

/** Null when it is no sealed text of version 1. */
export function parseV1(sealed: string): V1Text | null {
  const [, wrappedKey, iv, text] = v1Form.exec(sealed) ?? [];
  return wrappedKey === undefined || iv === undefined || text === undefined
    ? null
    : { wrappedKey, iv, text };
}

/** Names an imported key by what it was imported from. */
export function v1DigestOf(wrappedKey: string): string {
  return createHash('sha256').update(wrappedKey).digest('base64url');
}

/** The additional data of a text of version 1. */
export function v1SealedFor(owner: string): string {
  return `v1/${owner}`;
}
