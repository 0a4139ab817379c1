/**
 * The elements of a large XML document, one at a time. Some elements are only entered: their tags are given, and their
 * children follow. Every other element is given whole, as a small tree. Memory is bounded by the largest of these.
 */
import {
  MessageRefused,
  type Prefixes,
  readXmlElement,
  readXmlTag,
  type XmlElement,
  xmlPrefixes,
} from '@pis/bank-rails/xml';
import { StatementRefused } from './statement-parts.js';
import { type XmlToken, xmlTokens } from './xml-tokens.js';

export const xmlElementLimits = {
  /** A booking of some thousand payments. */
  charactersMax: 4 * 1_024 * 1_024,
  elementsMax: 200_000,
} as const;

export type XmlPiece =
  | {
      readonly kind: 'enter';
      readonly name: string;
      readonly namespace: string;
      readonly line: number;
    }
  | { readonly kind: 'leave'; readonly name: string; readonly line: number }
  | { readonly kind: 'element'; readonly element: XmlElement; readonly line: number };

/** Whether an element is entered, by the names from the root down to it. */
export type Enters = (path: readonly string[]) => boolean;

/** @throws StatementRefused */
export async function* xmlElements(
  chunks: AsyncIterable<Uint8Array>,
  enters: Enters,
): AsyncGenerator<XmlPiece> {
  const reader = new ElementReader(enters);
  for await (const tokens of xmlTokens(chunks))
    for (const token of tokens) {
      const piece = reader.piece(token);
      if (piece !== null) yield piece;
    }
  reader.end();
}

interface Entered {
  /** As it is written, with its prefix. */
  readonly qualified: string;
  readonly name: string;
  readonly prefixes: Prefixes;
}

/** The text of an element whose end has not come. */
interface Open {
  readonly texts: string[];
  readonly line: number;
  readonly path: readonly string[];
  length: number;
  depth: number;
}

const notWellFormed = 'this is not well-formed XML';
const blank = /^[\t\n ]*$/;
/** Two hyphens end a comment. Characters that XML does not take are no better in comments. */
const comment =
  /^<!--(?!-?>)(?:[\t\n\x20-\ud7ff\ue000-\ufffd]|[\ud800-\udbff][\udc00-\udfff])*-->$/;

class ElementReader {
  private readonly stack: Entered[] = [];
  private open: Open | null = null;
  private hadRoot = false;
  private line = 1;

  constructor(private readonly enters: Enters) {}

  piece(token: XmlToken): XmlPiece | null {
    this.line = token.line;
    if (this.open !== null) return this.within(this.open, token);
    switch (token.kind) {
      case 'open':
        return this.begin(token.text, token.line);
      case 'empty':
        this.beginRoot();
        return this.enteredEmpty(token) ?? this.element(token.text, token.line);
      case 'close':
        return this.leave(token.text);
      case 'text':
        if (!blank.test(token.text)) throw this.refused(notWellFormed);
        return null;
      case 'comment':
        if (
          !comment.test(token.text) ||
          token.text.slice(4, -3).includes('--') ||
          token.text.endsWith('--->')
        )
          throw this.refused(notWellFormed);
        return null;
      case 'cdata':
        throw this.refused(notWellFormed);
    }
  }

  end(): void {
    if (this.open !== null || this.stack.length > 0 || !this.hadRoot)
      throw this.refused('the file ends too early');
  }

  private beginRoot(): void {
    if (this.stack.length > 0) return;
    if (this.hadRoot) throw this.refused('the file has more than one root');
    this.hadRoot = true;
  }

  private begin(text: string, line: number): XmlPiece | null {
    this.beginRoot();
    const tag = this.tag(`${text.slice(0, -1)}/>`);
    const path = [...this.stack.map(({ name }) => name), tag.name];
    if (!this.enters(path)) {
      this.open = { texts: [text], line, path, length: text.length, depth: 1 };
      return null;
    }
    const qualified = /^<([^\s/>]+)/.exec(text)?.[1] ?? '';
    this.stack.push({ qualified, name: tag.name, prefixes: tag.prefixes });
    return { kind: 'enter', name: tag.name, namespace: tag.namespace, line };
  }

  /** An element that would be entered, without content: there is nothing in it. */
  private enteredEmpty({ text }: XmlToken): XmlPiece | null {
    const { name } = this.tag(text);
    if (!this.enters([...this.stack.map((entered) => entered.name), name])) return null;
    throw this.refused(`${name} is empty`);
  }

  private leave(text: string): XmlPiece {
    const entered = this.stack.pop();
    const [, qualified] = /^<\/([^\s<>/]+)[\t\n ]*>$/.exec(text) ?? [];
    if (entered === undefined || entered.qualified !== qualified) throw this.refused(notWellFormed);
    return { kind: 'leave', name: entered.name, line: this.line };
  }

  private within(open: Open, { kind, text }: XmlToken): XmlPiece | null {
    open.texts.push(text);
    open.length += text.length;
    if (open.length > xmlElementLimits.charactersMax)
      throw this.refused(`an element is longer than ${xmlElementLimits.charactersMax} characters`);
    if (kind === 'open') open.depth += 1;
    else if (kind === 'close') open.depth -= 1;
    if (open.depth > 0) return null;
    this.open = null;
    return this.element(open.texts.join(''), open.line);
  }

  private element(text: string, line: number): XmlPiece {
    const prefixes = this.stack.at(-1)?.prefixes ?? xmlPrefixes;
    const { elementsMax } = xmlElementLimits;
    const element = this.parsed(line, () => readXmlElement(text, { prefixes, elementsMax }));
    return { kind: 'element', element, line };
  }

  private tag(text: string) {
    return this.parsed(this.line, () =>
      readXmlTag(text, this.stack.at(-1)?.prefixes ?? xmlPrefixes),
    );
  }

  /** The parser counts lines from the beginning of the element. */
  private parsed<Result>(line: number, parse: () => Result): Result {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof MessageRefused)) throw error;
      const at = error.line === null ? line : line + error.line - 1;
      throw new StatementRefused(at, error.line === null ? error.message : notWellFormed);
    }
  }

  private refused(reason: string): StatementRefused {
    return new StatementRefused(this.line, reason);
  }
}
