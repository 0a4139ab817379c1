/** XML of ISO 20022 messages: a small tree, and how it is written. `xml-reader.ts` reads it. */

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

export interface XmlElement {
  /** Without its prefix. */
  readonly name: string;
  readonly namespace: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** Trimmed. Empty where there are children. */
  readonly text: string;
}

/** An element to write: text, or parts. Null parts are left out. */
export interface XmlPart {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly content: string | readonly (XmlPart | null)[];
}

export function part(
  name: string,
  content: XmlPart['content'],
  attributes?: XmlPart['attributes'],
): XmlPart {
  return { name, content, ...(attributes !== undefined && { attributes }) };
}

/** The element with its text, or null without a text. */
export function optionalPart(name: string, text: string | null): XmlPart | null {
  return text === null ? null : part(name, text);
}

/** UTF-8, with the XML declaration, without white space between elements. */
export function writeXml(root: XmlPart): Uint8Array {
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${xmlText(root)}`);
}

/** One element, without the XML declaration. */
export function xmlText({ name, attributes, content }: XmlPart): string {
  let start = name;
  if (attributes !== undefined)
    for (const [key, value] of Object.entries(attributes)) start += ` ${key}="${escaped(value)}"`;
  if (typeof content === 'string') return `<${start}>${escaped(content)}</${name}>`;
  let inner = '';
  for (const child of content) if (child !== null) inner += xmlText(child);
  return `<${start}>${inner}</${name}>`;
}

const marks = /[&<>"']/;
const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' } as const;

function escaped(text: string): string {
  if (!marks.test(text)) return text;
  return text.replaceAll(/[&<>"']/g, (mark) => entities[mark as keyof typeof entities]);
}
