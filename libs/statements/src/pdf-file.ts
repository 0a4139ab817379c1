/**
 * A PDF file that is written while it is made: pages and tags leave memory as soon as they are complete.
 *
 * pdfkit makes the file. Three things are done here because pdfkit does not do them:
 *  - The same calls give the same bytes on every machine. Node's zlib compresses differently from version to version
 *    and from processor to processor, so streams are compressed by fflate, whose version is pinned. Date and ID are given.
 *  - The table of tags (the parent tree) of a page is written with its page. pdfkit keeps it to the end.
 *  - A page can have a second content stream, written at the end: the first page shows sums of all that follows.
 */
import { setImmediate } from 'node:timers/promises';
import { zlibSync } from 'fflate';
import PdfkitDocument from 'pdfkit';
import type { Pdfkit, PdfkitPage, PdfkitReference, PdfkitTag } from './pdfkit.js';

/** Output that is handed over at once. */
const blockBytes = 64 * 1024;

export interface FileDescription {
  readonly title: string;
  readonly author: string;
  readonly subject: string;
  /** Of this document and no other. */
  readonly id: string;
  readonly createdAt: Date;
}

/** A file inside of the file, which viewers list and save. */
export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  readonly description: string;
  readonly bytes: Uint8Array;
  readonly createdAt: Date;
}

export interface PageSize {
  /** Points. */
  readonly width: number;
  readonly height: number;
}

export type TagName = 'Document' | 'Sect' | 'H1' | 'H2' | 'P' | 'Figure' | TableTag;
type TableTag = 'Table' | 'THead' | 'TBody' | 'TR' | 'TH' | 'TD';

export interface TagOptions {
  readonly scope?: 'Column' | 'Row';
  /** What a reader hears instead of a picture. */
  readonly alt?: string;
  readonly title?: string;
}

export interface Tag {
  add(name: TagName, options?: TagOptions): Tag;
  /** Draws inside of the tag, on the current page. */
  draw(content: () => void): this;
  /** Nothing more comes: the tag leaves memory. */
  end(): void;
}

export class PdfFile {
  readonly pdfkit: Pdfkit;
  /** The root of all tags. */
  readonly root: Tag;
  /** Full blocks, and the one that is being filled: pdfkit writes a few bytes at a time. */
  #blocks: Buffer[] = [];
  #block = Buffer.alloc(blockBytes);
  #filled = 0;
  #isLateDrawn = false;
  #first: { readonly page: PdfkitPage; readonly late: PdfkitReference } | null = null;

  constructor(
    { title, author, subject, id, createdAt }: FileDescription,
    { width, height }: PageSize,
  ) {
    this.pdfkit = new PdfkitDocument({
      ...{ pdfVersion: '1.7', lang: 'en-US', tagged: true, displayTitle: true },
      ...{ autoFirstPage: false, size: [width, height], margin: 0 },
      // Its caches of words and uncompressed pages would grow with the document.
      ...{ font: null, fontLayoutCache: false, compress: false },
      info: {
        ...{ Title: title, Author: author, Subject: subject, Keywords: id },
        ...{ Producer: 'pdfkit', Creator: 'Payment Initiation Service' },
        ...{ CreationDate: createdAt, ModDate: createdAt },
      },
    } as object) as unknown as Pdfkit;
    this.#take(this.pdfkit.read());
    this.pdfkit.push = (chunk) => this.#take(chunk);
    const ref = this.pdfkit.ref.bind(this.pdfkit);
    this.pdfkit.ref = (data) => compressing(ref(data));
    escapeMetadata(this.pdfkit);
    const root = this.pdfkit.struct('Document', { title });
    this.pdfkit.addStructure(root);
    this.root = this.#tag(root);
  }

