/** The bytes of exports: parts that are documents, sealed under a key of the file's own. */
import type { DocumentStore } from '@pis/documents';
import { ownerOf } from '@pis/keyring';
import type pg from 'pg';
import type { ExportRecord } from './export-table.js';

/** `end` is exclusive. */
export interface FileRange {
  readonly start: number;
  readonly end: number;
}

/** Parts that are looked up at a time. */
const partsMax = 100;

export interface PartKey {
  readonly fileId: string;
  readonly part: number;
  readonly leaseId: string;
}

function documentKeyOf({ fileId, part, leaseId }: PartKey): string {
  return `exports/${fileId}/${part}-${leaseId}`;
}

interface PartRow {
  readonly part: number;
  readonly lease_id: string;
  readonly offset_bytes: string;
  readonly size_bytes: string;
}

export class ExportFiles {
  constructor(
    private readonly pool: pg.Pool,
    private readonly documents: DocumentStore,
  ) {}

  /**
   * The bytes of a file, a chunk at a time: it takes little memory, however large the file is.
   * @throws DocumentMissing, KeyDestroyed when the file is removed meanwhile
   */
  async *read(
    { fileId }: Pick<ExportRecord, 'fileId'>,
    { start, end }: FileRange,
  ): AsyncGenerator<Uint8Array> {
    for (let at = start; at < end; ) {
      const parts = await this.parts(fileId, { start: at, end });
      if (parts.length === 0) throw new Error(`the file ${fileId} has no byte ${at}`);
      for (const row of parts) {
        const from = Number(row.offset_bytes);
        const to = from + Number(row.size_bytes);
        if (at < from || at >= to) throw new Error(`the file ${fileId} has no byte ${at}`);
        const range = { start: at - from, end: Math.min(end, to) - from };
        const key = documentKeyOf({ fileId, part: row.part, leaseId: row.lease_id });
        yield* this.documents.read(key, ownerOf.exportFile(fileId), range);
        at = Math.min(end, to);
      }
    }
  }

  /** Replaces what an earlier try of the same lease has written. */
  async write(key: PartKey, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    await this.documents.write(documentKeyOf(key), ownerOf.exportFile(key.fileId), bytes);
  }

  async remove(key: PartKey): Promise<void> {
    await this.documents.remove(documentKeyOf(key));
  }

  private async parts(fileId: string, { start, end }: FileRange): Promise<readonly PartRow[]> {
    const { rows } = await this.pool.query<PartRow>({
      name: 'export_parts.of',
      text: `SELECT part, lease_id, offset_bytes, size_bytes FROM export_parts
        WHERE file_id = $1 AND offset_bytes < $3 AND offset_bytes + size_bytes > $2
        ORDER BY part LIMIT $4`,
      values: [fileId, start, end, partsMax],
    });
    return rows;
  }
}
