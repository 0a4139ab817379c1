/**
 * The table user_credentials: how users prove who they are. It is a table of record. Passwords are in it as
 * hashes only, secrets of one-time codes sealed only.
 *
 * What always holds: an attempt to sign in counts as a failure before it is judged, in one statement. So no
 * number of attempts at the same time gets more guesses than one after the other.
 */
import { isTransient } from '@pis/postgres';
import { StoreUnavailable } from '@pis/event-store';
import type pg from 'pg';

export const failuresMax = 5;
const lockMs = 15 * 60_000;
/** Of one organization. */
export const usersMax = 500;

/** What an attempt to sign in is judged by. */
export interface Attempt {
  readonly userId: string;
  readonly passwordHash: string | null;
  /** Sealed. */
  readonly totpSecret: string | null;
  /** Whether the account is locked if this attempt fails. */
  readonly isLast: boolean;
}

export interface Room {
  /** Whether the organization may have another user. */
  readonly hasRoom: boolean;
  /** Whether another user has the e-mail address. */
  readonly isInUse: boolean;
}

export interface CredentialRow {
  readonly userId: string;
  readonly hasPassword: boolean;
  readonly lockedUntil: Date | null;
  readonly lastSignInAt: Date | null;
}

function attemptWhere(isAsked: string): string {
  return `
    UPDATE user_credentials SET
        failures = CASE WHEN failures + 1 >= $2 THEN 0 ELSE failures + 1 END,
        locked_until = CASE WHEN failures + 1 >= $2 THEN now() + $3 * interval '1 millisecond' END
      WHERE ${isAsked} AND (locked_until IS NULL OR locked_until <= now())
      RETURNING user_id AS "userId", password_hash AS "passwordHash", totp_secret AS "totpSecret",
        locked_until IS NOT NULL AS "isLast"`;
}

const statements = {
  // A creation of the same user that died is completed, so it does not count.
  room: `
    SELECT $3 > (
        SELECT count(*) FROM user_credentials
          WHERE organization_id = $2 AND (email_mac <> $1 OR password_hash IS NOT NULL)) AS "hasRoom",
      EXISTS (
        SELECT FROM user_credentials
          WHERE email_mac = $1 AND password_hash IS NOT NULL) AS "isInUse"`,
  claim: `
    WITH claimed AS (
      INSERT INTO user_credentials (user_id, email_mac, organization_id)
        SELECT $1, $2, $3 WHERE $4 > (
          SELECT count(*) FROM user_credentials WHERE organization_id = $3)
        ON CONFLICT (email_mac) DO NOTHING RETURNING user_id)
    SELECT user_id AS "userId", NULL AS "passwordHash" FROM claimed
    UNION ALL SELECT user_id, password_hash FROM user_credentials WHERE email_mac = $2`,
  complete: `
    UPDATE user_credentials SET password_hash = $2, organization_id = $3
      WHERE user_id = $1 AND password_hash IS NULL`,
  attempt: attemptWhere('email_mac = $1'),
  attemptOf: attemptWhere('user_id = $1'),
  // Of a locked account nobody else can have made an attempt since.
  giveBack: `
    UPDATE user_credentials SET
        failures = CASE WHEN $2 THEN $3 - 1 ELSE greatest(failures - 1, 0) END,
        locked_until = CASE WHEN $2 THEN NULL ELSE locked_until END
      WHERE user_id = $1`,
  useStep: `UPDATE user_credentials SET totp_last_step = $2 WHERE user_id = $1 AND totp_last_step < $2`,
  setPassword: `
    UPDATE user_credentials SET password_hash = $2, failures = 0, locked_until = NULL
      WHERE user_id = $1`,
  renewHash: `UPDATE user_credentials SET password_hash = $3 WHERE user_id = $1 AND password_hash = $2`,
  reset: `
    UPDATE user_credentials SET password_hash = $2, failures = 0, locked_until = NULL,
        totp_secret = NULL, totp_candidate = NULL
      WHERE user_id = $1`,
  setCandidate: `UPDATE user_credentials SET totp_candidate = $2 WHERE user_id = $1`,
  candidate: `SELECT totp_candidate AS candidate FROM user_credentials WHERE user_id = $1`,
  confirmCandidate: `
    UPDATE user_credentials SET totp_secret = totp_candidate, totp_candidate = NULL, totp_last_step = $3
      WHERE user_id = $1 AND totp_candidate = $2`,
  removeTotp: `
    UPDATE user_credentials SET totp_secret = NULL, totp_candidate = NULL WHERE user_id = $1`,
  remove: `DELETE FROM user_credentials WHERE user_id = $1`,
  unlocked: `
    SELECT user_id AS "userId" FROM user_credentials
      WHERE email_mac = $1 AND password_hash IS NOT NULL
        AND (locked_until IS NULL OR locked_until <= now())`,
  ofOrganization: `
    SELECT user_id AS "userId", password_hash IS NOT NULL AS "hasPassword",
        CASE WHEN locked_until > now() THEN locked_until END AS "lockedUntil",
        last_sign_in_at AS "lastSignInAt"
      FROM user_credentials WHERE organization_id = $1 ORDER BY created_at, user_id LIMIT $2`,
} as const;

