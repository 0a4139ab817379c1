/**
 * The cookie of a session. Scripts cannot read it, and other sites' pages do not send it. Over HTTPS its name
 * begins with `__Host-`: no other host of the domain, and no page over HTTP, can set it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

const securedName = '__Host-pis_session';
const plainName = 'pis_session';
const headerLengthMax = 8_192;

export class SessionCookie {
  private readonly isAlwaysHttps: boolean;

  constructor(publicUrl: string | undefined) {
    this.isAlwaysHttps = publicUrl !== undefined && new URL(publicUrl).protocol === 'https:';
  }

  /** The token; null without a cookie, and for several of one name: then somebody else set one of them. */
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

  /** Without an expiry of its own: the browser forgets it when it is closed, and the server before that. */
  set(request: FastifyRequest, reply: FastifyReply, token: string): void {
    reply.header('Set-Cookie', this.textFor(request, token));
  }

  clear(request: FastifyRequest, reply: FastifyReply): void {
    reply.header('Set-Cookie', `${this.textFor(request, '')}; Max-Age=0`);
  }

  private textFor(request: FastifyRequest, token: string): string {
    const isHttps = this.isHttps(request);
    const flags = isHttps ? 'Path=/; Secure' : 'Path=/dashboard';
    return `${this.nameFor(request)}=${token}; ${flags}; HttpOnly; SameSite=Strict`;
  }

  private nameFor(request: FastifyRequest): string {
    return this.isHttps(request) ? securedName : plainName;
  }

  /** A trusted proxy says whether the client came over HTTPS. */
  private isHttps({ protocol }: FastifyRequest): boolean {
    return this.isAlwaysHttps || protocol === 'https';
  }
}
