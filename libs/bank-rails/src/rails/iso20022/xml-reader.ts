/**
 * Reads the XML of a message into a small tree. It trusts nothing: document types, processing instructions,
 * entities other than the five of XML, and whatever exceeds the limits are refused. Namespaces are resolved
 * here, because the parser does not know them.
 */
import {
  parseXml,
  XmlDeclaration,
  type XmlDocument,
  XmlDocumentType,
  XmlElement as ParsedElement,
  XmlError,
  type XmlNode,
  XmlProcessingInstruction,
  XmlText,
} from '@rgrove/parse-xml';
import { readPlainXml } from './plain-xml.js';
import { MessageRefused, type XmlElement } from './xml.js';

/** Far above what bank messages need: one about one payment has a few kilobytes. */
export const xmlLimits = {
  messageMaxBytes: 256 * 1024,
  /** In scope of one element. */
  namespacesMax: 32,
  depthMax: 40,
  elementsMax: 20_000,
} as const;

/** @throws MessageRefused */
export function readXml(bytes: Uint8Array): XmlElement {
  if (bytes.byteLength > xmlLimits.messageMaxBytes)
    throw new MessageRefused(`the message is larger than ${xmlLimits.messageMaxBytes} bytes`);
  const text = textOf(bytes);
  return readPlainXml(text, xmlLimits) ?? readAnyXml(text);
}

/** @param text with line feeds as the only line ends. @throws MessageRefused */
export function readAnyXml(text: string): XmlElement {
  return new TreeReader(xmlLimits.elementsMax).element(rootOf(text), xmlPrefixes, 1);
}

/**
 * One element out of a larger document, for files that are too large for one tree. The caller bounds its length.
 * @param text with line feeds as the only line ends
 * @param prefixes in scope where the element stands
 * @throws MessageRefused with lines that count from the beginning of the element
 */
export function readXmlElement(
  text: string,
  { prefixes, elementsMax }: { readonly prefixes: Prefixes; readonly elementsMax: number },
): XmlElement {
  return new TreeReader(elementsMax).element(rootOf(text), prefixes, 1);
}

/**
 * The name of an element without content, and the prefixes in scope inside it. See readXmlElement.
 * @throws MessageRefused
 */
export function readXmlTag(
  text: string,
  inherited: Prefixes,
): { readonly name: string; readonly namespace: string; readonly prefixes: Prefixes } {
  const { name, attributes } = rootOf(text);
  const given = Object.entries(attributes);
  const prefixes = inScope(inherited, given.filter(isDeclaration));
  otherAttributes(given, prefixes);
  return { ...named(name, prefixes), prefixes };
}

function rootOf(text: string): ParsedElement {
  const [root] = parsed(text)
    .children.map(allowed)
    .filter((node) => node !== null);
  if (root === undefined) throw new MessageRefused(notWellFormed);
  return root;
}

const notWellFormed = 'the message is not well-formed XML';
const utf8 = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Uint8Array): string {
  try {
    // As XML demands. The parser would do it in time that grows with the square of the size.
    return utf8.decode(bytes).replaceAll(/\r\n?/g, '\n');
  } catch {
    throw new MessageRefused('the message is not UTF-8');
  }
}