  addPage(): void {
    this.#closePage();
    this.pdfkit.addPage();
    if (this.#first !== null) return;
    const { page } = this.pdfkit;
    const late = this.pdfkit.ref();
    page.dictionary.data.Contents = [page.content, late];
    this.#first = { page, late };
  }

  /** Draws on the first page what is known only at the end. Nothing is drawn after it. */
  drawLate(content: () => void): void {
    if (this.#first === null) throw new Error('the file has no page');
    const { page, late } = this.#first;
    this.#closePage();
    this.pdfkit.flushPages();
    page.content = late;
    this.pdfkit.page = page;
    content();
    late.end();
    this.#isLateDrawn = true;
  }

  /** Draws what is not read aloud: lines, page headers and page numbers. */
  drawArtifact(type: 'Pagination' | 'Layout', content: () => void): void {
    this.pdfkit.markContent('Artifact', { type });
    content();
    this.pdfkit.endMarkedContent();
  }

  write(operators: string): void {
    this.pdfkit.addContent(operators);
  }

  attach({ name, mediaType: type, description, bytes, createdAt }: Attachment): void {
    const dates = { creationDate: createdAt, modifiedDate: createdAt };
    this.pdfkit.file(bytes, { name, type, description, ...dates, relationship: 'Data' });
  }

  addBookmark(title: string): void {
    this.pdfkit.outline.addItem(title, { fit: true });
  }

  end(): void {
    if (!this.#isLateDrawn) this.#first?.late.end();
    this.pdfkit.end();
  }

  /** The blocks that are full, and with `rest` the last one. */
  async *output({ rest = false } = {}): AsyncIterable<Uint8Array> {
    if (this.#blocks.length === 0 && !rest) return;
    const blocks = this.#blocks;
    this.#blocks = [];
    yield* blocks;
    if (rest && this.#filled > 0) yield this.#block.subarray(0, this.#filled);
    // Other work of the process goes on between two pages.
    await setImmediate();
  }

  #take(chunk: Uint8Array | null): boolean {
    for (let at = 0; chunk !== null && at < chunk.length; ) {
      const part = chunk.subarray(at, at + blockBytes - this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < blockBytes) break;
      this.#blocks.push(this.#block);
      this.#block = Buffer.alloc(blockBytes);
      this.#filled = 0;
    }
    return true;
  }

  /** The tags of the first page are kept: more may come in drawLate(). */
  #closePage(): void {
    const { page } = this.pdfkit;
    if (page === null || page === this.#first?.page) return;
    const tree = this.pdfkit.getStructParentTree();
    const key = page.dictionary.data.StructParents;
    const tags = key === undefined ? undefined : tree.get(key);
    if (key === undefined || !Array.isArray(tags)) return;
    const row = this.pdfkit.ref(tags);
    row.end();
    row.data = {};
    tree.add(key, row);
  }

  #tag(element: PdfkitTag): Tag {
    const tag: Tag = {
      add: (name, options = {}) => {
        const child = this.pdfkit.struct(name, options);
        element.add(child);
        return this.#tag(child);
      },
      draw: (content) => {
        const marked = this.pdfkit.markStructureContent(element.dictionary.data.S);
        content();
        this.pdfkit.endMarkedContent();
        element.add(marked);
        return tag;
      },
      end: () => element.end(),
    };
    return tag;
  }
}

/** Compresses a stream when it is complete. */
function compressing(reference: PdfkitReference): PdfkitReference {
  // Tags, the bulk of all objects, have no stream. Metadata are readable for programs that know no PDF.
  if (Array.isArray(reference.data) || 'S' in reference.data) return reference;
  if (reference.data.Type === 'Metadata') return reference;
  const finalize = reference.finalize.bind(reference);
  reference.finalize = () => {
    const bytes = Buffer.concat(reference.buffer);
    if (bytes.length > 0) {
      reference.buffer = [zlibSync(bytes)];
      reference.data.Filter = 'FlateDecode';
    }
    finalize();
  };
  return reference;
}

/** pdfkit writes title and author into the XML of the metadata as they are. */
function escapeMetadata(pdfkit: Pdfkit): void {
  const endMetadata = pdfkit.endMetadata.bind(pdfkit);
  pdfkit.endMetadata = () => {
    for (const [key, value] of Object.entries(pdfkit.info))
      if (typeof value === 'string') pdfkit.info[key] = value.replace(/[<>&"']/g, entity);
    endMetadata();
  };
}

function entity(character: string): string {
  return `&#${character.codePointAt(0)};`;
}
