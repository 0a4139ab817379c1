/** Rows of a table with tags: each cell is read aloud under the header of its column. */
import type { Canvas, TextStyle } from './canvas.js';
import type { PdfFile, Tag } from './pdf-file.js';

export interface Column {
  readonly title: string;
  /** Points: the left edge and the width, with the padding of both sides. */
  readonly x: number;
  readonly width: number;
  readonly isNumber?: boolean;
}

export interface CellLine extends TextStyle {
  readonly text: string;
}

/** The lines of one cell, from top to bottom. */
export type Cell = readonly CellLine[];

export const padding = 3;
const lineHeight = 9;
/** From the top of a line to its baseline. */
const baseline = 7;
export const headerHeight = lineHeight + 2 * padding;
const headerStyle = { size: 6.5, bold: true, color: 'brand' } as const;

/** Columns side by side from the left margin. */
export function columnsOf(left: number, columns: readonly Omit<Column, 'x'>[]): readonly Column[] {
  let x = left;
  return columns.map((column) => {
    const placed = { ...column, x };
    x += column.width;
    return placed;
  });
}

export function rowHeight(cells: readonly Cell[]): number {
  return Math.max(1, ...cells.map(({ length }) => length)) * lineHeight + 2 * padding - 2;
}

export class TableDrawing {
  readonly #file: PdfFile;
  readonly #canvas: Canvas;
  readonly #columns: readonly Column[];

  constructor(file: PdfFile, canvas: Canvas, columns: readonly Column[]) {
    this.#file = file;
    this.#canvas = canvas;
    this.#columns = columns;
  }

  /** Without a tag the header is drawn again on a later page, and is not read aloud again. */
  header(row: Tag | null, top: number): void {
    this.#file.drawArtifact('Layout', () => this.#canvas.area(top, headerHeight));
    const titles = this.#columns.map(({ title }) => [{ text: title, ...headerStyle }]);
    if (row === null) {
      this.#file.drawArtifact('Pagination', () =>
        titles.forEach((cell, at) => this.#cell(cell, at, top + padding)),
      );
      return;
    }
    titles.forEach((cell, at) =>
      row
        .add('TH', { scope: 'Column' })
        .draw(() => this.#cell(cell, at, top + padding))
        .end(),
    );
    row.end();
  }

  row(row: Tag, cells: readonly Cell[], top: number, { titled = false } = {}): void {
    cells.forEach((cell, at) => {
      const tag = titled && at === 0 ? row.add('TH', { scope: 'Row' }) : row.add('TD');
      if (cell.length > 0) tag.draw(() => this.#cell(cell, at, top + padding - 1));
      tag.end();
    });
    row.end();
  }

  #cell(cell: Cell, at: number, top: number): void {
    const column = this.#columns[at];
    if (column === undefined) throw new RangeError(`no column ${at}`);
    const { x, width, isNumber: alignsRight = false } = column;
    const edge = alignsRight ? x + width - padding : x + padding;
    cell.forEach(({ text, ...style }, line) => {
      const y = top + baseline + line * lineHeight;
      this.#canvas.text(text, style, { x: edge, y, alignsRight });
    });
  }
}
