/**
 * Canonical JSON (RFC 8785) of JSON text, as canonicalJson makes it of the parsed value, in about half the time: the
 * order of the keys is computed once for each shape of object, and strings without escapes are copied.
 */
import { canonicalJson } from '@pis/event-store';

export interface ReadJson {
  readonly value: unknown;
  readonly canonical: string;
}

/** @throws SyntaxError for a text that is no JSON */
export function readJson(text: string): ReadJson {
  const value: unknown = JSON.parse(text);
  return { value, canonical: hasEscapes(text) ? canonicalJson(value) : canonicalOf(value) };
}

/** Whether a string in it may have to be escaped. JSON allows control characters only between values. */
function hasEscapes(text: string): boolean {
  return text.includes('\\') || !text.isWellFormed();
}

/** Of a value whose strings need no escapes. */
function canonicalOf(value: unknown): string {
  if (typeof value === 'string') return `"${value}"`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join(',')}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(fields);
  if (keys.length === 0) return '{}';
  let text = '';
  for (const { key, head } of orderOf(keys)) {
    text += head + canonicalOf(fields[key]);
  }
  return text + '}';
}

interface SortedKey {
  readonly key: string;
  /** What comes before its value: a brace or a comma, the key and a colon. */
  readonly head: string;
}

interface Shape {
  readonly keys: readonly string[];
  readonly order: readonly SortedKey[];
}

/** By the first key: compared key by key, which takes less time than one text of all keys would. */
let shapes = new Map<string, Shape[]>();
let shapesCount = 0;
/** Objects with keys that somebody chose could otherwise fill the memory. */
const shapesMax = 10_000;
/** Of one first key: more would be slow to look through. */
const shapesOfKeyMax = 16;

function orderOf(keys: readonly string[]): readonly SortedKey[] {
  const [first = ''] = keys;
  const known = shapes.get(first);
  const shape = known?.find((one) => hasKeys(one.keys, keys));
  if (shape !== undefined) return shape.order;
  const order = keys
    .toSorted()
    .map((key, index) => ({ key, head: `${index === 0 ? '{' : ','}${JSON.stringify(key)}:` }));
  remember(first, { keys, order });
  return order;
}

function hasKeys(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false;
  for (let index = 0; index < some.length; index += 1)
    if (some[index] !== others[index]) return false;
  return true;
}

function remember(first: string, shape: Shape): void {
  if (shapesCount >= shapesMax) {
    shapes = new Map();
    shapesCount = 0;
  }
  const known = shapes.get(first) ?? [];
  shapes.set(first, known);
  if (known.length === shapesOfKeyMax) known.shift();
  else shapesCount += 1;
  known.push(shape);
}
