/**
 * XML of ISO 20022 messages: a small tree, read and written.
 *
 * Reading trusts nothing: `guardXml` refuses DTDs, entities and excess before the parser sees the text.
 * Namespaces are resolved here, because fast-xml-parser does not know them.
 */
import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';
import { guardXml, withoutEntities, xmlLimits, MessageRefused } from './xml-guard.js';

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

const builder = new XMLBuilder({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  processEntities: true,
  format: false,
});

/** UTF-8, with the XML declaration, without white space between elements. */
export function writeXml(root: XmlPart): Uint8Array {
  const text = String(builder.build([built(root)]));
  return new TextEncoder().encode(`<?xml version="1.0" encoding="UTF-8"?>${text}`);
}

function built({ name, attributes, content }: XmlPart): Record<string, unknown> {
  const children =
    typeof content === 'string'
      ? [{ '#text': content }]
      : content.filter((child) => child !== null).map(built);
  return { [name]: children, ...(attributes !== undefined && { ':@': attributes }) };
}

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  // Entities are decoded below, after the guard has refused all but the five of XML.
  processEntities: false,
  cdataPropName: '#cdata',
  ignoreDeclaration: true,
});

/** @throws MessageRefused */
export function readXml(bytes: Uint8Array): XmlElement {
  if (bytes.byteLength > xmlLimits.messageMaxBytes)
    throw new MessageRefused(`the message is larger than ${xmlLimits.messageMaxBytes} bytes`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new MessageRefused('the message is not UTF-8');
  }
  guardXml(text);
  const validity = XMLValidator.validate(text);
  if (validity !== true)
    throw new MessageRefused(notWellFormed, validity.err.line, validity.err.col);
  const roots = nodesOf(parsed(text)).filter((node) => !isText(node));
  const [root] = roots;
  if (root === undefined || roots.length > 1)
    throw new MessageRefused('the message must have one root element');
  return element(root, new Map());
}

const notWellFormed = 'the message is not well-formed XML';

function parsed(text: string): unknown {
  try {
    return parser.parse(text);
  } catch {
    // Its errors quote the text.
    throw new MessageRefused(notWellFormed);
  }
}

type Node = Readonly<Record<string, unknown>>;

function nodesOf(value: unknown): readonly Node[] {
  return Array.isArray(value) ? (value as readonly Node[]) : [];
}

function isText(node: Node): boolean {
  return '#text' in node || '#cdata' in node;
}

function element(node: Node, inherited: ReadonlyMap<string, string>): XmlElement {
  const qualifiedName = Object.keys(node).find((key) => key !== ':@');
  if (qualifiedName === undefined) throw new MessageRefused('an element has no name');
  const declared = new Map<string, string>();
  const attributes = new Map<string, string>();
  for (const [name, value] of Object.entries((node[':@'] ?? {}) as Record<string, unknown>)) {
    const decoded = withoutEntities(String(value));
    if (name === 'xmlns') declared.set('', decoded);
    else if (name.startsWith('xmlns:')) declared.set(name.slice('xmlns:'.length), decoded);
    else attributes.set(name, decoded);
  }
  const prefixes = inScope(inherited, declared);
  const colon = qualifiedName.indexOf(':');
  const prefix = qualifiedName.slice(0, Math.max(0, colon));
  const namespace = prefixes.get(prefix);
  if (namespace === undefined && prefix !== '')
    throw new MessageRefused(`the namespace prefix ${prefix} is not declared`);
  const contents = nodesOf(node[qualifiedName]);
  const children = contents.filter((child) => !isText(child));
  return {
    name: qualifiedName.slice(colon + 1),
    namespace: namespace ?? '',
    attributes,
    children: children.map((child) => element(child, prefixes)),
    text: children.length > 0 ? '' : contents.map(textOf).join('').trim(),
  };
}

/** A copy only where something is declared, and bounded: a message has thousands of elements. */
function inScope(
  inherited: ReadonlyMap<string, string>,
  declared: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (declared.size === 0) return inherited;
  const prefixes = new Map([...inherited, ...declared]);
  if (prefixes.size > xmlLimits.namespacesMax)
    throw new MessageRefused(`more than ${xmlLimits.namespacesMax} namespaces are declared`);
  return prefixes;
}

function textOf(node: Node): string {
  if ('#text' in node) return withoutEntities(String(node['#text']));
  return nodesOf(node['#cdata'])
    .map((inner) => String(inner['#text'] ?? ''))
    .join('');
}
