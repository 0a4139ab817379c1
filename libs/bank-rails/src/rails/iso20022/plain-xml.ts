/**
 * The tree of plain XML, which is what banks and we write: ASCII, attributes in double quotes, no references
 * but the five of XML in texts, no comments, no CDATA. It gives the tree that the parser gives, in a fraction of the
 * time, or nothing: whatever is unusual, too large or wrong is for the parser, which knows all of XML and says why it
 * refuses something.
 */
import { MessageRefused, type XmlElement } from './xml.js';
import {
  type Attribute,
  inScope,
  isDeclaration,
  named,
  noAttributes,
  otherAttributes,
  type Prefixes,
  type TreeScope,
  xmlLimits,
} from './xml-names.js';

const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
const ascii = /^[\t\n\x20-\x7e]*$/;
const marks = new Map(Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }));
const simpleName = /^[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?$/;
/** Each attribute begins with one space, and no value holds a quote: there is one way to match. */
const attributedTag = /^([A-Za-z_][\w.:-]*)((?: [A-Za-z_][\w.:-]*="[^"<&\t\n]*")+)$/;
const attribute = / ([^=]+)="([^"]*)"/g;

interface Tag {
  /** As it is written. */
  readonly qualified: string;
  readonly attributes: readonly Attribute[];
}

/** An element whose end has not come yet. */
interface Open {
  readonly qualified: string;
  readonly prefixes: Prefixes;
  readonly children: XmlElement[];
  readonly start: Pick<XmlElement, 'name' | 'namespace' | 'attributes'>;
  text: string;
}

/** Null for what the parser must look at. */
export function plainTree(text: string, scope: TreeScope): XmlElement | null {
  if (!ascii.test(text) || text.includes(']]>')) return null;
  try {
    return new PlainReader(scope).tree(text);
  } catch (error) {
    // The parser may find another fault before this one.
    if (error instanceof MessageRefused) return null;
    throw error;
  }
}

class PlainReader {
  private readonly open: Open[] = [];
  private root: XmlElement | null = null;
  private elements = 0;

  constructor(private readonly scope: TreeScope) {}

  tree(text: string): XmlElement | null {
    let at = text.startsWith(declaration) ? declaration.length : 0;
    for (;;) {
      const tagAt = text.indexOf('<', at);
      if (!this.takeText(text.slice(at, tagAt < 0 ? undefined : tagAt))) return null;
      if (tagAt < 0) return this.open.length === 0 ? this.root : null;
      const end = text.indexOf('>', tagAt);
      if (end < 0 || !this.takeTag(text.slice(tagAt + 1, end))) return null;
      at = end + 1;
    }
  }

  /** Outside the root there is nothing but white space. */
  private takeText(text: string): boolean {
    const inside = this.open.at(-1);
    if (inside === undefined) return text.trim() === '';
    const plain = text.includes('&') ? dereferenced(text) : text;
    if (plain === null) return false;
    inside.text += plain;
    return true;
  }

  private takeTag(tag: string): boolean {
    if (tag.startsWith('/')) return this.close(tag.slice(1));
    const isEmpty = tag.endsWith('/');
    const read = tagIn(isEmpty ? tag.slice(0, -1) : tag);
    return read !== null && this.begin(read) && (!isEmpty || this.close(read.qualified));
  }

  private begin({ qualified, attributes }: Tag): boolean {
    this.elements += 1;
    const isTooMuch =
      this.open.length >= xmlLimits.depthMax || this.elements > this.scope.elementsMax;
    if (this.root !== null || isTooMuch) return false;
    const inherited = this.open.at(-1)?.prefixes ?? this.scope.prefixes;
    const isBare = attributes.length === 0;
    const prefixes = isBare ? inherited : inScope(inherited, attributes.filter(isDeclaration));
    const { name, namespace } = named(qualified, prefixes);
    const others = isBare ? noAttributes : otherAttributes(attributes, prefixes);
    const start = { name, namespace, attributes: others };
    this.open.push({ qualified, prefixes, children: [], start, text: '' });
    return true;
  }

  private close(qualified: string): boolean {
    const ended = this.open.pop();
    if (ended?.qualified !== qualified) return false;
    const { start, children, text } = ended;
    const element = { ...start, children, text: children.length > 0 ? '' : text.trim() };
    const parent = this.open.at(-1);
    if (parent === undefined) this.root = element;
    else parent.children.push(element);
    return true;
  }
}

/** Null when it refers to anything but a mark of XML. */
function dereferenced(text: string): string | null {
  const [first = '', ...references] = text.split('&');
  let plain = first;
  for (const reference of references) {
    const end = reference.indexOf(';');
    const mark = marks.get(reference.slice(0, Math.max(end, 0)));
    if (mark === undefined) return null;
    plain += mark + reference.slice(end + 1);
  }
  return plain;
}

/** Null when it is not plain. */
function tagIn(text: string): Tag | null {
  if (simpleName.test(text)) return { qualified: text, attributes: [] };
  const [, qualified, rest] = attributedTag.exec(text) ?? [];
  if (qualified === undefined || rest === undefined) return null;
  const attributes: Attribute[] = [];
  for (const [, name = '', value = ''] of rest.matchAll(attribute)) attributes.push([name, value]);
  const isDoubled = new Set(attributes.map(([name]) => name)).size < attributes.length;
  return isDoubled ? null : { qualified, attributes };
}
