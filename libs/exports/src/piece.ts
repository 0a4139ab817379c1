/** A piece of a file, and what gives the pieces of one kind and format. */
import type { ExportRecord } from './export-table.js';

export interface Piece {
  readonly text: string;
  readonly rows: number;
  /** Where the file goes on behind this piece. */
  readonly cursor: string;
}

export interface PieceSource {
  /** About how many rows the file will have. */
  count(asked: ExportRecord): Promise<number>;
  /** Whether a file goes on behind its last part. Otherwise a file that was broken off begins anew. */
  readonly isResumable: boolean;
  /** From the cursor of the export on. The same cursor gives the same records. */
  pieces(asked: ExportRecord): AsyncGenerator<Piece>;
}
