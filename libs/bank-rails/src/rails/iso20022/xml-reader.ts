/**
 * Reads the XML of a message into a small tree, in one pass, linear in the size of the text. It reads the
 * part of XML 1.0 with namespaces that bank messages are made of and trusts nothing: it refuses document
 * types, processing instructions, names with other characters than ASCII, and what is not well-formed. A
 * test compares it with libxml2, which must take everything that is read here.
 *
 * We read it ourselves because the libraries spend most of the time that a payment takes over messages, and
 * know no namespaces.
 */
import {
  decoded,
  MessageRefused,
  refusalAt,
  refuseControlCharacters,
  xmlLimits,
} from './xml-guard.js';
import type { XmlElement } from './xml.js';

/** @throws MessageRefused */
export function readXml(bytes: Uint8Array): XmlElement {
  if (bytes.byteLength > xmlLimits.messageMaxBytes)
    throw new MessageRefused(`the message is larger than ${xmlLimits.messageMaxBytes} bytes`);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new MessageRefused('the message is not UTF-8');
  }
  refuseControlCharacters(text);
  return new XmlReader(text).root();
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A namespace by its prefix; '' is the default. */
type Prefixes = ReadonlyMap<string, string>;

/** An element whose end has not been read. */
interface OpenElement {
  readonly qualifiedName: string;
  readonly prefixes: Prefixes;
  readonly element: XmlElement & { readonly children: XmlElement[]; text: string };
}

// White space of XML. `\s` has more.
const space = '[ \\t\\r\\n]';
const name = '[A-Za-z_][A-Za-z0-9_.-]*';
const qualified = `${name}(?::${name})?`;
const value = `"[^<"]*"|'[^<']*'`;
const attribute = `${space}+${qualified}${space}*=${space}*(?:${value})`;
const startTag = new RegExp(`<(${qualified})((?:${attribute})*)${space}*(/?)>`, 'y');
const endTag = new RegExp(`</(${qualified})${space}*>`, 'y');
const attributePattern = new RegExp(`(${qualified})${space}*=${space}*(${value})`, 'g');
const declaration = /<\?xml[ \t\r\n][^<>]{0,100}\?>/y;
const declared = new RegExp(
  `^<\\?xml${space}+version${space}*=${space}*(["'])1\\.\\d\\1` +
    `(?:${space}+encoding${space}*=${space}*(["'])([A-Za-z][\\w.-]*)\\2)?` +
    `(?:${space}+standalone${space}*=${space}*(["'])(?:yes|no)\\4)?${space}*\\?>$`,
);
const onlySpace = /^[ \t\r\n]*$/;

const noAttributes: ReadonlyMap<string, string> = new Map();
const noPrefixes: Prefixes = new Map([['xml', 'http://www.w3.org/XML/1998/namespace']]);

class XmlReader {
  private readonly open: OpenElement[] = [];
  private found: XmlElement | null = null;
  private elements = 0;

  constructor(private readonly text: string) {}

  root(): XmlElement {
    const { text } = this;
    let at = text.startsWith('<?') ? this.declarationEnd() : 0;
    for (let mark = text.indexOf('<', at); mark !== -1; mark = text.indexOf('<', at)) {
      this.takeText(at, mark);
      at = this.markupEnd(mark);
    }
    this.takeText(at, text.length);
    if (this.found === null || this.open.length > 0) throw malformed();
    return this.found;
  }

  private markupEnd(mark: number): number {
    switch (this.text.charCodeAt(mark + 1)) {
      case slash:
        return this.takeEndTag(mark);
      case exclamation:
        return this.takeCommentOrCdata(mark);
      case question:
        throw refusalAt(this.text, mark, 'a processing instruction');
      default:
        return this.takeStartTag(mark);
    }
  }

