/** The headers that answers have whatever they say. */
import { randomUUID } from 'node:crypto';
import type { Quota, RateLimit } from './rate-limit.js';

const always = {
  'Cache-Control': 'no-store',
  // JSON is no page: should a browser ever be led to show it as one, it may do nothing.
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Permitted-Cross-Domain-Policies': 'none',
} as const;

const saneRequestId = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** X-Request-Id of the answer: the one given, if it is a sane one. */
export function requestIdFor(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && saneRequestId.test(given) ? given : randomUUID();
}

/** Two years, as the browsers' preload lists ask for. */
const https = 'max-age=63072000; includeSubDomains';

/** @param publicUrl the address that clients use, if it is known; over plain HTTP the promise of HTTPS is void */
export function securityHeaders(publicUrl: string | undefined): Readonly<Record<string, string>> {
  const isHttps = publicUrl !== undefined && new URL(publicUrl).protocol === 'https:';
  return isHttps ? { ...always, 'Strict-Transport-Security': https } : always;
}

/**
 * What is left of a key's limit: draft-ietf-httpapi-ratelimit-headers-10, and the three fields that
 * it had until its version 06, which most clients look for.
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
