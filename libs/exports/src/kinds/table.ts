/** What an export of csv and jsonl reads, page by page. */
import type { CsvValue } from '../csv.js';
import type { ExportRecord } from '../export-table.js';

export interface RecordPage<Item> {
  readonly items: readonly Item[];
  /** Behind the last item; null at the end. */
  readonly next: string | null;
}

export interface ExportedTable<Item> {
  /** Of csv: the API's field names. */
  readonly header: readonly string[];
  readonly valuesOf: (item: Item) => readonly CsvValue[];
  /** A line of jsonl: the object as the API shows it. */
  readonly shownAs: (item: Item) => unknown;
  /** Each record of the export occurs on one page. @param cursor null for the first page */
  page(asked: ExportRecord, cursor: string | null, limit: number): Promise<RecordPage<Item>>;
  /** About how many there are. */
  count(asked: ExportRecord): Promise<number>;
}

/** What the records were created within, as PostgreSQL reads it. */
export function boundsOf({ fromAt, untilAt }: ExportRecord): {
  readonly from: string | undefined;
  readonly until: string;
} {
  return { from: fromAt?.toISOString(), until: untilAt.toISOString() };
}