/** The parser's own messages are left out: they quote the text. */
function parsed(text: string): XmlDocument {
  try {
    return parseXml(text, { preserveDocumentType: true, preserveXmlDeclaration: true });
  } catch (error) {
    if (error instanceof XmlError)
      throw new MessageRefused(notWellFormed, error.line, error.column);
    // The parser calls itself for each level.
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
}

/** The element; null for what may stand beside the root. */
function allowed(node: XmlNode): ParsedElement | null {
  if (node instanceof ParsedElement) return node;
  refuseForbidden(node);
  if (node instanceof XmlDeclaration && (node.encoding ?? 'utf-8').toLowerCase() !== 'utf-8')
    throw new MessageRefused('an encoding other than UTF-8 is not allowed');
  return null;
}

function refuseForbidden(node: XmlNode): void {
  if (node instanceof XmlDocumentType) throw new MessageRefused('a document type is not allowed');
  if (node instanceof XmlProcessingInstruction)
    throw new MessageRefused('a processing instruction is not allowed');
}

function tooDeep(): MessageRefused {
  return new MessageRefused(`more than ${xmlLimits.depthMax} levels are not allowed`);
}

/** A namespace by its prefix; '' is the default. */
export type Prefixes = ReadonlyMap<string, string>;

/** Of every document. */
export const xmlPrefixes: Prefixes = new Map([['xml', 'http://www.w3.org/XML/1998/namespace']]);
const noAttributes: ReadonlyMap<string, string> = new Map();

class TreeReader {
  private elements = 0;

  constructor(private readonly elementsMax: number) {}

  element(
    { name, attributes, children }: ParsedElement,
    inherited: Prefixes,
    depth: number,
  ): XmlElement {
    if (depth > xmlLimits.depthMax) throw tooDeep();
    this.elements += 1;
    if (this.elements > this.elementsMax)
      throw new MessageRefused(`more than ${this.elementsMax} elements are not allowed`);
    const given = Object.entries(attributes);
    const prefixes =
      given.length === 0 ? inherited : inScope(inherited, given.filter(isDeclaration));
    const parts: XmlElement[] = [];
    let text = '';
    for (const child of children) {
      if (child instanceof ParsedElement) parts.push(this.element(child, prefixes, depth + 1));
      else if (child instanceof XmlText) text += child.text;
      else refuseForbidden(child);
    }
    const { name: localName, namespace } = named(name, prefixes);
    return {
      name: localName,
      namespace,
      attributes: given.length === 0 ? noAttributes : otherAttributes(given, prefixes),
      children: parts,
      text: parts.length > 0 ? '' : text.trim(),
    };
  }
}

type Attribute = readonly [name: string, value: string];

function isDeclaration([name]: Attribute): boolean {
  return name === 'xmlns' || name.startsWith('xmlns:');
}

function otherAttributes(given: readonly Attribute[], prefixes: Prefixes) {
  const others = given.filter((attribute) => !isDeclaration(attribute));
  for (const [name] of others) named(name, prefixes);
  return new Map(others);
}

// The parser has checked the characters; after the colon another name begins.
const qualifiedName = /^(?:([^:]+):)?([^:\d.\-\u00b7\u0300-\u036f\u203f\u2040][^:]*)$/u;

/** @throws MessageRefused */
function named(qualified: string, prefixes: Prefixes): { name: string; namespace: string } {
  if (!qualified.includes(':')) return { name: qualified, namespace: prefixes.get('') ?? '' };
  const [, prefix = '', name] = qualifiedName.exec(qualified) ?? [];
  if (name === undefined) throw new MessageRefused(notWellFormed);
  const namespace = prefixes.get(prefix);
  if (namespace === undefined && prefix !== '')
    throw new MessageRefused('a namespace prefix is not declared');
  return { name, namespace: namespace ?? '' };
}

/** A copy only where something is declared, and bounded: a message has thousands of elements. */
function inScope(inherited: Prefixes, declarations: readonly Attribute[]): Prefixes {
  if (declarations.length === 0) return inherited;
  const prefixes = new Map(inherited);
  for (const [attribute, namespace] of declarations) {
    const prefix = attribute.slice('xmlns:'.length);
    const isReserved = prefix === 'xml' || prefix === 'xmlns';
    const isEmpty =
      attribute !== 'xmlns' && (prefix === '' || prefix.includes(':') || namespace === '');
    if (isReserved || isEmpty) throw new MessageRefused(notWellFormed);
    prefixes.set(prefix, namespace);
  }
  if (prefixes.size > xmlLimits.namespacesMax)
    throw new MessageRefused(`more than ${xmlLimits.namespacesMax} namespaces are declared`);
  return prefixes;
}
