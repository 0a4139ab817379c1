/**
 * One walk over the text of an XML message before the parser sees it. It refuses what no bank message needs
 * and what attacks need: DTDs, processing instructions, entities other than the five of XML, control
 * characters, too many elements, attributes or levels. Linear in the size of the text.
 */
export const xmlLimits = {
  /** Of one message. Bank messages about one payment have a few kilobytes. */
  messageMaxBytes: 256 * 1024,
  /** In scope of one element. */
  namespacesMax: 32,
  depthMax: 40,
  elementsMax: 20_000,
  tagMaxCharacters: 4_096,
} as const;

/** The bytes are no message that we read. `line` and `column` count from 1; null when no place is at fault. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';
  constructor(
    reason: string,
    readonly line: number | null = null,
    readonly column: number | null = null,
  ) {
    super(line === null ? reason : `line ${line}, column ${column ?? 1}: ${reason}`);
  }
}

const codePointOf = (digits: string, radix: 10 | 16): string | null => {
  const value = Number.parseInt(digits, radix);
  const isSurrogate = value >= 0xd800 && value <= 0xdfff;
  return value > 0x10ffff || isSurrogate ? null : String.fromCodePoint(value);
};

const entityPattern = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));/y;
const entitiesPattern = new RegExp(entityPattern.source, 'g');
// Everything that XML 1.0 does not allow in a document.
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** @throws MessageRefused */
export function guardXml(text: string): void {
  const bad = notXml.exec(text);
  if (bad !== null) throw refusalAt(text, bad.index, 'a control character');
  const entities = new EntityGuard(text);
  let depth = 0;
  let elements = 0;
  for (let open = text.indexOf('<'); open !== -1; ) {
    let end: number;
    if (text.startsWith('<?', open)) end = declarationEnd(text, open);
    else if (text.startsWith('<!', open)) {
      entities.checkUntil(open);
      end = commentOrCdataEnd(text, open);
      entities.skipTo(end);
    } else {
      end = tagEnd(text, open);
      if (text[open + 1] === '/') depth -= 1;
      else {
        elements += 1;
        if (text[end - 2] !== '/') depth += 1;
      }
      if (elements > xmlLimits.elementsMax)
        throw refusalAt(text, open, `more than ${xmlLimits.elementsMax} elements`);
      if (depth > xmlLimits.depthMax)
        throw refusalAt(text, open, `more than ${xmlLimits.depthMax} levels`);
    }
    open = text.indexOf('<', end);
  }
  entities.checkUntil(text.length);
}

/** Finds each ampersand once, so that the walk stays linear. */
class EntityGuard {
  private next: number;

  constructor(private readonly text: string) {
    this.next = text.indexOf('&');
  }

  skipTo(index: number): void {
    if (this.next !== -1 && this.next < index) this.next = this.text.indexOf('&', index);
  }

  /** @throws MessageRefused */
  checkUntil(index: number): void {
    for (; this.next !== -1 && this.next < index; this.skipTo(this.next + 1)) {
      entityPattern.lastIndex = this.next;
      const found = entityPattern.exec(this.text)?.[0] ?? '';
      const character = withoutEntities(found);
      if (character === found || notXml.test(character))
        throw refusalAt(this.text, this.next, 'an entity that XML does not define');
    }
  }
}

/** Replaces the five entities of XML and character references. The guard has refused all others. */
export function withoutEntities(text: string): string {
  return text.replace(
    entitiesPattern,
    (whole, named: string | undefined, decimal: string | undefined, hex: string | undefined) => {
      if (named !== undefined) return named5[named as keyof typeof named5];
      const character =
        decimal !== undefined ? codePointOf(decimal, 10) : codePointOf(hex ?? '', 16);
      return character ?? whole;
    },
  );
}

const named5 = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" } as const;

function declarationEnd(text: string, open: number): number {
  const end = text.indexOf('?>', open);
  const declaration = end === -1 ? '' : text.slice(open, end + 2);
  if (open !== 0 || !/^<\?xml\s[^<>]{0,100}\?>$/.test(declaration))
    throw refusalAt(text, open, 'a processing instruction');
  const encoding = /encoding\s*=\s*["']([^"']*)["']/.exec(declaration)?.[1];
  if (encoding !== undefined && encoding.toLowerCase() !== 'utf-8')
    throw refusalAt(text, open, 'an encoding other than UTF-8');
  return end + 2;
}

function commentOrCdataEnd(text: string, open: number): number {
  const [start, close] = text.startsWith('<!--', open)
    ? [open + 4, '-->']
    : text.startsWith('<![CDATA[', open)
      ? [open + 9, ']]>']
      : [null, ''];
  if (start === null) throw refusalAt(text, open, 'a document type or entity declaration');
  const end = text.indexOf(close, start);
  if (end === -1) throw refusalAt(text, open, 'a comment or CDATA section without an end');
  return end + close.length;
}

/** Behind the tag's `>`. A quoted attribute value may hold one. */
function tagEnd(text: string, open: number): number {
  let quote = '';
  const limit = Math.min(text.length, open + xmlLimits.tagMaxCharacters);
  for (let at = open + 1; at < limit; at += 1) {
    const character = text[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '<') break;
    else if (character === '>') return at + 1;
  }
  throw refusalAt(text, open, 'a tag without an end');
}

function refusalAt(text: string, index: number, what: string): MessageRefused {
  const before = text.slice(0, index);
  const line = before.split('\n').length;
  return new MessageRefused(`${what} is not allowed`, line, index - before.lastIndexOf('\n'));
}
