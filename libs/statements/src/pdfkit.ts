/**
 * What this library uses of pdfkit 0.20, with parts that its own types lack or have wrong. The version is pinned, and
 * the tests read the files back.
 */

export interface PdfkitReference {
  data: Record<string, unknown> & { StructParents?: number };
  buffer: Uint8Array[];
  finalize(): void;
  end(chunk?: Uint8Array | string): void;
}

export interface PdfkitPage {
  content: PdfkitReference;
  readonly dictionary: PdfkitReference;
  readonly fonts: Record<string, PdfkitReference>;
  readonly xobjects: Record<string, PdfkitReference>;
}

export interface PdfkitTag {
  readonly dictionary: { readonly data: { readonly S: string } };
  add(child: PdfkitTag | PdfkitMarked): this;
  end(): void;
}

/** Content of a page that belongs to a tag. */
export interface PdfkitMarked {
  readonly refs: readonly unknown[];
}

/** In thousandths of the font's size. */
export interface PdfkitPosition {
  readonly xAdvance: number;
  readonly xOffset: number;
  readonly yOffset: number;
}

export interface PdfkitFont {
  readonly id: string;
  readonly font: { hasGlyphForCodePoint(codePoint: number): boolean };
  ref(): PdfkitReference;
  /** Glyphs as four hexadecimal digits each, and where they are. */
  encode(text: string, features?: object): [glyphs: string[], positions: PdfkitPosition[]];
}

export interface Pdfkit {
  page: PdfkitPage;
  readonly info: Record<string, unknown>;
  readonly outline: { addItem(title: string, options: { fit: boolean }): unknown };
  /** The font that font() has chosen. */
  readonly _font: PdfkitFont;
  read(): Uint8Array | null;
  push(chunk: Uint8Array | null): boolean;
  ref(data?: object): PdfkitReference;
  font(file: Uint8Array): this;
  addPage(): this;
  flushPages(): void;
  addContent(operators: string): this;
  struct(type: string, options: object): PdfkitTag;
  addStructure(element: PdfkitTag): this;
  markContent(tag: 'Artifact', options: { readonly type: string }): this;
  markStructureContent(tag: string): PdfkitMarked;
  endMarkedContent(): this;
  getStructParentTree(): {
    get(key: number): unknown;
    add(key: number, tags: unknown): unknown;
  };
  file(bytes: Uint8Array, options: object): unknown;
  endMetadata(): void;
  end(): void;
}
