/**
 * Reads the XML of a message into a small tree. It trusts nothing: document types, processing instructions,
 * entities other than the five of XML, and whatever exceeds the limits are refused. Messages are read in a fraction
 * of the parser's time where they are plain.
 */
import { parsedTree, rootOf } from './parsed-xml.js';
import { plainTree } from './plain-xml.js';
import { MessageRefused, type XmlElement } from './xml.js';
import {
  inScope,
  isDeclaration,
  named,
  otherAttributes,
  type Prefixes,
  type TreeScope,
  xmlLimits,
  xmlPrefixes,
} from './xml-names.js';

export { type Prefixes, xmlLimits, xmlPrefixes } from './xml-names.js';

/** @throws MessageRefused */
export function readXml(bytes: Uint8Array): XmlElement {
  if (bytes.byteLength > xmlLimits.messageMaxBytes)
    throw new MessageRefused(`the message is larger than ${xmlLimits.messageMaxBytes} bytes`);
  return treeOf(textOf(bytes), { prefixes: xmlPrefixes, elementsMax: xmlLimits.elementsMax });
}

/**
 * One element out of a larger document, for files that are too large for one tree. The caller bounds its length.
 * @param text with line feeds as the only line ends
 * @param prefixes in scope where the element stands
 * @throws MessageRefused with lines that count from the beginning of the element
 */
export function readXmlElement(text: string, scope: TreeScope): XmlElement {
  return treeOf(text, scope);
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

const utf8 = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Uint8Array): string {
  try {
    // As XML demands. The parser would do it in time that grows with the square of the size.
    return utf8.decode(bytes).replaceAll(/\r\n?/g, '\n');
  } catch {
    throw new MessageRefused('the message is not UTF-8');
  }
}

function treeOf(text: string, scope: TreeScope): XmlElement {
  return plainTree(text, scope) ?? parsedTree(text, scope);
}
