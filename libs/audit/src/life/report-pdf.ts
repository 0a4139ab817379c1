/**
 * A report as a PDF with the proofs of its payment inside: the attachment is the bundle of `pis audit export`, which
 * tools/verifier/verify.mjs checks offline. The same report and bundle give the same bytes.
 */
import {
  Canvas,
  contentWidth,
  page,
  PdfFile,
  right,
  type Tag,
  type TextStyle,
} from '@pis/statements/pdf';
import { bundleText, type ProofBundle } from './proof-bundle.js';
import type { Report, ReportItem } from './report.js';

export interface PdfOptions {
  readonly bundle: ProofBundle;
  readonly createdAt: Date;
}

const bottom = page.height - 52;
const footerBaseline = page.height - 30;
const top = 54;
const indent = 16;
/** Of a text of strangers: characters, and lines of the page. */
const valueMax = 2_000;
const linesMax = 20;
const styles = {
  title: { size: 15, bold: true, color: 'brand' },
  section: { size: 12, bold: true, color: 'brand' },
  head: { size: 9, bold: true },
  fact: { size: 8 },
  note: { size: 8, color: 'gray' },
} as const satisfies Record<string, TextStyle>;

export async function pdfOfReport(report: Report, options: PdfOptions): Promise<Buffer> {
  const pages = new ReportPages(report, options);
  const blocks: Uint8Array[] = [];
  for (const section of report.sections) {
    pages.section(section.title);
    if (section.items.length === 0) pages.note('None.');
    for (const item of section.items) {
      pages.item(item);
      for await (const block of pages.file.output()) blocks.push(block);
    }
  }
  pages.finish();
  for await (const block of pages.file.output({ rest: true })) blocks.push(block);
  return Buffer.concat(blocks);
}

class ReportPages {
  readonly file: PdfFile;
  readonly #canvas: Canvas;
  readonly #options: PdfOptions;
  #pages = 0;
  /** Where the next line begins. */
  #y = top;

  constructor({ title, facts }: Report, options: PdfOptions) {
    this.#options = options;
    const { bundle, createdAt } = options;
    const id = bundle.paymentId;
    const about = { author: 'Payment Initiation Service', subject: 'Evidence with proofs' };
    this.file = new PdfFile({ title, ...about, id, createdAt }, page);
    this.#canvas = new Canvas(this.file);
    this.#openPage();
    this.#paragraph('H1', title, styles.title, { x: page.margin, gap: 8 });
    this.#facts([...facts, ['made', createdAt.toISOString()]]);
    this.note(
      `Attached: ${attachmentName}, the proofs of ${bundle.events.length} events in a signed log of ${bundle.treeSize}.`,
    );
  }

  section(title: string): void {
    this.#paragraph('H2', title, styles.section, { x: page.margin, gap: 14 });
    this.file.addBookmark(title);
  }

  item({ head, facts }: ReportItem): void {
    this.#paragraph('P', head, styles.head, { x: page.margin, gap: 6 });
    this.#facts(facts);
  }

  note(text: string): void {
    this.#paragraph('P', text, styles.note, { x: page.margin, gap: 6 });
  }

  finish(): void {
    const { bundle, createdAt } = this.#options;
    this.file.attach({
      ...{ name: attachmentName, mediaType: 'application/json', createdAt },
      description: 'Proofs of the events of the payment, for tools/verifier/verify.mjs',
      bytes: Buffer.from(bundleText(bundle)),
    });
    this.file.root.end();
    this.file.end();
  }

  #facts(facts: Report['facts']): void {
    for (const [name, value] of facts)
      this.#paragraph('P', `${name}: ${value}`, styles.fact, { x: page.margin + indent, gap: 0 });
  }

  #paragraph(
    name: 'H1' | 'H2' | 'P',
    text: string,
    style: TextStyle,
    { x, gap }: { readonly x: number; readonly gap: number },
  ): void {
    const width = contentWidth - (x - page.margin);
    const plain = this.#canvas.plain(text, valueMax);
    const lines = this.#canvas.wrap(plain, style, { width, linesMax });
    const lineHeight = style.size * 1.35;
    const height = gap + lines.length * lineHeight;
    if (this.#y + height > bottom) this.#openPage();
    const first = this.#y + gap + style.size;
    const tag: Tag = this.file.root.add(name);
    tag.draw(() =>
      lines.forEach((line, at) =>
        this.#canvas.text(line, style, { x, y: first + at * lineHeight }),
      ),
    );
    tag.end();
    this.#y += height;
  }

  #openPage(): void {
    this.file.addPage();
    this.#pages += 1;
    this.#y = top;
    this.file.drawArtifact('Pagination', () => {
      const place = { x: page.margin, y: footerBaseline };
      this.#canvas.text(`Page ${this.#pages}`, styles.note, place);
      const id = `Payment ${this.#options.bundle.paymentId}`;
      this.#canvas.text(id, styles.note, { ...place, x: right, alignsRight: true });
    });
  }
}

/** Of the bundle inside of the PDF. */
const attachmentName = 'proofs.json';
