/**
 * The tree of any XML that is allowed, by a complete parser. What is not allowed is refused here. Namespaces are
 * resolved here, because the parser does not know them.
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
import { MessageRefused, type XmlElement } from './xml.js';
import {
  inScope,
  isDeclaration,
  named,
  noAttributes,
  notWellFormed,
  otherAttributes,
  type Prefixes,
  type TreeScope,
  xmlLimits,
} from './xml-names.js';

/** @throws MessageRefused */
export function parsedTree(text: string, { prefixes, elementsMax }: TreeScope): XmlElement {
  return new TreeReader(elementsMax).element(rootOf(text), prefixes, 1);
}

/** @throws MessageRefused */
export function rootOf(text: string): ParsedElement {
  const [root] = parsed(text)
    .children.map(allowed)
    .filter((node) => node !== null);
  if (root === undefined) throw new MessageRefused(notWellFormed);
  return root;
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
