/**
 * Cuts a large XML document into tags, text and comments as its bytes arrive. It finds where they begin and end, and
 * no more: names, attributes, entities and characters are judged by the XML parser, element by element. Document types
 * and processing instructions are refused here.
 */
import { StatementRefused } from './statement-parts.js';

export type XmlToken =
  | {
      readonly kind: 'open' | 'empty' | 'close' | 'text';
      readonly text: string;
      readonly line: number;
    }
  /** Only inside elements. */
  | { readonly kind: 'comment' | 'cdata'; readonly text: string; readonly line: number };

/** One tag, text or comment. No bank writes longer ones. */
const tokenMax = 1_024 * 1_024;
/** Of the XML declaration. It has some fifty characters. */
const declarationMax = 1_024;
const notWellFormed = 'this is not well-formed XML';
const declaration =
  /^<\?xml\s+version\s*=\s*(?:"1\.\d"|'1\.\d')(?:\s+encoding\s*=\s*(?:"[\w.-]+"|'[\w.-]+'))?(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>/;

/** @throws StatementRefused */
export async function* xmlTokens(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<XmlToken[]> {
  const cutter = new Cutter();
  const decoder = new LineDecoder();
  for await (const chunk of chunks) yield cutter.add(decoder.text(chunk, cutter.line));
  yield cutter.end(decoder.end(cutter.line));
}

/** UTF-8 as text with line feeds alone, as XML demands. */
class LineDecoder {
  private readonly utf8 = new TextDecoder('utf-8', { fatal: true });
  private held = '';

  text(chunk: Uint8Array, line: number): string {
    return this.normalized(() => this.utf8.decode(chunk, { stream: true }), line);
  }

  end(line: number): string {
    const last = this.normalized(() => this.utf8.decode(), line);
    return last + (this.held === '' ? '' : '\n');
  }

  /** A carriage return at the end waits for what follows it. */
  private normalized(decode: () => string, line: number): string {
    let text: string;
    try {
      text = this.held + decode();
    } catch {
      throw new StatementRefused(line, 'this is not UTF-8');
    }
    this.held = text.endsWith('\r') ? '\r' : '';
    const whole = this.held === '' ? text : text.slice(0, -1);
    return whole.includes('\r') ? whole.replaceAll(/\r\n?/g, '\n') : whole;
  }
}

class Cutter {
  /** Where the next token begins. */
  line = 1;
  private rest = '';
  private isFirst = true;

  add(text: string): XmlToken[] {
    this.rest += text;
    const tokens: XmlToken[] = [];
    let at = 0;
    if (this.isFirst) {
      const begin = this.declarationEnd();
      if (begin === null) {
        if (this.rest.length > declarationMax) throw new StatementRefused(1, notWellFormed);
        return tokens;
      }
      this.isFirst = false;
      this.count(this.rest.slice(0, begin));
      at = begin;
    }
    for (let token = this.next(at); token !== null; token = this.next(at)) {
      tokens.push(token);
      this.count(token.text);
      at += token.text.length;
    }
    this.rest = this.rest.slice(at);
    if (this.rest.length > tokenMax)
      throw new StatementRefused(this.line, `a tag or text is longer than ${tokenMax} characters`);
    return tokens;
  }

  end(text: string): XmlToken[] {
    const tokens = this.add(text);
    if (this.rest.trim() !== '' || this.isFirst)
      throw new StatementRefused(this.line, 'the file ends too early');
    return tokens;
  }

  /** Behind the XML declaration, if there is one; null while that is open. */
  private declarationEnd(): number | null {
    const mark = '<?xml';
    const begin = this.rest.startsWith('\ufeff') ? 1 : 0;
    const head = this.rest.slice(begin, begin + mark.length);
    if (head !== mark) return mark.startsWith(head) ? null : begin;
    const end = this.rest.indexOf('?>', begin);
    if (end < 0) return null;
    const [text] = declaration.exec(this.rest.slice(begin)) ?? [];
    if (text === undefined) throw new StatementRefused(1, notWellFormed);
    if (!/encoding/.test(text) || /encoding\s*=\s*["']utf-8["']/i.test(text))
      return begin + text.length;
    throw new StatementRefused(1, 'an encoding other than UTF-8 is not allowed');
  }

  /** The token at this place; null when more bytes are needed. */
  private next(at: number): XmlToken | null {
    const { rest, line } = this;
    if (at >= rest.length) return null;
    if (rest[at] !== '<') {
      const end = rest.indexOf('<', at);
      return end < 0 ? null : { kind: 'text', text: rest.slice(at, end), line };
    }
    const mark = rest[at + 1];
    if (mark === undefined) return null;
    if (mark === '?') throw new StatementRefused(line, 'a processing instruction is not allowed');
    if (mark === '!') return this.special(at);
    const end = mark === '/' ? rest.indexOf('>', at) : tagEnd(rest, at);
    if (end < 0) return null;
    const text = rest.slice(at, end + 1);
    if (mark === '/') return { kind: 'close', text, line };
    return { kind: text.endsWith('/>') ? 'empty' : 'open', text, line };
  }

  private special(at: number): XmlToken | null {
    const { rest, line } = this;
    for (const { kind, begin, end } of specials) {
      const head = rest.slice(at, at + begin.length);
      if (head.length < begin.length && begin.startsWith(head)) return null;
      if (head !== begin) continue;
      const found = rest.indexOf(end, at + begin.length);
      if (found < 0) return null;
      const text = rest.slice(at, found + end.length);
      return { kind, text, line };
    }
    throw new StatementRefused(line, 'a document type is not allowed');
  }

  private count(text: string): void {
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.line += 1;
  }
}

const specials = [
  { kind: 'comment', begin: '<!--', end: '-->' },
  { kind: 'cdata', begin: '<![CDATA[', end: ']]>' },
] as const;

/** The end of a start tag: quoted values may hold a `>`. */
function tagEnd(text: string, from: number): number {
  let quote = '';
  for (let at = from + 1; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '>') return at;
    else if (character === '"' || character === "'") quote = character;
  }
  return -1;
}
