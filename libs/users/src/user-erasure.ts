/**
 * Erases the personal data of a user, for good: the e-mail address, the secret of one-time codes, and the addresses
 * and browsers of sessions.
 *
 *   end the user in the log ─► delete credentials and sessions ─► destroy the key ─► wait
 *
 * From the first step on the user has no session and cannot sign in. After the wait no process opens anything with
 * the destroyed key. The ID stays in the log as the actor of what the user did. Each step can be repeated: whatever
 * died between two of them, running the erasure again ends it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Refusal } from '@pis/domain';
import type { CommandContext } from '@pis/event-store';
import { type Owner, ownerOf } from '@pis/keyring';
import type pg from 'pg';
import { Credentials } from './credentials.js';
import type { Users } from './users.js';

export interface UserErasureOptions {
  readonly users: Users;
  readonly pool: pg.Pool;
  /** For good, and safe to repeat. */
  readonly destroyKeys: (owners: readonly Owner[]) => Promise<void>;
  /** How long processes may use keys that were destroyed. */
  readonly keysInUseMs: number;
  readonly pause?: (ms: number) => Promise<unknown>;
}

export interface ErasedUser {
  readonly userId: string;
  /** ISO 8601. */
  readonly erasedAt: string;
  /** Whether the user had been erased before. */
  readonly alreadyErased: boolean;
}

export type UserErasureRefusal = Refusal<'USER_NOT_FOUND' | 'LAST_ADMIN'>;

/** Erasing somebody again destroys the key again, in case a backup has brought it back. @throws StoreUnavailable */
export async function eraseUser(
  { users, pool, destroyKeys, keysInUseMs, pause = delay }: UserErasureOptions,
  userId: string,
  by: CommandContext,
): Promise<ErasedUser | UserErasureRefusal> {
  const ended = await users.end(userId, by);
  if ('refused' in ended) return ended;
  await new Credentials(pool).remove(userId);
  await destroyKeys([ownerOf.user(userId)]);
  await pause(keysInUseMs);
  return { userId, erasedAt: ended.endedAt, alreadyErased: ended.hadEnded };
}
