/**
 * The table user_sessions. A session is named by a random token that only its browser has: the table holds the
 * digest. It ends after idleMs without a request, after sessionMs in any case, and with its epoch (domain,
 * user.ts). A user has a bounded number of them: the oldest goes first.
 */
import { hash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { orUnavailable } from './credentials.js';

export const idleMs = 30 * 60_000;
export const sessionMs = 12 * 3_600_000;
export const sessionsPerUserMax = 20;
/** How far last_seen_at may lag. */
const seenEveryMs = 60_000;
const tokenBytes = 32;
const tokenForm = /^[\w-]{43}$/;
/** Of one round of cleaning. */
const pruneMax = 1_000;

export interface Session {
  readonly userId: string;
  readonly sessionEpoch: number;
  readonly createdAt: Date;
}

const statements = {
  // Only for the password that was checked: a new one ends the sessions of its user.
  begin: `
    WITH proven AS (
      UPDATE user_credentials SET failures = 0, locked_until = NULL, last_sign_in_at = now()
        WHERE user_id = $2 AND password_hash = $3 RETURNING user_id)
    INSERT INTO user_sessions (digest, user_id, session_epoch, expires_at)
      SELECT $1, user_id, $4, now() + $5 * interval '1 millisecond' FROM proven`,
  limit: `
    DELETE FROM user_sessions WHERE digest = ANY (ARRAY(
      SELECT digest FROM user_sessions WHERE user_id = $1
        ORDER BY created_at DESC, digest OFFSET $2))`,
  find: `
    SELECT user_id AS "userId", session_epoch AS "sessionEpoch", created_at AS "createdAt",
        last_seen_at < now() - $3 * interval '1 millisecond' AS "isUnseen"
      FROM user_sessions
      WHERE digest = $1 AND expires_at > now()
        AND last_seen_at > now() - $2 * interval '1 millisecond'`,
  see: `UPDATE user_sessions SET last_seen_at = now() WHERE digest = $1`,
  end: `DELETE FROM user_sessions WHERE digest = $1`,
  endAll: `DELETE FROM user_sessions WHERE user_id = $1`,
  prune: `
    DELETE FROM user_sessions WHERE digest = ANY (ARRAY(
      SELECT digest FROM user_sessions
        WHERE expires_at <= now() OR last_seen_at <= now() - $1 * interval '1 millisecond'
        LIMIT $2 FOR UPDATE SKIP LOCKED))`,
} as const;

/** Every method throws StoreUnavailable. */
export class Sessions {
  constructor(private readonly pool: pg.Pool) {}

  /** The token of a new session; null when the password has changed since it was checked. */
  async begin(session: {
    readonly userId: string;
    readonly sessionEpoch: number;
    readonly passwordHash: string;
  }): Promise<string | null> {
    const token = randomBytes(tokenBytes).toString('base64url');
    const { userId, passwordHash, sessionEpoch } = session;
    const values = [digestOf(token), userId, passwordHash, sessionEpoch, sessionMs];
    const { rowCount } = await this.run('begin', values);
    if (rowCount !== 1) return null;
    await this.run('limit', [userId, sessionsPerUserMax]);
    return token;
  }

  /** Null for an unknown or ended session. Whether its epoch is still that of its user is for the caller to say. */
  async find(token: string): Promise<Session | null> {
    if (!tokenForm.test(token)) return null;
    const digest = digestOf(token);
    const { rows } = await this.run<Session & { readonly isUnseen: boolean }>('find', [
      digest,
      idleMs,
      seenEveryMs,
    ]);
    const [found] = rows;
    if (found === undefined) return null;
    const { isUnseen, ...session } = found;
    if (isUnseen) await this.run('see', [digest]);
    return session;
  }

  async end(token: string): Promise<void> {
    if (!tokenForm.test(token)) return;
    await this.run('end', [digestOf(token)]);
  }

  async endAll(userId: string): Promise<void> {
    await this.run('endAll', [userId]);
  }

  /** Deletes ended sessions, a bounded number. Returns how many. */
  async prune(): Promise<number> {
    return (await this.run('prune', [idleMs, pruneMax])).rowCount ?? 0;
  }

  private run<Row extends pg.QueryResultRow>(
    name: keyof typeof statements,
    values: unknown[],
  ): Promise<pg.QueryResult<Row>> {
    const text = statements[name];
    return orUnavailable(this.pool.query<Row>({ name: `user_sessions.${name}`, text, values }));
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
