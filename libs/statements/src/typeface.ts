/**
 * Text in the page's own operators. A letter of a simple script is one glyph of known width; all other text is shaped,
 * so that Arabic letters join and marks stand above their letters. Without kerning the figures of a column line up, and
 * copied text is what was printed.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { visualRuns } from './bidi.js';
import type { PdfFile } from './pdf-file.js';
import type { PdfkitFont } from './pdfkit.js';

const fontFiles = createRequire(import.meta.url);
/** Scripts in which a glyph does not depend on its neighbors. Marks do. */
const simple =
  /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Common}]*$/u;
const thousand = 1_000;

interface Letter {
  /** Hexadecimal. */
  readonly glyph: string;
  /** Thousandths of the size. */
  readonly advance: number;
}

export interface Place {
  /** Points from the left edge. */
  readonly x: number;
  /** Points from the top edge to the baseline. */
  readonly y: number;
  readonly size: number;
}

export class Typeface {
  readonly #file: PdfFile;
  readonly #font: PdfkitFont;
  /** No larger than the font. */
  readonly #letters = new Map<string, Letter>();

  constructor(file: PdfFile, name: 'DejaVuSansCondensed' | 'DejaVuSansCondensed-Bold') {
    this.#file = file;
    const bytes = readFileSync(fontFiles.resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`));
    file.pdfkit.font(bytes);
    this.#font = file.pdfkit._font;
  }

  readonly hasGlyph = (codePoint: number): boolean =>
    this.#font.font.hasGlyphForCodePoint(codePoint);

  /** Points. */
  widthOf(text: string, size: number): number {
    return (this.#advanceOf(text) * size) / thousand;
  }

  draw(text: string, { x, y, size }: Place): void {
    const { page } = this.#file.pdfkit;
    page.fonts[this.#font.id] ??= this.#font.ref();
    this.#file.write(this.operators(text, { x, y, size }));
  }

  /** For content that is not on a page. */
  operators(text: string, { x, y, size }: Place): string {
    const shown: string[] = [`BT /${this.#font.id} ${size} Tf`];
    let left = x;
    for (const { text: run } of simple.test(text) ? [{ text }] : visualRuns(text)) {
      shown.push(this.#runOperators(run, { x: left, y, size }));
      left += (this.#runAdvance(run) * size) / thousand;
    }
    return `${shown.join('\n')}\nET`;
  }

  get reference() {
    return { [this.#font.id]: this.#font.ref() };
  }

  #runOperators(run: string, { x, y, size }: Place): string {
    if (simple.test(run)) {
      const glyphs = Array.from(run, (character) => this.#letter(character).glyph).join('');
      return `${matrix(x, y)} <${glyphs}> Tj`;
    }
    const [glyphs, positions] = this.#font.encode(run, wholeRun);
    let left = x;
    return glyphs
      .map((glyph, at) => {
        const { xAdvance, xOffset, yOffset } = positions[at] ?? nowhere;
        const place = matrix(left + (xOffset * size) / thousand, y - (yOffset * size) / thousand);
        left += (xAdvance * size) / thousand;
        return `${place} <${glyph}> Tj`;
      })
      .join('\n');
  }

  #advanceOf(text: string): number {
    const runs = simple.test(text) ? [{ text }] : visualRuns(text);
    return runs.reduce((sum, { text: run }) => sum + this.#runAdvance(run), 0);
  }

  #runAdvance(run: string): number {
    if (simple.test(run)) {
      let advance = 0;
      for (const character of run) advance += this.#letter(character).advance;
      return advance;
    }
    const [, positions] = this.#font.encode(run, wholeRun);
    return positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0);
  }

  #letter(character: string): Letter {
    const known = this.#letters.get(character);
    if (known !== undefined) return known;
    const [[glyph = '0000'], [position = nowhere]] = this.#font.encode(character);
    const letter = { glyph, advance: position.xAdvance };
    this.#letters.set(character, letter);
    return letter;
  }
}

/** With features, even none, pdfkit shapes the run as a whole and not word by word. */
const wholeRun = {};
const nowhere = { xAdvance: 0, xOffset: 0, yOffset: 0 };

/** pdfkit turns the page upside down, so that y grows downward. This turns the text back. */
function matrix(x: number, y: number): string {
  return `1 0 0 -1 ${points(x)} ${points(y)} Tm`;
}

/** A hundredth of a point is finer than any printer. */
export function points(value: number): string {
  return String(Math.round(value * 100) / 100);
}
