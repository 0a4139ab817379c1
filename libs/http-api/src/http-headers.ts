/** The headers of every answer. */
import { randomUUID } from 'node:crypto';
import type { Quota, RateLimit } from './rate-limit.js';

const always = {
  'Cache-Control': 'no-store',
  // If a browser ever shows JSON as a page, that page may load and run nothing.
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Permitted-Cross-Domain-Policies': 'none',
} as const;

const saneRequestId = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** X-Request-Id of the answer: that of the request if it is valid, otherwise a new one. */
export function requestIdFor(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && saneRequestId.test(given) ? given : randomUUID();
}

/** Two years, as the preload lists of browsers require. */
const https = 'max-age=63072000; includeSubDomains';

/** @param publicUrl the address that clients use, if known. Without HTTPS there is no HSTS header */
export function securityHeaders(publicUrl: string | undefined): Readonly<Record<string, string>> {
  const isHttps = publicUrl !== undefined && new URL(publicUrl).protocol === 'https:';
  return isHttps ? { ...always, 'Strict-Transport-Security': https } : always;
}

/**
 * The rest of a key's limit, as in draft-ietf-httpapi-ratelimit-headers-10, and in the three headers of
 * the draft up to version 06, which most clients read.
 */
export function rateLimitHeaders(
  policy: NonNullable<RateLimit['policy']>,
  { remaining, waitSeconds }: Quota,
): Readonly<Record<string, string>> {
  return {
    'RateLimit-Policy': `"default";q=${policy.requests};w=${policy.seconds}`,
    RateLimit: `"default";r=${remaining};t=${waitSeconds}`,
    'RateLimit-Limit': String(policy.requests),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(waitSeconds),
  };
}
