/** Reads a PDF back with a library that had no part in writing it. */
import { renderStatement } from '../statement-pdf.js';
import type { StatementContent } from '../content.js';

/** A tag, or a number of content pieces in place of them. */
export interface ReadTag {
  readonly role: string;
  readonly alt?: string;
  readonly children: readonly ReadTag[];
  /** The text of the tag and of all tags in it. */
  readonly text: string;
}

export interface ReadPdf {
  /** By page, one line for each piece of text. */
  readonly pages: readonly (readonly string[])[];
  readonly tags: readonly (ReadTag | null)[];
  readonly info: Readonly<Record<string, unknown>>;
  readonly language: string | null;
  readonly bookmarks: readonly string[];
  readonly isTagged: boolean;
}

export async function bytesOf(output: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const blocks: Uint8Array[] = [];
  for await (const block of output) blocks.push(block);
  return Buffer.concat(blocks);
}

export async function rendered(content: StatementContent): Promise<ReadPdf> {
  return readPdf(await bytesOf(renderStatement(content)));
}

/** Reading the tags of a long file takes minutes. Without them each page has null. */
export async function readPdf(file: Uint8Array, { tags = true } = {}): Promise<ReadPdf> {
  // Loaded only by those who read: the bench does not.
  const { getDocument } = await import('pdfjs-dist/legacy/build/pdf.mjs');
  const task = getDocument({ data: new Uint8Array(file), verbosity: 0, useSystemFonts: false });
  const document = await task.promise;
  try {
    const numbers = Array.from({ length: document.numPages }, (_, at) => at + 1);
    const pages = [];
    for (const number of numbers) pages.push(await readPage(await document.getPage(number), tags));
    const { info } = await document.getMetadata();
    const outline = (await document.getOutline()) as { title: string }[] | null;
    // The types of the library say an object. It is a map.
    const marks = (await document.getMarkInfo()) as unknown as Map<string, boolean> | null;
    return {
      pages: pages.map(({ lines }) => lines),
      tags: pages.map(({ tag }) => tag),
      info: info as Record<string, unknown>,
      language: (info as { Language?: string }).Language ?? null,
      bookmarks: (outline ?? []).map(({ title }) => title),
      isTagged: marks?.get('Marked') === true,
    };
  } finally {
    await task.destroy();
  }
}

interface TextItem {
  readonly type?: string;
  readonly id?: string;
  readonly str?: string;
}

interface TreeNode {
  readonly role?: string;
  readonly alt?: string;
  readonly id?: string;
  readonly children?: readonly TreeNode[];
}

interface Page {
  getTextContent(options: object): Promise<{ items: readonly unknown[] }>;
  getStructTree(): Promise<unknown>;
}

async function readPage(page: Page, withTags: boolean) {
  const { items } = await page.getTextContent({
    ...{ includeMarkedContent: true, disableNormalization: true },
  });
  const lines: string[] = [];
  const textById = new Map<string, string>();
  const open: string[] = [];
  for (const { type, id, str } of items as readonly TextItem[]) {
    if (type === 'endMarkedContent') open.pop();
    else if (type !== undefined) open.push(id ?? '');
    else if (str !== undefined && str.trim() !== '') {
      lines.push(str);
      const key = open.findLast((one) => one !== '') ?? '';
      const before = textById.get(key);
      textById.set(key, before === undefined ? str : `${before} ${str}`);
    }
  }
  const tree = withTags ? ((await page.getStructTree()) as TreeNode | null) : null;
  return { lines, tag: tree === null ? null : tagOf(tree, textById) };
}

function tagOf(node: TreeNode, textById: ReadonlyMap<string, string>): ReadTag {
  const children = (node.children ?? []).filter(({ role }) => role !== undefined);
  const own = (node.children ?? []).flatMap(({ id }) =>
    id === undefined ? [] : [textById.get(id) ?? ''],
  );
  const read = children.map((child) => tagOf(child, textById));
  const text = [...own, ...read.map((child) => child.text)].filter((part) => part !== '').join(' ');
  const alt = node.alt === undefined ? {} : { alt: node.alt };
  return { role: node.role ?? '', ...alt, children: read, text: text.trim() };
}

/** All tags of one role, from top to bottom. */
export function tagsOf(tag: ReadTag | null | undefined, role: string): readonly ReadTag[] {
  if (tag === null || tag === undefined) return [];
  const inside = tag.children.flatMap((child) => tagsOf(child, role));
  return tag.role === role ? [tag, ...inside] : inside;
}

/** The files inside of a PDF, by name. */
export async function attachmentsOf(file: Uint8Array): Promise<ReadonlyMap<string, Buffer>> {
  const { getDocument } = await import('pdfjs-dist/legacy/build/pdf.mjs');
  const task = getDocument({ data: new Uint8Array(file), verbosity: 0, useSystemFonts: false });
  const document = await task.promise;
  try {
    const found = new Map<string, Buffer>();
    for (const [id, { filename }] of (await document.getAttachments()) ?? [])
      found.set(filename, Buffer.from((await document.getAttachmentContent(id)) ?? []));
    return found;
  } finally {
    await task.destroy();
  }
}
