/** The text of a file, piece by piece: what is read from the tables, in the format that was asked for. */
import type { ExportFormat, ExportKind } from '@pis/contracts';
import type pg from 'pg';
import { csvLine } from './csv.js';
import type { ExportRecord } from './export-table.js';
import { exportedDeliveries } from './kinds/deliveries.js';
import { bankFileSource } from './kinds/bank-files.js';
import { exportedMovements } from './kinds/movements.js';
import { exportedFees, exportedPayments } from './kinds/payments.js';
import type { ExportedTable, RecordPage } from './kinds/table.js';
import type { Piece, PieceSource } from './piece.js';

/** Records in a page. */
const pageMax = 2_000;

type TextFormat = Extract<ExportFormat, 'csv' | 'jsonl'>;

/** What writes the file of each kind. Null for a format that the kind does not have. */
export type PieceSources = (kind: ExportKind, format: ExportFormat) => PieceSource | null;

export function pieceSources(pool: pg.Pool): PieceSources {
  return (kind, format) => {
    if (format !== 'csv' && format !== 'jsonl')
      return kind === 'movements' ? bankFileSource(pool, format) : null;
    switch (kind) {
      case 'payments':
        return tableSource(exportedPayments(pool), format);
      case 'fees':
        return tableSource(exportedFees(pool), format);
      case 'deliveries':
        return tableSource(exportedDeliveries(pool), format);
      case 'movements':
        return tableSource(exportedMovements(pool), format);
    }
  };
}

function tableSource<Item>(table: ExportedTable<Item>, format: TextFormat): PieceSource {
  return {
    isResumable: true,
    count: (asked) => table.count(asked),
    pieces: (asked) => tablePieces(table, format, asked),
  };
}

async function* tablePieces<Item>(
  table: ExportedTable<Item>,
  format: TextFormat,
  asked: ExportRecord,
): AsyncGenerator<Piece> {
  const begin = asked.nextCursor === null && format === 'csv' ? csvLine(table.header) : '';
  const read = (cursor: string | null) => table.page(asked, cursor, pageMax);
  let text = begin;
  let reading = read(asked.nextCursor);
  for (;;) {
    const { items, next } = await reading;
    // The next page is read while this one is written.
    if (next !== null) reading = handledLater(read(next));
    text += textOf(table, format, items);
    yield { text, rows: items.length, cursor: next ?? '' };
    if (next === null) return;
    text = '';
  }
}

function textOf<Item>(
  table: ExportedTable<Item>,
  format: TextFormat,
  items: readonly Item[],
): string {
  const lines =
    format === 'csv'
      ? items.map((item) => csvLine(table.valuesOf(item)))
      : items.map((item) => `${JSON.stringify(table.shownAs(item))}\n`);
  return lines.join('');
}

/** The reader of the page hears of a failure; nobody may read it any more. */
function handledLater<Item>(reading: Promise<RecordPage<Item>>): Promise<RecordPage<Item>> {
  reading.catch(() => undefined);
  return reading;
}
