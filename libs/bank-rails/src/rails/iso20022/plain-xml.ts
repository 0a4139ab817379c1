/**
 * Reads what almost every message is: elements, their text, and default namespaces. It takes a third of the time of the
 * parser in xml-reader.ts. Null for everything else, which is left to that parser: prefixes, references to characters,
 * comments, most white space in tags, and whatever is wrong.
 */
import type { XmlElement } from './xml.js';

export interface XmlLimits {
  readonly depthMax: number;
  readonly elementsMax: number;
}

/** @param text well-formed Unicode with line feeds as the only line ends */
export function readPlainXml(text: string, limits: XmlLimits): XmlElement | null {
  const [beginning = ''] = prolog.exec(text) ?? [];
  const body = text.slice(beginning.length);
  if (special.test(body)) return null;
  const reader = new PlainReader(body, limits);
  const root = reader.element('', 1);
  return onlySpace.test(reader.rest) ? root : null;
}

const prolog = /^(?:<\?xml version="1\.0" encoding="UTF-8"\?>)?[ \t\n]*/;
/** Other references than XML's own entities, what else has a syntax of its own, and characters that XML forbids. */
const special = /&(?!(?:amp|lt|gt|quot|apos);)|[\0-\x08\x0b-\x1f\ufffe\uffff]|\]\]>|<[!?]/;
const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as const;
const onlySpace = /^[ \t\n]*$/;
const tagName = /^[A-Za-z_][\w.-]*$/;
const tagForm = /^([A-Za-z_][\w.-]*)((?: [A-Za-z_][\w.-]*="[^"<&\t\n]*")*)(\/?)$/;
const attributeForm = / ([^=]+)="([^"]*)"/g;
const noAttributes: ReadonlyMap<string, string> = new Map();

class PlainReader {
  private at = 0;
  private elements = 0;

  constructor(
    private readonly text: string,
    private readonly limits: XmlLimits,
  ) {}

  get rest(): string {
    return this.text.slice(this.at);
  }

  /** The element that begins here. */
  element(inherited: string, depth: number): XmlElement | null {
    const { text, limits } = this;
    this.elements += 1;
    if (depth > limits.depthMax || this.elements > limits.elementsMax) return null;
    const tagEnd = text[this.at] === '<' ? text.indexOf('>', this.at) : -1;
    const tag = tagEnd < 0 ? null : tagOf(text.slice(this.at + 1, tagEnd));
    if (tag === null) return null;
    this.at = tagEnd + 1;
    const { name, namespace = inherited, attributes, isEmpty } = tag;
    const children: XmlElement[] = [];
    if (isEmpty) return { name, namespace, attributes, children, text: '' };
    const textBegin = this.at;
    for (;;) {
      this.at = text.indexOf('<', this.at);
      if (this.at < 0) return null;
      if (text[this.at + 1] === '/') break;
      const child = this.element(namespace, depth + 1);
      if (child === null) return null;
      children.push(child);
    }
    const own = children.length > 0 ? '' : unescaped(text.slice(textBegin, this.at)).trim();
    const nameEnd = this.at + '</'.length + name.length;
    if (!text.startsWith(name, this.at + '</'.length) || text[nameEnd] !== '>') return null;
    this.at = nameEnd + 1;
    return { name, namespace, attributes, children, text: own };
  }
}

function unescaped(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(\w+);/g, (_, name: string) => entities[name as keyof typeof entities]);
}

interface Tag {
  readonly name: string;
  /** If the tag declares it. */
  readonly namespace?: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isEmpty: boolean;
}

function tagOf(text: string): Tag | null {
  if (tagName.test(text)) return { name: text, attributes: noAttributes, isEmpty: false };
  const [, name, given = '', end = ''] = tagForm.exec(text) ?? [];
  if (name === undefined) return null;
  const attributes = new Map<string, string>();
  for (const [, attribute = '', value = ''] of given.matchAll(attributeForm)) {
    if (attributes.has(attribute)) return null;
    attributes.set(attribute, value);
  }
  const namespace = attributes.get('xmlns');
  attributes.delete('xmlns');
  return { name, attributes, isEmpty: end !== '', ...(namespace !== undefined && { namespace }) };
}
