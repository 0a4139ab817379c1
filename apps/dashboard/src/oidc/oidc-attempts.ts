/**
 * A sign-in with the OpenID provider between the two redirects. It is kept in a cookie of the browser that began
 * it, with a MAC: no other browser can finish it, and the server keeps nothing for those who never come back.
 *
 * What always holds: an attempt counts once, in all processes together, and for ten minutes.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Keyring } from '@pis/keyring';
import type { SessionName } from '@pis/users';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type pg from 'pg';
import { z } from 'zod';
import { BrowserCookie } from '../session-cookie.js';
import type { OidcAttempt } from './oidc-provider.js';

const attemptMs = 10 * 60_000;
const attemptSeconds = attemptMs / 1_000;
/** Of one round of cleaning. */
const pruneMax = 10_000;

const kept = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  next: z.string(),
  /** Absent in attempts of an earlier release. */
  former: z.object({ userId: z.string(), sessionId: z.string() }).nullable().default(null),
  endsAtMs: z.number(),
});

export interface KeptAttempt extends OidcAttempt {
  /** Where in the app to go on. */
  readonly next: string;
  /**
   * The session of the browser when it began. The browser does not send its cookie when the provider sends it back:
   * that request comes from another site.
   */
  readonly former: SessionName | null;
}

export class OidcAttempts {
  private readonly cookie: BrowserCookie;

  constructor(
    private readonly pool: pg.Pool,
    private readonly keyring: Keyring,
    publicUrl: string | undefined,
  ) {
    const options = { name: 'pis_oidc', sameSite: 'Lax', maxAgeSeconds: attemptSeconds } as const;
    this.cookie = new BrowserCookie(publicUrl, options);
  }

  keep(request: FastifyRequest, reply: FastifyReply, attempt: KeptAttempt): void {
    const text = JSON.stringify({ ...attempt, endsAtMs: Date.now() + attemptMs });
    const value = Buffer.from(text).toString('base64url');
    this.cookie.set(request, reply, `${value}.${this.macOf(value)}`);
  }

  /** The attempt that this browser began with this state, and takes it out of the browser. Null for none. */
  take(request: FastifyRequest, reply: FastifyReply, state: string): KeptAttempt | null {
    const [value = '', mac = ''] = this.cookie.read(request)?.split('.') ?? [];
    this.cookie.clear(request, reply);
    if (!isSame(mac, this.macOf(value))) return null;
    const attempt = kept.parse(JSON.parse(Buffer.from(value, 'base64url').toString('utf8')));
    return attempt.endsAtMs > Date.now() && isSame(state, attempt.state) ? attempt : null;
  }

  /** False when the attempt was used before. */
  async use({ state }: KeptAttempt): Promise<boolean> {
    const { rowCount } = await this.pool.query({
      name: 'oidc_attempts.use',
      text: `
        INSERT INTO oidc_attempts_used (digest, ends_at)
          VALUES ($1, now() + $2 * interval '1 millisecond') ON CONFLICT DO NOTHING`,
      values: [hash('sha256', state, 'buffer'), attemptMs],
    });
    return rowCount === 1;
  }

  /** Forgets attempts that have ended, a bounded number. */
  async prune(): Promise<void> {
    await this.pool.query({
      name: 'oidc_attempts.prune',
      text: `
        DELETE FROM oidc_attempts_used WHERE digest = ANY (ARRAY(
          SELECT digest FROM oidc_attempts_used WHERE ends_at <= now()
            LIMIT $1 FOR UPDATE SKIP LOCKED))`,
      values: [pruneMax],
    });
  }

  private macOf(value: string): string {
    return this.keyring.mac('oidc-attempt', value);
  }
}

function isSame(given: string, right: string): boolean {
  const [one, other] = [given, right].map((text) => hash('sha256', text, 'buffer')) as [
    Buffer,
    Buffer,
  ];
  return timingSafeEqual(one, other);
}
