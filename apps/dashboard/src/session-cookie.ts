/**
 * The cookies of the dashboard. Scripts cannot read them. Over HTTPS their names begin with `__Host-`: no other host
 * of the domain, and no page over HTTP, can set them.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

const headerLengthMax = 8_192;

interface CookieOptions {
  readonly name: string;
  /** `Lax`: sent when another site leads here. */
  readonly sameSite: 'Strict' | 'Lax';
  /** Null: the browser forgets it when it is closed. */
  readonly maxAgeSeconds: number | null;
}

export class BrowserCookie {
  private readonly isAlwaysHttps: boolean;

  constructor(
    publicUrl: string | undefined,
    private readonly options: CookieOptions,
  ) {
    this.isAlwaysHttps = publicUrl !== undefined && new URL(publicUrl).protocol === 'https:';
  }

  /** Its value; null without a cookie, and for several of one name: then somebody else set one of them. */
  read(request: FastifyRequest): string | null {
    const { cookie = '' } = request.headers;
    if (cookie.length > headerLengthMax) return null;
    const name = this.nameFor(request);
    const values = cookie
      .split(';')
      .map((part) => part.trim())
      .filter((part) => part.startsWith(`${name}=`))
      .map((part) => part.slice(name.length + 1));
    return values.length === 1 ? (values[0] ?? null) : null;
  }

  set(request: FastifyRequest, reply: FastifyReply, value: string): void {
    const { maxAgeSeconds } = this.options;
    const maxAge = maxAgeSeconds === null ? '' : `; Max-Age=${maxAgeSeconds}`;
    reply.header('Set-Cookie', `${this.textFor(request, value)}${maxAge}`);
  }

  clear(request: FastifyRequest, reply: FastifyReply): void {
    reply.header('Set-Cookie', `${this.textFor(request, '')}; Max-Age=0`);
  }

  private textFor(request: FastifyRequest, value: string): string {
    const isHttps = this.isHttps(request);
    const flags = isHttps ? 'Path=/; Secure' : 'Path=/dashboard';
    return `${this.nameFor(request)}=${value}; ${flags}; HttpOnly; SameSite=${this.options.sameSite}`;
  }

  private nameFor(request: FastifyRequest): string {
    const { name } = this.options;
    return this.isHttps(request) ? `__Host-${name}` : name;
  }

  /** A trusted proxy says whether the client came over HTTPS. */
  private isHttps({ protocol }: FastifyRequest): boolean {
    return this.isAlwaysHttps || protocol === 'https';
  }
}

/** The token of a session. Other sites' pages do not send it. The server forgets it first. */
export class SessionCookie extends BrowserCookie {
  constructor(publicUrl: string | undefined) {
    super(publicUrl, { name: 'pis_session', sameSite: 'Strict', maxAgeSeconds: null });
  }
}
