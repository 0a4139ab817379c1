/**
 * The Idempotency-Key, read from the header or a query (rule payment-creation-1). Keys are bytes: keys that
 * differ in case, in white space inside or in the form of an accent are different keys.
 */
import { idempotencyKeyLengthMax } from '@pis/contracts';
import { ApiError } from './errors.js';

/**
 * Node hands header bytes over as Latin-1; a key in UTF-8 is read as such, so that 255 characters are
 * 255 for any alphabet. Two keys of different bytes never become one.
 *
 * @param rawHeaders names and values in turn, as they came: Node joins what is given twice
 * @throws ApiError IDEMPOTENCY_KEY_REQUIRED
 */
export function idempotencyKeyIn(
  header: string | readonly string[] | undefined,
  rawHeaders: readonly string[],
): string {
  const raw = typeof header === 'string' ? header : '';
  // Two keys say two things about one payment; whoever joins them on the way makes a third of them.
  if (raw.includes(',') && timesGiven(rawHeaders) > 1) throw required('one');
  const { key, length } = /^[\x20-\x7e]*$/.test(raw) ? { key: raw, length: raw.length } : read(raw);
  if (length < 1 || length > idempotencyKeyLengthMax) throw required('an');
  return key;
}

/** As a query names it: HTTP takes the white space around a header's value for none of it. */
export function idempotencyKeyInQuery(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, '');
}

/** No header can hold it: no text that was sent as UTF-8 begins with it. */
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
