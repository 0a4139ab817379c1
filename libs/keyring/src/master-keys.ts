/**
 * The master keys of a process. The first one is active: it wraps new keys. The others only unwrap, while
 * keys are rotated.
 */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { StoreUnavailable } from '@pis/event-store';
import { CannotOpen, decrypt, encrypt, joined, keyBytes, split } from './cipher.js';
import { legacyPurposes, macInfo } from './macs.js';

const keyIdBytes = 6;

/** A key as it is stored: wrapped, with the ID of the master key that wraps it. */
export interface Wrapped {
  readonly wrapped: string;
  readonly wrappingKeyId: string;
}

interface MasterKey {
  readonly id: string;
  readonly wrapping: KeyObject;
  readonly bytes: Buffer;
}

/**
 * This process lacks a master key. To whoever seals or opens it is as if the keys were away: nothing is
 * given up. Readers of the log hold back the streams with such events, and no other stream.
 */
export class MasterKeyMissing extends StoreUnavailable {
  override readonly name = 'MasterKeyMissing';
}

export class MasterKeys {
  readonly activeKeyId: string;
  private readonly active: MasterKey;
  private readonly byId: ReadonlyMap<string, MasterKey>;

  /** @param keys 32 bytes each, the active one first, no key twice */
  constructor(keys: readonly Buffer[]) {
    const all = keys.map(masterKeyOf);
    const [active] = all;
    if (active === undefined) throw new Error('a keyring needs a master key');
    this.active = active;
    this.activeKeyId = active.id;
    this.byId = new Map(all.map((key) => [key.id, key]));
    if (this.byId.size < all.length) throw new Error('a master key was given twice');
  }

  /** The active one first. */
  get ids(): readonly string[] {
    return [...this.byId.keys()];
  }

  /** @param purpose what the key is; it unwraps for nothing else */
  wrap(key: Buffer, purpose: string): Wrapped {
    const { id: wrappingKeyId, wrapping } = this.active;
    const encrypted = encrypt(wrapping, key, `${wrappingKeyId}/${purpose}`);
    return { wrapped: joined(encrypted), wrappingKeyId };
  }

  /**
   * @throws MasterKeyMissing when this process does not have the master key
   * @throws CannotOpen when the stored key was altered or moved
   */
  unwrap({ wrapped, wrappingKeyId }: Wrapped, purpose: string): Buffer {
    const { wrapping } = this.keyWith(wrappingKeyId);
    return decrypt(wrapping, split(wrapped), `${wrappingKeyId}/${purpose}`);
  }

  /** A data key inside a text of version 1. @throws as unwrap */
  unwrapV1(wrapped: string, keyId: string): Buffer {
    return decrypt(this.keyWith(keyId).wrapping, split(wrapped), keyId);
  }

  /**
   * A MAC root for a store of a release without one. There every MAC came from the master key, and it stays
   * what it was: the root holds the keys of these MACs, and a random root for all other purposes. Nothing in
   * it gives the master key, or its wrapping key, back. Null when this process does not have the key.
   */
  firstMacRootOf(keyId: string): Buffer | null {
    const key = this.byId.get(keyId);
    if (key === undefined) return null;
    const legacyKeys = legacyPurposes.map((purpose) =>
      derive(key.bytes, macInfo(purpose), keyBytes),
    );
    return Buffer.concat([randomBytes(keyBytes), ...legacyKeys]);
  }

  private keyWith(keyId: string): MasterKey {
    const key = this.byId.get(keyId);
    if (key === undefined)
      throw new MasterKeyMissing(
        `a key is wrapped under the master key ${keyId}, which this process does not have`,
      );
    return key;
  }
}

function masterKeyOf(bytes: Buffer): MasterKey {
  if (bytes.length !== keyBytes) throw new Error(`a master key has ${keyBytes} bytes`);
  // The labels of the first release: IDs and wrapped keys of then stay valid.
  const id = derive(bytes, 'pis/v1/master-key-id', keyIdBytes).toString('base64url');
  // Key objects, not bytes: with bytes, each use takes Node 24 up to four times as long.
  return { id, bytes, wrapping: createSecretKey(derive(bytes, 'pis/v1/wrap', keyBytes)) };
}

function derive(masterKey: Buffer, info: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', info, length));
}

/** Splits `<master key id>.<wrapped>`, the form inside texts of version 1. @throws CannotOpen */
export function v1KeyOf(text: string): { readonly keyId: string; readonly wrapped: string } {
  const [keyId = '', wrapped = '', ...rest] = text.split('.');
  if (keyId === '' || wrapped === '' || rest.length > 0)
    throw new CannotOpen('not a wrapped key of version 1');
  return { keyId, wrapped };
}
