/**
 * Passwords: what is accepted, and their hashes.
 *
 * argon2id with 19 MiB, 2 passes and 1 lane: the first choice of the OWASP Password Storage Cheat Sheet
 * (Argon2id). The hash names its parameters, so they can be raised: a hash with others is replaced at the
 * next sign-in. Each hashing takes 19 MiB and one thread of the pool that all of Node.js shares. So only a
 * few run at once, a bounded number waits, and the rest is refused: a flood of sign-ins eats no memory.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Refusal } from '@pis/domain';

/** Counted in characters (code points). NIST SP 800-63B: long, and without rules of composition. */
export const passwordLength = { min: 12, max: 128 } as const;

export type PasswordRefusal = Refusal<'PASSWORD_LENGTH'>;

/** 24 characters of base64url. */
const generatedBytes = 18;

export function generatePassword(): string {
  return randomBytes(generatedBytes).toString('base64url');
}

/** Null for a password that is accepted. */
export function passwordRefusal(password: string): PasswordRefusal | null {
  const { length } = Array.from(normalized(password));
  const isAccepted = length >= passwordLength.min && length <= passwordLength.max;
  return isAccepted ? null : { refused: 'PASSWORD_LENGTH' };
}

/** Two keyboards may write the same letter differently (NIST SP 800-63B, 3.1.1.2). */
function normalized(password: string): string {
  return password.toWellFormed().normalize('NFKC');
}

/** Too many passwords wait to be hashed. The request may be repeated. */
export class HashingBusy extends Error {
  override readonly name = 'HashingBusy';
}

interface Cost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

const cost: Cost = { memoryKib: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;
const phcForm =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{22,86})\$([A-Za-z0-9+/]{43})$/;
/** Two of the four threads of the pool: files and names are looked up on the others. */
const hashingMax = 2;
const waitingMax = 32;
/** New passwords get no more of the queue than this. The rest is for signing in. */
const waitingChangesMax = 8;
/** New passwords of one organization. */
const changesAtOnceMax = 2;

const argon2Async = promisify(argon2);

export interface PasswordCheck {
  readonly isRight: boolean;
  /** Whether the hash has other parameters than new ones. */
  readonly isOutdated: boolean;
}

/** The hashing of a process: make one and share it. */
export class Passwords {
  private hashing = 0;
  private readonly waiting: (() => void)[] = [];
  /** New passwords that are hashed or wait for it, by organization. */
  private readonly changes = new Map<string, number>();

  /** A new password of a user of the organization, in PHC form. @throws HashingBusy */
  async hashNew(organizationId: string, password: string): Promise<string> {
    const underWay = this.changes.get(organizationId) ?? 0;
    if (underWay >= changesAtOnceMax)
      throw new HashingBusy('too many new passwords at the same time; retry shortly');
    this.changes.set(organizationId, underWay + 1);
    try {
      return await this.hash(password, waitingChangesMax);
    } finally {
      const left = (this.changes.get(organizationId) ?? 1) - 1;
      if (left > 0) this.changes.set(organizationId, left);
      else this.changes.delete(organizationId);
    }
  }

  /** In PHC form. @throws HashingBusy */
  async hash(password: string, queueMax = waitingMax): Promise<string> {
    const salt = randomBytes(saltBytes);
    const tag = await this.derive(password, salt, cost, queueMax);
    return phcOf(salt, tag);
  }

  /**
   * Without a hash it does the same work, and the password is wrong: whoever asks cannot tell by the time
   * whether there is a hash.
   * @throws HashingBusy
   */
  async check(password: string, hash: string | null): Promise<PasswordCheck> {
    const [, m, t, p, salt, tag] = phcForm.exec(hash ?? decoy) ?? [];
    if (m === undefined || salt === undefined || tag === undefined)
      throw new Error('a stored password is in no known form');
    const stored = { memoryKib: Number(m), passes: Number(t), parallelism: Number(p) };
    const derived = await this.derive(password, Buffer.from(salt, 'base64'), stored);
    const isSame = timingSafeEqual(derived, Buffer.from(tag, 'base64'));
    const isOutdated =
      stored.memoryKib !== cost.memoryKib ||
      stored.passes !== cost.passes ||
      stored.parallelism !== cost.parallelism;
    return { isRight: isSame && hash !== null, isOutdated };
  }

  private async derive(
    password: string,
    nonce: Buffer,
    by: Cost,
    queueMax = waitingMax,
  ): Promise<Buffer> {
    await this.turn(queueMax);
    try {
      return await argon2Async('argon2id', {
        message: normalized(password),
        nonce,
        memory: by.memoryKib,
        passes: by.passes,
        parallelism: by.parallelism,
        tagLength: tagBytes,
      });
    } finally {
      // The turn passes on without being free in between.
      const next = this.waiting.shift();
      if (next === undefined) this.hashing -= 1;
      else next();
    }
  }

  private async turn(queueMax: number): Promise<void> {
    if (this.hashing < hashingMax) {
      this.hashing += 1;
      return;
    }
    if (this.waiting.length >= queueMax)
      throw new HashingBusy('too many passwords at the same time; retry shortly');
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}

function phcOf(salt: Buffer, tag: Buffer): string {
  const { memoryKib, passes, parallelism } = cost;
  const parameters = `m=${memoryKib},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${parameters}$${unpadded(salt)}$${unpadded(tag)}`;
}

/** Of no password. Checking against it takes as long as against any other. */
const decoy = phcOf(Buffer.alloc(saltBytes), Buffer.alloc(tagBytes));

/** PHC strings have no padding. */
function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
