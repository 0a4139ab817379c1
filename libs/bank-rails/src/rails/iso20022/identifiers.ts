/**
 * The identifiers of our messages. Those of a payment are derived from its reference, so that a database
 * restored from a backup gives the same payment the same ones and the bank recognizes it.
 */
import { hash } from 'node:crypto';
import { easternTime, instantOf } from '../../calendar/eastern-time.js';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `length` characters of the first `radix` of base 62, derived from the seed. */
export function derivedText(seed: string, length: number, radix: 36 | 62): string {
  const bytes = hash('sha512', seed, 'buffer');
  if (length > bytes.length) throw new RangeError(`at most ${bytes.length} characters`);
  // 64 bytes are enough for 35 characters; the bias of the remainder does not matter here.
  return [...bytes.subarray(0, length)].map((byte) => base62.charAt(byte % radix)).join('');
}

/** The UETR of a payment: a UUID of version 4 in form, derived from the reference. */
export function uetrOf(reference: string): string {
  const bytes = hash('sha256', `pis uetr ${reference}`, 'buffer').subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Sixteen characters: CBPR+ allows no more in an instruction id. */
export function instructionCodeOf(reference: string): string {
  return derivedText(`pis instruction ${reference}`, 16, 36);
}

/** YYYY-MM-DDTHH:MM:SS in Eastern Time, without an offset. */
export function easternDateTime(at: Date): string {
  const { date, time } = easternTime(at.getTime());
  return `${date}T${time}`;
}

/** With milliseconds and an offset, which CBPR+ demands in place of Z. */
export function offsetDateTime(at: Date): string {
  return at.toISOString().replace('Z', '+00:00');
}

/**
 * ISO 8601 in UTC with milliseconds, of the years 1970 to 9999. A date-time without an offset is Eastern
 * Time, as on RTP.
 * @throws RangeError
 */
export function isoInstantOf(dateTime: string): string {
  const instant = new Date(instantMsOf(dateTime)).toISOString();
  if (!/^(19[7-9]\d|[2-9]\d{3})-/.test(instant)) throw new RangeError('the year is not possible');
  return instant;
}

function instantMsOf(dateTime: string): number {
  if (/(Z|[+-]\d\d:\d\d)$/.test(dateTime)) return Date.parse(dateTime);
  const [date = '', time = ''] = dateTime.split('T');
  return instantOf(date, time.slice(0, 5)) + Math.floor(Number(time.slice(6)) * 1_000);
}
