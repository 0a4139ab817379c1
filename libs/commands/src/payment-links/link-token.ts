/** The token of a link: the URL's only secret. Only its digest and its sealed form are stored. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const tokenBytes = 32;
/** 32 bytes in base64url without padding. */
const tokenForm = /^[\w-]{43}$/;

export function newToken(): string {
  return randomBytes(tokenBytes).toString('base64url');
}

/** SHA-256, hex. */
export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function isToken(text: string): boolean {
  return tokenForm.test(text);
}

/** In constant time. */
export function isSameDigest(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** A sealed token opens only in its own payment. */
export function tokenPlace(paymentId: string): string {
  return `payment-link ${paymentId}`;
}
