/**
 * The statement as a PDF. The same content gives the same bytes, on every machine and at any time: no clock, no random
 * number, no language of the machine. Pages leave memory as they fill, whatever the number of lines.
 */
import { Canvas, contentWidth, page, right } from './canvas.js';
import type { LaterText } from './canvas.js';
import type { StatementContent, StatementLine } from './content.js';
import { lineCells, lineColumns, totalCells } from './line-cells.js';
import { pictureOf } from './logo.js';
import { PdfFile, type Tag } from './pdf-file.js';
import { assertTotals, moved, noSums, type LineSums, withLine } from './sums.js';
import { summaryCells, summaryColumns, summaryRows } from './summary.js';
import { type Cell, headerHeight, rowHeight, TableDrawing } from './table.js';
import { plainLine } from './text.js';
import { type Days, daysOf, money, monthName } from './words.js';

/** Characters. */
const nameMax = 200;
const logoBox = { width: 120, height: 36 } as const;
/** A viewer shows the names of the file in typefaces of its own. */
const anyLetter = { max: nameMax, hasGlyph: () => true } as const;
const small = { size: 7, color: 'gray' } as const;
const bottom = page.height - 52;
const footerBaseline = page.height - 30;
const summaryTop = 186;
const summaryRowHeight = 13;
const bodyTop = summaryTop + headerHeight + summaryRows * summaryRowHeight + 52;
const laterPageTop = 62;

/**
 * The file in blocks of at most 64 KiB.
 *
 * @throws RangeError for amounts that are not exact, and Error if the lines do not give the totals
 */
export async function* renderStatement(content: StatementContent): AsyncIterable<Uint8Array> {
  const pages = new StatementPages(content);
  let sums = noSums;
  for await (const line of content.lines) {
    sums = withLine(sums, line);
    pages.add(line);
    yield* pages.file.output();
  }
  assertTotals(content, sums);
  pages.finish(sums);
  yield* pages.file.output({ rest: true });
}

class StatementPages {
  readonly file: PdfFile;
  readonly #content: StatementContent;
  readonly #canvas: Canvas;
  readonly #days: Days;
  readonly #names: { readonly organization: string; readonly originator: string };
  readonly #month: string;
  readonly #lines: TableDrawing;
  readonly #summary: Tag;
  readonly #pageCount: LaterText;
  #table: { readonly tag: Tag; body: Tag } | null = null;
  #pages = 0;
  /** Where the next row begins. */
  #y = bodyTop;
  #rules: number[] = [];

  constructor(content: StatementContent) {
    this.#content = content;
    this.#month = monthName(content.periodYear, content.periodMonth);
    this.#days = daysOf(content.timeZone);
    this.file = fileOf(content, this.#month);
    this.#canvas = new Canvas(this.file);
    this.#pageCount = this.#canvas.laterText(small);
    this.#names = {
      organization: this.#canvas.plain(content.organizationName, nameMax),
      originator: this.#canvas.plain(content.originatorName, nameMax),
    };
    this.#lines = new TableDrawing(this.file, this.#canvas, lineColumns(page.margin));
    this.#openPage();
    this.#drawHead();
    this.#summary = this.file.root.add('Sect', { title: 'Summary' });
  }

  add(line: StatementLine): void {
    this.#addRow(lineCells(line, this.#canvas, this.#days));
  }

  finish(sums: LineSums): void {
    const all = moved(sums);
    if (this.#table === null) this.#sayThereIsNothing();
    else {
      const totals = { in: all.in.amountMinor, out: all.out.amountMinor };
      this.#addRow(totalCells({ ...totals, fees: sums.fees.amountMinor }, this.#canvas));
      this.#closeTable();
    }
    this.#pageCount.set(String(this.#pages));
    this.file.drawLate(() => this.#drawSummary(sums));
    this.#summary.end();
    this.file.root.end();
    this.file.end();
  }

  #addRow(cells: readonly Cell[]): void {
    const height = rowHeight(cells);
    this.#table ??= this.#openTable();
    if (this.#y + height > bottom) this.#turnPage(this.#table);
    this.#lines.row(this.#table.body.add('TR'), cells, this.#y);
    this.#y += height;
    this.#rules.push(this.#y);
  }

  #openTable(): { readonly tag: Tag; body: Tag } {
    this.#heading('Payments and movements');
    this.file.addBookmark('Payments and movements');
    const tag = this.file.root.add('Table', { title: 'Payments and movements' });
    const head = tag.add('THead');
    this.#lines.header(head.add('TR'), this.#y);
    head.end();
    this.#y += headerHeight;
    return { tag, body: tag.add('TBody') };
  }

  #turnPage(table: { readonly tag: Tag; body: Tag }): void {
    table.body.end();
    this.#closePage();
    this.#openPage();
    this.#lines.header(null, this.#y);
    this.#y += headerHeight;
    table.body = table.tag.add('TBody');
  }

