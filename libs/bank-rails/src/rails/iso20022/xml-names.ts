/** Names of elements and attributes with their namespaces, and what a message may have of everything. */
import { MessageRefused } from './xml.js';

/** Far above what bank messages need: one about one payment has a few kilobytes. */
export const xmlLimits = {
  messageMaxBytes: 256 * 1024,
  /** In scope of one element. */
  namespacesMax: 32,
  depthMax: 40,
  elementsMax: 20_000,
} as const;

/** A namespace by its prefix; '' is the default. */
export type Prefixes = ReadonlyMap<string, string>;

/** Of every document. */
export const xmlPrefixes: Prefixes = new Map([['xml', 'http://www.w3.org/XML/1998/namespace']]);
/** Where a tree stands, and how large it may be. */
export interface TreeScope {
  readonly prefixes: Prefixes;
  readonly elementsMax: number;
}

export const notWellFormed = 'the message is not well-formed XML';
export const noAttributes: ReadonlyMap<string, string> = new Map();

export type Attribute = readonly [name: string, value: string];

export function isDeclaration([name]: Attribute): boolean {
  return name === 'xmlns' || name.startsWith('xmlns:');
}

export function otherAttributes(given: readonly Attribute[], prefixes: Prefixes) {
  const others = given.filter((attribute) => !isDeclaration(attribute));
  for (const [name] of others) named(name, prefixes);
  return new Map(others);
}

// The parser has checked the characters; after the colon another name begins.
const qualifiedName = /^(?:([^:]+):)?([^:\d.\-\u00b7\u0300-\u036f\u203f\u2040][^:]*)$/u;

/** @throws MessageRefused */
export function named(qualified: string, prefixes: Prefixes): { name: string; namespace: string } {
  if (!qualified.includes(':')) return { name: qualified, namespace: prefixes.get('') ?? '' };
  const [, prefix = '', name] = qualifiedName.exec(qualified) ?? [];
  if (name === undefined) throw new MessageRefused(notWellFormed);
  const namespace = prefixes.get(prefix);
  if (namespace === undefined && prefix !== '')
    throw new MessageRefused('a namespace prefix is not declared');
  return { name, namespace: namespace ?? '' };
}

/** A copy only where something is declared, and bounded: a message has thousands of elements. */
export function inScope(inherited: Prefixes, declarations: readonly Attribute[]): Prefixes {
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
