/**
 * Arrays as parameters of statements. pg would send each as one text in which it escapes every element with two regular
 * expressions. For PostgreSQL, a UUID in binary form costs a fifth of one in text. See binary-array.ts for long texts.
 *
 * The statement must cast each parameter to its array type, like `$1::uuid[]`.
 */

const uuidOid = 2950;
const timestamptzOid = 1184;
const nullLength = -1;
const uuidBytes = 16;
const timeBytes = 8;
const int32Bytes = 4;
/** Dimensions, whether there are nulls, the type, the number of elements, and the index of the first. */
const headBytes = 5 * int32Bytes;

const uuidForm = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** In binary form. If one of them is no UUID, in text, so that PostgreSQL refuses the statement as it would without this. */
export function uuidArray(uuids: readonly (string | null)[]): Buffer | string {
  if (!uuids.every((uuid) => uuid === null || uuidForm.test(uuid))) return textArray(uuids);
  return binaryForm(uuidOid, uuids, uuidBytes, writeUuid);
}

/**
 * Of timestamptz, in binary form. If one of them is further away than JavaScript counts microseconds, in text: a clock may be that
 * wrong. @throws RangeError for an invalid Date
 */
export function timeArray(times: readonly (Date | null)[]): Buffer | string {
  if (!times.every((time) => time === null || Number.isSafeInteger(microsecondsOf(time))))
    return textArray(times.map((time) => time?.toISOString() ?? null));
  return binaryForm(timestamptzOid, times, timeBytes, writeTime);
}

/** Of any type whose values PostgreSQL reads as JavaScript writes them. */
export function textArray(values: readonly (string | number | boolean | null)[]): string {
  let text = '';
  for (const value of values) {
    const element = value === null ? 'NULL' : quoted(String(value));
    text += text === '' ? element : `,${element}`;
  }
  return `{${text}}`;
}

function quoted(text: string): string {
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"` : `"${text}"`;
}

function binaryForm<Value>(
  oid: number,
  values: readonly (Value | null)[],
  valueBytes: number,
  write: (value: Value, bytes: Buffer, at: number) => void,
): Buffer | string {
  // An array without elements has no dimension.
  if (values.length === 0) return textArray([]);
  const bytes = Buffer.allocUnsafe(headBytes + values.length * (int32Bytes + valueBytes));
  let at = bytes.writeInt32BE(1, 0);
  at = bytes.writeInt32BE(values.includes(null) ? 1 : 0, at);
  at = bytes.writeInt32BE(oid, at);
  at = bytes.writeInt32BE(values.length, at);
  at = bytes.writeInt32BE(1, at);
  for (const value of values) {
    at = bytes.writeInt32BE(value === null ? nullLength : valueBytes, at);
    if (value === null) continue;
    write(value, bytes, at);
    at += valueBytes;
  }
  return bytes.subarray(0, at);
}

/** Byte by byte: Buffer.write would need the text without hyphens. */
function writeUuid(uuid: string, bytes: Buffer, at: number): void {
  let digit = 0;
  for (let index = at; index < at + uuidBytes; index += 1) {
    if (uuid.charCodeAt(digit) === hyphen) digit += 1;
    bytes[index] = (digitAt(uuid, digit) << 4) | digitAt(uuid, digit + 1);
    digit += 2;
  }
}

const hyphen = 0x2d;

/** Of a hexadecimal digit: 0 to 9 end with their value, a and A with 1. */
function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return (code & 0xf) + (code > 0x39 ? 9 : 0);
}

const epochMs = Date.UTC(2000, 0, 1);
const int32Values = 2 ** 32;

/** Since the beginning of 2000. */
function microsecondsOf(time: Date): number {
  return (time.getTime() - epochMs) * 1000;
}

function writeTime(time: Date, bytes: Buffer, at: number): void {
  const microseconds = microsecondsOf(time);
  const high = Math.floor(microseconds / int32Values);
  bytes.writeInt32BE(high, at);
  bytes.writeUInt32BE(microseconds - high * int32Values, at + int32Bytes);
}