  #closeTable(): void {
    this.#table?.body.end();
    this.#table?.tag.end();
    this.#closePage();
  }

  #sayThereIsNothing(): void {
    const text = `No activity in ${this.#month}.`;
    const paragraph = this.file.root.add('P');
    paragraph.draw(() => this.#canvas.text(text, { size: 9 }, { x: page.margin, y: this.#y + 10 }));
    paragraph.end();
    this.#closePage();
  }

  #openPage(): void {
    this.file.addPage();
    this.#pages += 1;
    this.file.drawArtifact('Pagination', () => this.#drawFrame());
    if (this.#pages > 1) this.#y = laterPageTop;
  }

  #closePage(): void {
    this.file.drawArtifact('Layout', () => this.#canvas.rules(this.#rules));
    this.#rules = [];
  }

  /** The lines at the top and at the bottom that all pages have. */
  #drawFrame(): void {
    const canvas = this.#canvas;
    const before = `Page ${this.#pages} of `;
    const place = { x: page.margin, y: footerBaseline };
    canvas.text(before, small, place);
    this.#pageCount.draw({ x: page.margin + canvas.widthOf(before, small), y: footerBaseline });
    const id = `Statement ${this.#content.statementId}`;
    canvas.text(id, small, { ...place, x: right, alignsRight: true });
    if (this.#pages === 1) return;
    const half = { width: contentWidth / 2, linesMax: 1 };
    const [name = ''] = canvas.wrap(this.#names.originator, small, half);
    canvas.text(name, small, { x: page.margin, y: 46 });
    const [organization = ''] = canvas.wrap(this.#names.organization, small, {
      ...half,
      width: contentWidth / 2 - 90,
    });
    const title = `${organization} · ${this.#month}`;
    canvas.text(title, small, { x: right, y: 46, alignsRight: true });
  }

  #drawHead(): void {
    const { root } = this.file;
    this.file.addBookmark(`Statement of ${this.#month}`);
    const left = this.#drawLogo();
    const canvas = this.#canvas;
    const nameStyle = { size: 13, bold: true, color: 'brand' } as const;
    const width = right - left - 170;
    const lines = canvas.wrap(this.#names.organization, nameStyle, { width, linesMax: 3 });
    const organization = root.add('P');
    organization.draw(() =>
      lines.forEach((text, at) => canvas.text(text, nameStyle, { x: left, y: 54 + at * 16 })),
    );
    organization.end();
    const heading = root.add('H1');
    heading.draw(() => {
      const place = { x: right, alignsRight: true };
      canvas.text('Statement', { size: 18, bold: true }, { ...place, y: 54 });
      canvas.text(this.#month, { size: 11, color: 'gray' }, { ...place, y: 70 });
    });
    heading.end();
    this.#drawParties();
  }

  /** @returns where the name begins */
  #drawLogo(): number {
    const { logo } = this.#content;
    const picture = logo === null ? null : pictureOf(logo);
    if (picture === null) return page.margin;
    const { width, height } = picture;
    const scale = Math.min(logoBox.width / width, logoBox.height / height, 1);
    const figure = this.file.root.add('Figure', { alt: `Logo of ${this.#names.organization}` });
    figure.draw(() => this.#canvas.picture(picture, { x: page.margin, y: page.margin, scale }));
    figure.end();
    return page.margin + width * scale + 12;
  }

  #drawParties(): void {
    const canvas = this.#canvas;
    const { originatorId, statementId, timeZone } = this.#content;
    const nameStyle = { size: 11, bold: true } as const;
    const x = page.margin;
    const names = canvas.wrap(this.#names.originator, nameStyle, { width: 290, linesMax: 3 });
    const originator = this.file.root.add('P');
    originator.draw(() => {
      canvas.text('Originator', small, { x, y: 118 });
      names.forEach((text, at) => canvas.text(text, nameStyle, { x, y: 133 + at * 13 }));
      canvas.text(originatorId, small, { x, y: 132 + names.length * 13 });
    });
    originator.end();
    const facts = [
      ['Period', this.#month],
      ['Days of', timeZone],
      ['Currency', 'USD'],
      ['Statement', statementId],
    ] as const;
    facts.forEach(([label, value], at) => {
      const paragraph = this.file.root.add('P');
      const y = 118 + at * 13;
      paragraph.draw(() => {
        canvas.text(label, small, { x: 362, y });
        canvas.text(value, { size: 7 }, { x: right, y, alignsRight: true });
      });
      paragraph.end();
    });
  }

  #heading(title: string): void {
    const heading = this.file.root.add('H2');
    const style = { size: 10, bold: true, color: 'brand' } as const;
    heading.draw(() => this.#canvas.text(title, style, { x: page.margin, y: this.#y + 4 }));
    heading.end();
    this.#y += 12;
  }

  #drawSummary(sums: LineSums): void {
    const { opening, totals } = this.#content;
    const table = new TableDrawing(this.file, this.#canvas, summaryColumns);
    const tag = this.#summary.add('Table', { title: 'Summary' });
    const head = tag.add('THead');
    table.header(head.add('TR'), summaryTop);
    head.end();
    const body = tag.add('TBody');
    const rows = summaryCells(opening, sums, totals().closing);
    const top = summaryTop + headerHeight;
    rows.forEach((cells, at) =>
      table.row(body.add('TR'), cells, top + at * summaryRowHeight, { titled: true }),
    );
    body.end();
    tag.end();
    const rules = rows.map((_, at) => top + (at + 1) * summaryRowHeight);
    this.file.drawArtifact('Layout', () => this.#canvas.rules(rules));
    this.#drawRemark(sums, top + rows.length * summaryRowHeight + 12);
  }

  #drawRemark({ withoutMovement: { count, amountMinor } }: LineSums, y: number): void {
    if (count === 0) return;
    const text = `Listed without movement of money: ${count} ${count === 1 ? 'payment' : 'payments'}, ${money(amountMinor)}.`;
    const remark = this.#summary.add('P');
    remark.draw(() => this.#canvas.text(text, small, { x: page.margin, y }));
    remark.end();
  }
}

function fileOf(content: StatementContent, month: string): PdfFile {
  const description = {
    title: `Statement of ${month}`,
    author: plainLine(content.organizationName, anyLetter),
    subject: plainLine(content.originatorName, anyLetter),
    id: content.statementId,
    createdAt: content.periodEnd,
  };
  return new PdfFile(description, { width: page.width, height: page.height });
}