/** Every method throws StoreUnavailable. */
export class Credentials {
  constructor(private readonly pool: pg.Pool) {}

  /** What stands against a new user, before the expensive work; `claim` decides. */
  async room(emailMac: string, organizationId: string): Promise<Room> {
    const { rows } = await this.run<Room>('room', [emailMac, organizationId, usersMax]);
    return rows[0] ?? { hasRoom: false, isInUse: false };
  }

  /**
   * Reserves the e-mail address for a user. If somebody reserved it before, returns whom for.
   * Null when the organization has too many users.
   */
  async claim(claim: {
    readonly userId: string;
    readonly emailMac: string;
    readonly organizationId: string;
  }): Promise<{ readonly userId: string; readonly passwordHash: string | null } | null> {
    const values = [claim.userId, claim.emailMac, claim.organizationId, usersMax];
    type Claimed = { userId: string; passwordHash: string | null };
    const first = await this.run<Claimed>('claim', values);
    // A rival that committed in between is in no row of the first statement.
    const rows =
      first.rows.length > 0 ? first.rows : (await this.run<Claimed>('claim', values)).rows;
    return rows[0] ?? null;
  }

  /** Gives a new user the first password. False when another process did. */
  async complete(userId: string, passwordHash: string, organizationId: string): Promise<boolean> {
    return this.changed('complete', [userId, passwordHash, organizationId]);
  }

  /** Counts an attempt to sign in. Null for an unknown or locked account. */
  async attempt(emailMac: string): Promise<Attempt | null> {
    const { rows } = await this.run<Attempt>('attempt', [emailMac, failuresMax, lockMs]);
    return rows[0] ?? null;
  }

  /** The same for a user who is signed in and proves it once more. */
  async attemptOf(userId: string): Promise<Attempt | null> {
    const { rows } = await this.run<Attempt>('attemptOf', [userId, failuresMax, lockMs]);
    return rows[0] ?? null;
  }

  /** The attempt was no failure after all. */
  async giveBack({ userId, isLast }: Attempt): Promise<void> {
    await this.run('giveBack', [userId, isLast, failuresMax]);
  }

  /** False for a step whose code, or a later one, was accepted before. */
  async useStep(userId: string, step: number): Promise<boolean> {
    return this.changed('useStep', [userId, step]);
  }

  async setPassword(userId: string, passwordHash: string): Promise<boolean> {
    return this.changed('setPassword', [userId, passwordHash]);
  }

  async renewHash(userId: string, from: string, to: string): Promise<void> {
    await this.run('renewHash', [userId, from, to]);
  }

  /** A new password, no one-time codes, no lock. */
  async reset(userId: string, passwordHash: string): Promise<boolean> {
    return this.changed('reset', [userId, passwordHash]);
  }

  async setTotpCandidate(userId: string, sealed: string): Promise<void> {
    await this.run('setCandidate', [userId, sealed]);
  }

  async totpCandidate(userId: string): Promise<string | null> {
    const { rows } = await this.run<{ candidate: string | null }>('candidate', [userId]);
    return rows[0]?.candidate ?? null;
  }

  /** False when another candidate took its place. */
  async confirmTotp(userId: string, sealed: string, step: number): Promise<boolean> {
    return this.changed('confirmCandidate', [userId, sealed, step]);
  }

  async removeTotp(userId: string): Promise<void> {
    await this.run('removeTotp', [userId]);
  }

  /** The user of an e-mail address; null for an unknown or locked account. */
  async unlocked(emailMac: string): Promise<string | null> {
    const { rows } = await this.run<{ userId: string }>('unlocked', [emailMac]);
    return rows[0]?.userId ?? null;
  }

  /** For good, with the user's sessions. The e-mail address is free again. */
  async remove(userId: string): Promise<void> {
    await this.run('remove', [userId]);
  }

  async ofOrganization(organizationId: string): Promise<readonly CredentialRow[]> {
    return (await this.run<CredentialRow>('ofOrganization', [organizationId, usersMax])).rows;
  }

  private async changed(name: keyof typeof statements, values: unknown[]): Promise<boolean> {
    return (await this.run(name, values)).rowCount === 1;
  }

  private run<Row extends pg.QueryResultRow>(
    name: keyof typeof statements,
    values: unknown[],
  ): Promise<pg.QueryResult<Row>> {
    const text = statements[name];
    return orUnavailable(this.pool.query<Row>({ name: `user_credentials.${name}`, text, values }));
  }
}

/** An unavailable database becomes a StoreUnavailable, which every caller can handle. */
export async function orUnavailable<Result>(query: Promise<Result>): Promise<Result> {
  try {
    return await query;
  } catch (cause) {
    if (!isTransient(cause)) throw cause;
    throw new StoreUnavailable('the tables of users cannot be reached', { cause });
  }
}
