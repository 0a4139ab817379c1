/**
 * Parses the JSON of a request body. Stricter than JSON.parse: it refuses a repeated key at any depth
 * (INVALID_JSON), `__proto__`, invalid UTF-8, and nesting beyond a limit.
 *
 * It costs little more than JSON.parse. One pass over the text counts the members as written, another over
 * the value counts the members that remain. With a repeated key the second number is smaller.
 */
import { isUtf8 } from 'node:buffer';
import { ApiError } from './errors.js';

/** More than any request needs, and far below what would overflow the stack. */
const depthMax = 32;

/** Returns undefined for an empty body. @throws ApiError INVALID_JSON */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw refuse('the body is not valid UTF-8');
  const text = body.toString('utf8');
  const written = countMembers(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may contain an account number.
    throw refuse('the body is not valid JSON');
  }
  if (countKeys(value) !== written) throw refuse('the body repeats a key');
  return value;
}

function refuse(message: string): ApiError {
  return new ApiError('INVALID_JSON', message);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openingBrace = 0x7b;
const closingBrace = 0x7d;
const openingBracket = 0x5b;
const closingBracket = 0x5d;

/** In valid JSON each colon outside of strings is one member. @throws ApiError when nested too deep */
function countMembers(text: string): number {
  let members = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === quote) at = endOfString(text, at);
    else if (character === colon) members += 1;
    else if (character === openingBrace || character === openingBracket) {
      depth += 1;
      if (depth > depthMax) throw refuse(`the body is nested deeper than ${depthMax} levels`);
    } else if (character === closingBrace || character === closingBracket) depth -= 1;
  }
  return members;
}

/** The index of the quote that ends the string starting at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote)
    at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

/** @throws ApiError for a key `__proto__`, which a careless copy would turn into a prototype */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
    return count;
  }
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') throw refuse('the body has a key __proto__');
    count += 1 + countKeys(member);
  }
  return count;
}
