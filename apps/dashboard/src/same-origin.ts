/**
 * Refuses requests that another site makes a browser send (CSRF). Besides the cookie's SameSite=Strict: a
 * header that only a script of our own origin can set, and the Origin that the browser itself writes. Both
 * are required of every request that changes something, also of signing in.
 */
import { ApiError } from '@pis/http-api';
import type { FastifyRequest } from 'fastify';

export const csrfHeader = 'x-pis-dashboard';

/** @throws ApiError FORBIDDEN */
export function requireSameOrigin(
  { method, headers, host }: FastifyRequest,
  publicUrl: string | undefined,
): void {
  // A page of another site can make a browser send a GET, but not read the answer.
  if (headers['sec-fetch-site'] !== undefined && isForeign(headers['sec-fetch-site']))
    throw refusal;
  if (method === 'GET' || method === 'HEAD') return;
  if (headers[csrfHeader] !== '1' || !isOwn(headers.origin, host, publicUrl)) throw refusal;
}

const refusal = new ApiError('FORBIDDEN', 'the request does not come from the dashboard');

/** `none`: the user typed the address. */
function isForeign(site: string | readonly string[]): boolean {
  return site !== 'same-origin' && site !== 'none';
}

/** Behind a proxy that changes the Host, the public URL says which origin is ours. */
function isOwn(origin: string | undefined, host: string, publicUrl: string | undefined): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false;
  const given = new URL(origin);
  const isHttp = given.protocol === 'http:' || given.protocol === 'https:';
  if (!isHttp) return false;
  if (publicUrl !== undefined && given.origin === new URL(publicUrl).origin) return true;
  return given.host === host;
}
