/**
 * What no bank message needs and what attacks need is refused: control characters, entities other than the
 * five of XML, and whatever exceeds these limits. The reader (xml-reader.ts) refuses the rest.
 */
export const xmlLimits = {
  /** Of one message. Bank messages about one payment have a few kilobytes. */
  messageMaxBytes: 256 * 1024,
  /** In scope of one element. */
  namespacesMax: 32,
  depthMax: 40,
  elementsMax: 20_000,
  tagMaxCharacters: 4_096,
} as const;

/** The bytes are no message that we read. `line` and `column` count from 1; null when no place is at fault. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';
  constructor(
    reason: string,
    readonly line: number | null = null,
    readonly column: number | null = null,
  ) {
    super(line === null ? reason : `line ${line}, column ${column ?? 1}: ${reason}`);
  }
}

export function refusalAt(text: string, index: number, what: string): MessageRefused {
  const before = text.slice(0, index);
  const line = before.split('\n').length;
  return new MessageRefused(`${what} is not allowed`, line, index - before.lastIndexOf('\n'));
}

// Everything that XML 1.0 does not allow in a document.
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** @throws MessageRefused */
export function refuseControlCharacters(text: string): void {
  const bad = notXml.exec(text);
  if (bad !== null) throw refusalAt(text, bad.index, 'a control character');
}

const entityPattern = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));/y;
const named5 = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as const;

/**
 * The characters with their entities replaced.
 * @param start where they are in the whole text
 * @throws MessageRefused for an entity other than the five of XML and the references to its characters
 */
export function decoded(raw: string, text: string, start: number): string {
  let next = raw.indexOf('&');
  if (next === -1) return raw;
  const parts: string[] = [];
  let from = 0;
  for (; next !== -1; next = raw.indexOf('&', from)) {
    entityPattern.lastIndex = next;
    const character = characterOf(entityPattern.exec(raw));
    if (character === null)
      throw refusalAt(text, start + next, 'an entity that XML does not define');
    parts.push(raw.slice(from, next), character);
    from = entityPattern.lastIndex;
  }
  parts.push(raw.slice(from));
  return parts.join('');
}

function characterOf(found: RegExpExecArray | null): string | null {
  if (found === null) return null;
  const [, named, decimal, hex] = found;
  if (named !== undefined) return named5[named as keyof typeof named5];
  const value = decimal !== undefined ? Number(decimal) : Number.parseInt(hex ?? '', 16);
  const isSurrogate = value >= 0xd800 && value <= 0xdfff;
  if (value > 0x10ffff || isSurrogate) return null;
  const character = String.fromCodePoint(value);
  return notXml.test(character) ? null : character;
}
