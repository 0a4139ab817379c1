/**
 * A form counts only if a browser sent it from the page of its link. Two proofs: the browser's own word
 * (Sec-Fetch-Site, or Origin), and a value in the form that only this service can make. Nothing is stored.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Keyring } from '@pis/keyring';
import type { FastifyRequest } from 'fastify';

const purpose = 'payment-page-form';

/** The value in the form of a link. @throws StoreUnavailable until the process has checked its stores */
export function formToken(keyring: Keyring, linkToken: string): string {
  return keyring.mac(purpose, hash('sha256', linkToken));
}

/** @throws StoreUnavailable until the process has checked its stores */
export function isFormToken(keyring: Keyring, linkToken: string, given: string | null): boolean {
  const expected = Buffer.from(formToken(keyring, linkToken));
  const bytes = Buffer.from(given ?? '');
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

/**
 * Whether the browser says that another site sent the request. `Origin: null` proves nothing: a page that sends no
 * referrer has it in its own forms. Browsers that send neither header rely on the value in the form.
 * @param publicUrl the address that browsers use, if known
 */
export function isFromOtherSite(
  { headers, host }: Pick<FastifyRequest, 'headers' | 'host'>,
  publicUrl: string | undefined,
): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin } = headers;
  if (origin === undefined || origin === 'null') return false;
  if (!URL.canParse(origin)) return true;
  const own = [host, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
  return !own.includes(new URL(origin).host);
}
