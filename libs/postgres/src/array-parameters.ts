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

/**
 * An array of a statement, such as `$1::uuid[]`, whose length the planner cannot know. Where it knows that an array is short,
 * it finds the plan that it keeps for all arrays too expensive, and plans anew each time. For a statement of several parts that
 * takes as long as its execution. Of several arrays that are unnested together, one is enough.
 */
export function ofAnyLength(array: string): string {
  return `(SELECT ${array})`;
}

/** In binary form. If one of them is no UUID, in text, so that PostgreSQL refuses the statement as it would without this. */
export function uuidArray(uuids: readonly (string | null)[]): Buffer | string {
  return binaryForm(uuidOid, uuids, uuidBytes, writeUuid) ?? textArray(uuids);
}

/**
 * Of timestamptz, in binary form. If one of them is further away than JavaScript counts microseconds, in text: a clock may be that
 * wrong. @throws RangeError for an invalid Date
 */
export function timeArray(times: readonly (Date | null)[]): Buffer | string {
  return (
    binaryForm(timestamptzOid, times, timeBytes, writeTime) ??
    textArray(times.map((time) => time?.toISOString() ?? null))
  );
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

/** @param write false for a value that has no binary form: then the array has none */
function binaryForm<Value>(
  oid: number,
  values: readonly (Value | null)[],
  valueBytes: number,
  write: (value: Value, bytes: Buffer, at: number) => boolean,
): Buffer | null {
  // An array without elements has no dimension.
  if (values.length === 0) return null;
  const bytes = Buffer.allocUnsafe(headBytes + values.length * (int32Bytes + valueBytes));
  let at = bytes.writeInt32BE(1, 0);
  at = bytes.writeInt32BE(values.includes(null) ? 1 : 0, at);
  at = bytes.writeInt32BE(oid, at);
  at = bytes.writeInt32BE(values.length, at);
  at = bytes.writeInt32BE(1, at);
  for (const value of values) {
    at = bytes.writeInt32BE(value === null ? nullLength : valueBytes, at);
    if (value === null) continue;
    if (!write(value, bytes, at)) return null;
    at += valueBytes;
  }
  return bytes.subarray(0, at);
}

/** Where the digits of each byte of a UUID begin. */
const uuidDigits = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const uuidHyphens = [8, 13, 18, 23];
const uuidLength = 36;
const noDigit = 0xff;
/** The values of hexadecimal digits, by their character code. */
const digits = new Uint8Array(128).fill(noDigit);
for (const digit of '0123456789abcdefABCDEF') digits[digit.charCodeAt(0)] = parseInt(digit, 16);

/** Byte by byte: Buffer.write would need the text without hyphens. */
function writeUuid(uuid: string, bytes: Buffer, at: number): boolean {
  let all = 0;
  for (let index = 0; index < uuidBytes; index += 1) {
    const digit = uuidDigits[index] ?? 0;
    const high = digits[uuid.charCodeAt(digit)] ?? noDigit;
    const low = digits[uuid.charCodeAt(digit + 1)] ?? noDigit;
    all |= high | low;
    bytes[at + index] = (high << 4) | low;
  }
  return (
    all !== noDigit &&
    uuid.length === uuidLength &&
    uuidHyphens.every((hyphen) => uuid[hyphen] === '-')
  );
}

const epochMs = Date.UTC(2000, 0, 1);
const int32Values = 2 ** 32;

function writeTime(time: Date, bytes: Buffer, at: number): boolean {
  // Since the beginning of 2000.
  const microseconds = (time.getTime() - epochMs) * 1000;
  if (!Number.isSafeInteger(microseconds)) return false;
  const high = Math.floor(microseconds / int32Values);
  bytes.writeInt32BE(high, at);
  bytes.writeUInt32BE(microseconds - high * int32Values, at + int32Bytes);
  return true;
}
