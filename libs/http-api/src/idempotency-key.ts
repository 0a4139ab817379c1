/**
 * The Idempotency-Key, from the header or a query (rule payment-creation-1). Keys are bytes: two keys that
 * differ in case, inner white space or Unicode normalization are different keys.
 */
import { idempotencyKeyLengthMax } from '@pis/contracts';
import { ApiError } from './errors.js';

/**
 * Node decodes header bytes as Latin-1. A key in UTF-8 is decoded as UTF-8, so 255 characters are 255 in
 * any alphabet. Keys with different bytes stay different.
 *
 * @param rawHeaders alternating names and values, as received. (`headers` joins repeated headers.)
 * @throws ApiError IDEMPOTENCY_KEY_REQUIRED
 */
export function idempotencyKeyIn(
  header: string | readonly string[] | undefined,
  rawHeaders: readonly string[],
): string {
  const raw = typeof header === 'string' ? header : '';
  // Two keys are ambiguous, and a proxy may join them to a third one.
  if (raw.includes(',') && timesGiven(rawHeaders) > 1) throw required('one');
  const { key, length } = /^[\x20-\x7e]*$/.test(raw) ? { key: raw, length: raw.length } : read(raw);
  if (length < 1 || length > idempotencyKeyLengthMax) throw required('an');
  return key;
}

/** The key in a query. White space around it is removed, as HTTP does for a header's value. */
export function idempotencyKeyInQuery(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

/** A header cannot hold this character: no text sent as UTF-8 begins with it. */
const notUtf8 = '\u0001';

function read(latin1: string): { readonly key: string; readonly length: number } {
  const bytes = Buffer.from(latin1, 'latin1');
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { key: text, length: [...text].length }
    : { key: `${notUtf8}${latin1}`, length: latin1.length };
}

function timesGiven(rawHeaders: readonly string[]): number {
  const isKey = (name: string) => name.toLowerCase() === 'idempotency-key';
  return rawHeaders.filter((name, at) => at % 2 === 0 && isKey(name)).length;
}

function required(howMany: 'an' | 'one'): ApiError {
  return new ApiError(
    'IDEMPOTENCY_KEY_REQUIRED',
    `send ${howMany} Idempotency-Key header of 1 to ${idempotencyKeyLengthMax} characters`,
  );
}