  private takeStartTag(mark: number): number {
    const end = this.text.indexOf('>', mark);
    const name = this.text.slice(mark + 1, Math.min(end, mark + knownNameMax));
    if (knownNames.has(name) && this.text.charCodeAt(mark + 1 + name.length) === closing) {
      this.takeElement(mark, name, '', false);
      return end + 1;
    }
    return this.takeOtherStartTag(mark);
  }

  /** A tag with attributes, with white space, without content, or of a name that was not seen before. */
  private takeOtherStartTag(mark: number): number {
    startTag.lastIndex = mark;
    const [tag, qualifiedName, attributes = '', isEmpty] = startTag.exec(this.text) ?? [];
    if (tag === undefined || qualifiedName === undefined || tag.length > xmlLimits.tagMaxCharacters)
      throw this.brokenTag(mark);
    if (qualifiedName.length < knownNameMax && knownNames.size < knownNamesMax)
      knownNames.add(qualifiedName);
    this.takeElement(mark, qualifiedName, attributes, isEmpty !== '');
    return mark + tag.length;
  }

  private takeElement(
    mark: number,
    qualifiedName: string,
    attributes: string,
    isEmpty: boolean,
  ): void {
    const { text } = this;
    if (this.found !== null && this.open.length === 0)
      throw new MessageRefused('the message must have one root element');
    this.elements += 1;
    if (this.elements > xmlLimits.elementsMax)
      throw refusalAt(text, mark, `more than ${xmlLimits.elementsMax} elements`);
    if (this.open.length + (isEmpty ? 0 : 1) > xmlLimits.depthMax)
      throw refusalAt(text, mark, `more than ${xmlLimits.depthMax} levels`);
    const attributesAt = mark + 1 + qualifiedName.length;
    const opened = this.opened(qualifiedName, attributes, attributesAt);
    const parent = this.open.at(-1);
    if (parent === undefined) this.found = opened.element;
    else parent.element.children.push(opened.element);
    if (!isEmpty) this.open.push(opened);
  }

  private opened(qualifiedName: string, attributesText: string, at: number): OpenElement {
    const inherited = this.open.at(-1)?.prefixes ?? noPrefixes;
    const { attributes, prefixes } =
      attributesText === ''
        ? { attributes: noAttributes, prefixes: inherited }
        : this.attributes(attributesText, at, inherited);
    const colon = qualifiedName.indexOf(':');
    return {
      qualifiedName,
      prefixes,
      element: {
        name: qualifiedName.slice(colon + 1),
        namespace: namespaceOf(qualifiedName, prefixes),
        attributes,
        children: [],
        text: '',
      },
    };
  }

  private attributes(
    attributesText: string,
    at: number,
    inherited: Prefixes,
  ): { readonly attributes: ReadonlyMap<string, string>; readonly prefixes: Prefixes } {
    const given = new Map<string, string>();
    for (const { 0: all, 1: key = '', 2: quoted = '', index } of attributesText.matchAll(
      attributePattern,
    )) {
      if (given.has(key)) throw malformed();
      const end = at + index + all.length - 1;
      const start = end - quoted.length + 2;
      given.set(key, decoded(quoted.slice(1, -1), this.text, start));
    }
    const names = [...given.keys()];
    const isDeclaration = (key: string) => key === 'xmlns' || key.startsWith('xmlns:');
    const prefixes = inScope(
      inherited,
      names.filter(isDeclaration).map((key) => [key.slice('xmlns:'.length), given.get(key) ?? '']),
    );
    const others = names.filter((key) => !isDeclaration(key));
    for (const key of others) if (key.includes(':')) namespaceOf(key, prefixes);
    return { attributes: new Map(others.map((key) => [key, given.get(key) ?? ''])), prefixes };
  }

  private takeEndTag(mark: number): number {
    const ended = this.open.pop();
    if (ended === undefined) throw malformed();
    const { element, qualifiedName } = ended;
    element.text = element.children.length > 0 ? '' : element.text.trim();
    const end = mark + 2 + qualifiedName.length;
    if (this.text.startsWith(qualifiedName, mark + 2) && this.text.charCodeAt(end) === closing)
      return end + 1;
    endTag.lastIndex = mark;
    const [tag, named] = endTag.exec(this.text) ?? [];
    if (tag === undefined || tag.length > xmlLimits.tagMaxCharacters) throw this.brokenTag(mark);
    if (named !== qualifiedName) throw malformed();
    return mark + tag.length;
  }

