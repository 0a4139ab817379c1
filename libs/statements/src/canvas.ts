/** Draws on the pages of a statement: text in two weights, lines, areas and pictures. All lengths are points. */
import type { Picture } from './logo.js';
import type { PdfFile } from './pdf-file.js';
import { type Limits, plainLine, wrapped } from './text.js';
import { points, Typeface } from './typeface.js';

/** US Letter. */
export const page = { width: 612, height: 792, margin: 40 } as const;
export const contentWidth = page.width - 2 * page.margin;
export const right = page.width - page.margin;

const colors = {
  ink: '0.09 0.11 0.16',
  gray: '0.38 0.41 0.47',
  brand: '0.07 0.2 0.4',
  line: '0.8 0.82 0.86',
  area: '0.94 0.95 0.97',
} as const;
export type Color = keyof typeof colors;

export interface TextStyle {
  readonly size: number;
  readonly bold?: boolean;
  readonly color?: Color;
}

export interface TextPlace {
  readonly x: number;
  /** Of the baseline. */
  readonly y: number;
  /** x is the right end of the text. */
  readonly alignsRight?: boolean;
}

export class Canvas {
  readonly #file: PdfFile;
  readonly #regular: Typeface;
  readonly #bold: Typeface;

  constructor(file: PdfFile) {
    this.#file = file;
    this.#regular = new Typeface(file, 'DejaVuSansCondensed');
    this.#bold = new Typeface(file, 'DejaVuSansCondensed-Bold');
  }

  /** A text of strangers as one line that can be drawn. */
  plain(text: string, max: Limits['max']): string {
    const { hasGlyph } = this.#regular;
    const bold = this.#bold.hasGlyph;
    return plainLine(text, { max, hasGlyph: (point) => hasGlyph(point) && bold(point) });
  }

  widthOf(text: string, { size, bold }: TextStyle): number {
    return this.#typeface(bold).widthOf(text, size);
  }

  wrap(text: string, style: TextStyle, { width, linesMax }: { width: number; linesMax: number }) {
    return wrapped(text, { width, linesMax, widthOf: (part) => this.widthOf(part, style) });
  }

  text(text: string, style: TextStyle, { x, y, alignsRight }: TextPlace): void {
    const left = alignsRight === true ? x - this.widthOf(text, style) : x;
    this.#file.write(`${colors[style.color ?? 'ink']} rg`);
    this.#typeface(style.bold).draw(text, { x: left, y, size: style.size });
  }

  /** Horizontal lines of the width of the text. */
  rules(heights: readonly number[]): void {
    const lines = heights.map((y) => `${page.margin} ${points(y)} m ${right} ${points(y)} l S`);
    if (lines.length > 0) this.#file.write(`0.5 w ${colors.line} RG\n${lines.join('\n')}`);
  }

  area(top: number, height: number): void {
    const box = `${page.margin} ${points(top)} ${contentWidth} ${points(height)}`;
    this.#file.write(`${colors.area} rg\n${box} re f`);
  }

  picture({ width, height, rgb }: Picture, place: { x: number; y: number; scale: number }): void {
    const { pdfkit } = this.#file;
    const image = pdfkit.ref({
      ...{ Type: 'XObject', Subtype: 'Image', Width: width, Height: height },
      ...{ ColorSpace: 'DeviceRGB', BitsPerComponent: 8 },
    });
    image.end(rgb);
    pdfkit.page.xobjects.Logo = image;
    const [wide, high] = [points(width * place.scale), points(height * place.scale)];
    const bottom = points(place.y + height * place.scale);
    this.#file.write(`q ${wide} 0 0 -${high} ${points(place.x)} ${bottom} cm /Logo Do Q`);
  }

  /** A text that many pages show and that is known only at the end. */
  laterText(style: TextStyle): LaterText {
    const { pdfkit } = this.#file;
    const name = 'Later';
    const form = pdfkit.ref({
      ...{ Type: 'XObject', Subtype: 'Form', BBox: [0, -style.size, contentWidth, style.size] },
      Resources: { Font: this.#typeface(style.bold).reference },
    });
    return {
      draw: ({ x, y }) => {
        pdfkit.page.xobjects[name] = form;
        this.#file.write(`q 1 0 0 1 ${points(x)} ${points(y)} cm /${name} Do Q`);
      },
      set: (text) => {
        const color = `${colors[style.color ?? 'ink']} rg`;
        const place = { x: 0, y: 0, size: style.size };
        form.end(`${color}\n${this.#typeface(style.bold).operators(text, place)}`);
      },
    };
  }

  #typeface(bold = false): Typeface {
    return bold ? this.#bold : this.#regular;
  }
}

export interface LaterText {
  draw(place: { readonly x: number; readonly y: number }): void;
  set(text: string): void;
}
