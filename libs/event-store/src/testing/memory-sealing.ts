/** Sealing with keys in memory. Tests destroy keys, lose them, and take all of them away for a while. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { PersonalOwner } from '@pis/domain';
import { type SealedText, type Sealing, StoreUnavailable } from '../port.js';

const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
/** Of the keyring's sealed texts. */
const prefix = 'v3.';

/** Named as the keyring names it. */
class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

/** Named as the keyring names it. */
class MasterKeyMissing extends StoreUnavailable {
  override readonly name = 'MasterKeyMissing';
}

/** Named as the keyring names it. */
class KeyDestroyed extends Error {
  override readonly name = 'KeyDestroyed';
}

export class MemorySealing implements Sealing {
  /** Null when destroyed. */
  readonly #keys = new Map<string, Buffer | null>();
  isAway = false;
  /** Owners whose keys are wrapped under a master key that this process lacks. */
  readonly locked = new Set<string>();
  /** Calls of seal and of openAll. */
  readonly calls = { seal: 0, openAll: 0 };

  async seal(owner: SealedText['owner'], plaintext: string, place: string): Promise<string> {
    this.calls.seal += 1;
    await this.#reach();
    const key = this.#keys.has(owner) ? this.#keys.get(owner) : randomBytes(keyBytes);
    if (!key) throw new KeyDestroyed(`the key of ${owner} was destroyed`);
    this.#keys.set(owner, key);
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(`${owner} ${place}`));
    const text = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return `${prefix}${Buffer.concat([iv, text, cipher.getAuthTag()]).toString('base64url')}`;
  }

  async openAll(texts: readonly SealedText[]): Promise<readonly (string | null)[]> {
    this.calls.openAll += 1;
    await this.#reach();
    return texts.map((text) => this.#open(text));
  }

  async destroyedOf(owners: readonly PersonalOwner[]): Promise<ReadonlySet<PersonalOwner>> {
    await this.#reach();
    return new Set(owners.filter((owner) => this.#keys.get(owner) === null));
  }

  destroy(owner: PersonalOwner): void {
    this.#keys.set(owner, null);
  }

  /** As if the row of its key were missing. Returns a function that brings it back. */
  lose(owner: PersonalOwner): () => void {
    const key = this.#keys.get(owner);
    this.#keys.delete(owner);
    return () => void (key && this.#keys.set(owner, key));
  }

  #open({ sealed, owner, place }: SealedText): string | null {
    if (this.locked.has(owner)) throw new MasterKeyMissing(`no master key for ${owner}`);
    const key = this.#keys.get(owner);
    if (key === null) return null;
    if (key === undefined) throw new CannotOpen(`${owner} has no data key`);
    const bytes = Buffer.from(sealed.slice(prefix.length), 'base64url');
    const tagAt = bytes.length - tagBytes;
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes));
    decipher.setAAD(Buffer.from(`${owner} ${place}`)).setAuthTag(bytes.subarray(tagAt));
    try {
      const text = [decipher.update(bytes.subarray(ivBytes, tagAt)), decipher.final()];
      return Buffer.concat(text).toString('utf8');
    } catch (cause) {
      throw new CannotOpen('the text was altered', { cause });
    }
  }

  async #reach(): Promise<void> {
    await Promise.resolve();
    if (this.isAway) throw new StoreUnavailable('the data keys are away');
  }
}