  /** Text between markup. Around the root there is white space only. */
  private takeText(start: number, end: number): void {
    if (start === end) return;
    const element = this.open.at(-1)?.element;
    const raw = this.text.slice(start, end);
    const text = decoded(raw, this.text, start);
    if (element === undefined) {
      if (!onlySpace.test(raw)) throw malformed();
    } else if (raw.includes(']]>')) throw malformed();
    else if (element.children.length === 0) element.text += text;
  }

  private takeCommentOrCdata(mark: number): number {
    const { text } = this;
    if (text.startsWith('<!--', mark)) {
      const end = text.indexOf('--', mark + 4);
      if (end === -1) throw refusalAt(text, mark, 'a comment or CDATA section without an end');
      if (text[end + 2] !== '>') throw malformed();
      return end + 3;
    }
    if (!text.startsWith('<![CDATA[', mark))
      throw refusalAt(text, mark, 'a document type or entity declaration');
    const end = text.indexOf(']]>', mark + 9);
    if (end === -1) throw refusalAt(text, mark, 'a comment or CDATA section without an end');
    const element = this.open.at(-1)?.element;
    if (element === undefined) throw malformed();
    element.text += text.slice(mark + 9, end);
    return end + 3;
  }

  private declarationEnd(): number {
    declaration.lastIndex = 0;
    const [found] = declaration.exec(this.text) ?? [];
    if (found === undefined) throw refusalAt(this.text, 0, 'a processing instruction');
    const parts = declared.exec(found);
    if (parts === null) throw malformed();
    if ((parts[3] ?? 'utf-8').toLowerCase() !== 'utf-8')
      throw refusalAt(this.text, 0, 'an encoding other than UTF-8');
    return found.length;
  }

  /** Why the text is no tag. */
  private brokenTag(mark: number): MessageRefused {
    const end = this.text.indexOf('>', mark);
    const next = this.text.indexOf('<', mark + 1);
    const isEndless = end === -1 || end - mark >= xmlLimits.tagMaxCharacters;
    return isEndless || (next !== -1 && next < end)
      ? refusalAt(this.text, mark, 'a tag without an end')
      : malformed();
  }
}

const [slash, exclamation, question, closing] = [0x2f, 0x21, 0x3f, 0x3e] as const;

/** Names of elements that were found to be names. Messages have the same few hundred again and again. */
const knownNames = new Set<string>();
const knownNamesMax = 1_000;
const knownNameMax = 40;

function malformed(): MessageRefused {
  return new MessageRefused('the message is not well-formed XML');
}

/** @throws MessageRefused */
function namespaceOf(qualifiedName: string, prefixes: Prefixes): string {
  const prefix = qualifiedName.slice(0, Math.max(0, qualifiedName.indexOf(':')));
  const namespace = prefixes.get(prefix);
  if (namespace === undefined && prefix !== '')
    throw new MessageRefused(`the namespace prefix ${prefix} is not declared`);
  return namespace ?? '';
}

/** A copy only where something is declared, and bounded: a message has thousands of elements. */
function inScope(inherited: Prefixes, declarations: readonly [string, string][]): Prefixes {
  if (declarations.length === 0) return inherited;
  for (const [prefix, namespace] of declarations)
    if (prefix === 'xml' || prefix === 'xmlns' || (prefix !== '' && namespace === ''))
      throw malformed();
  const prefixes = new Map([...inherited, ...declarations]);
  if (prefixes.size > xmlLimits.namespacesMax)
    throw new MessageRefused(`more than ${xmlLimits.namespacesMax} namespaces are declared`);
  return prefixes;
}
