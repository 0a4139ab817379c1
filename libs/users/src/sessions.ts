/**
 * The table user_sessions. A session is named by a random token that only its browser has: the table holds the
 * digest. Its user sees it by an ID of its own. It ends after idleMs without a request of its user, after sessionMs in any case, and with its epoch
 * (domain, user.ts). What an open page reads by itself is no request of its user. A user has a bounded number of them: the oldest goes first.
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
/** Of one statement of cleaning, so that it holds its locks for a short time. */
const pruneRows = 1_000;
/** Statements of one round. */
const pruneBatchesMax = 100;

export interface Session {
  /** UUID. */
  readonly sessionId: string;
  readonly userId: string;
  readonly sessionEpoch: number;
  readonly createdAt: Date;
}

type SessionOwner = Pick<Session, 'userId' | 'sessionEpoch'>;

/** A session as the table knows it. */
export interface SessionRow {
  readonly sessionId: string;
  readonly isCurrent: boolean;
  /** Sealed under the user's key. */
  readonly sealedClient: string | null;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

function beginAfter(proof: string): string {
  return `
    WITH proven AS (${proof} RETURNING user_id)
    INSERT INTO user_sessions (digest, user_id, session_epoch, expires_at, sealed_client)
      SELECT $1, user_id, $3, now() + $4 * interval '1 millisecond', $5 FROM proven`;
}

const statements = {
  // Only for the password that was checked: a new one ends the sessions of its user.
  begin: beginAfter(`
      UPDATE user_credentials SET failures = 0, locked_until = NULL, last_sign_in_at = now()
        WHERE user_id = $2 AND password_hash = $6`),
  // Failures with passwords stay counted: an identity provider says nothing about them.
  beginElsewhere: beginAfter(`
      UPDATE user_credentials SET last_sign_in_at = now()
        WHERE user_id = $2 AND password_hash IS NOT NULL
          AND (locked_until IS NULL OR locked_until <= now())`),
  limit: `
    DELETE FROM user_sessions WHERE digest = ANY (ARRAY(
      SELECT digest FROM user_sessions WHERE user_id = $1
        ORDER BY created_at DESC, digest OFFSET $2))`,
  find: `
    SELECT session_id AS "sessionId", user_id AS "userId", session_epoch AS "sessionEpoch",
        created_at AS "createdAt", last_seen_at < now() - $3 * interval '1 millisecond' AS "isUnseen"
      FROM user_sessions
      WHERE digest = $1 AND expires_at > now()
        AND last_seen_at > now() - $2 * interval '1 millisecond'`,
  findById: `
    SELECT session_id AS "sessionId", user_id AS "userId", session_epoch AS "sessionEpoch",
        created_at AS "createdAt"
      FROM user_sessions
      WHERE user_id = $1 AND session_id = $2 AND expires_at > now()
        AND last_seen_at > now() - $3 * interval '1 millisecond'`,
  findAll: `
    SELECT digest, user_id AS "userId", session_epoch AS "sessionEpoch"
      FROM user_sessions
      WHERE digest = ANY ($1) AND expires_at > now()
        AND last_seen_at > now() - $2 * interval '1 millisecond'`,
  see: `UPDATE user_sessions SET last_seen_at = now() WHERE digest = $1`,
  end: `DELETE FROM user_sessions WHERE digest = $1`,
  ofUser: `
    SELECT session_id AS "sessionId", digest = $3 AS "isCurrent", sealed_client AS "sealedClient",
        created_at AS "createdAt", last_seen_at AS "lastSeenAt"
      FROM user_sessions
      WHERE user_id = $1 AND session_epoch = $2 AND expires_at > now()
        AND last_seen_at > now() - $4 * interval '1 millisecond'
      ORDER BY created_at DESC, digest LIMIT $5`,
  endOne: `DELETE FROM user_sessions WHERE user_id = $1 AND session_id = $2`,
  endOthers: `DELETE FROM user_sessions WHERE user_id = $1 AND digest <> $2`,
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

  /**
   * The token of a new session; null when the password has changed since it was checked.
   * @param session.passwordHash null for a user whom an identity provider vouches for: then a locked account gets
   * no session
   */
  async begin(session: {
    readonly userId: string;
    readonly sessionEpoch: number;
    readonly passwordHash: string | null;
    readonly sealedClient: string | null;
  }): Promise<string | null> {
    const token = randomBytes(tokenBytes).toString('base64url');
    const { userId, passwordHash, sessionEpoch, sealedClient } = session;
    const values = [digestOf(token), userId, sessionEpoch, sessionMs, sealedClient];
    const { rowCount } = await (passwordHash === null
      ? this.run('beginElsewhere', values)
      : this.run('begin', [...values, passwordHash]));
    if (rowCount !== 1) return null;
    await this.run('limit', [userId, sessionsPerUserMax]);
    return token;
  }

  /**
   * Null for an unknown or ended session. Whether its epoch is still that of its user is for the caller to say.
   * @param isOfUser false for a request that a page makes by itself: the session becomes idle all the same
   */
  async find(token: string, isOfUser: boolean): Promise<Session | null> {
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
    if (isUnseen && isOfUser) await this.run('see', [digest]);
    return session;
  }

  /** Null for an unknown or ended session. It is no request of its user. */
  async findById(userId: string, sessionId: string): Promise<Session | null> {
    const { rows } = await this.run<Session>('findById', [userId, sessionId, idleMs]);
    return rows[0] ?? null;
  }

  /** Those that have not ended, by their tokens. It is no request of theirs: they become idle all the same. */
  async findAll(tokens: readonly string[]): Promise<ReadonlyMap<string, SessionOwner>> {
    const byDigest = new Map(tokens.map((token) => [digestOf(token).toString('hex'), token]));
    const { rows } = await this.run<SessionOwner & { readonly digest: Buffer }>('findAll', [
      tokens.map(digestOf),
      idleMs,
    ]);
    return new Map(
      rows.flatMap(({ digest, ...session }) => {
        const token = byDigest.get(digest.toString('hex'));
        return token === undefined ? [] : [[token, session] as const];
      }),
    );
  }

  async end(token: string): Promise<void> {
    if (!tokenForm.test(token)) return;
    await this.run('end', [digestOf(token)]);
  }

  /** The sessions that count, newest first. @param token that of the session that asks */
  async ofUser(userId: string, epoch: number, token: string): Promise<readonly SessionRow[]> {
    const values = [userId, epoch, digestOf(token), idleMs, sessionsPerUserMax];
    return (await this.run<SessionRow>('ofUser', values)).rows;
  }

  /** False when the user has no such session. */
  async endOne(userId: string, sessionId: string): Promise<boolean> {
    return (await this.run('endOne', [userId, sessionId])).rowCount === 1;
  }

  async endOthers(userId: string, token: string): Promise<void> {
    await this.run('endOthers', [userId, digestOf(token)]);
  }

  async endAll(userId: string): Promise<void> {
    await this.run('endAll', [userId]);
  }

  /** Deletes ended sessions, a bounded number. Returns how many. */
  async prune(): Promise<number> {
    let all = 0;
    for (let batches = 1; batches <= pruneBatchesMax; batches += 1) {
      const deleted = (await this.run('prune', [idleMs, pruneRows])).rowCount ?? 0;
      all += deleted;
      if (deleted < pruneRows) break;
    }
    return all;
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
