/**
 * Removes the files of exports that were given up. The keys of all of them are destroyed first, so the bytes are
 * unreadable even while the document store cannot remove them. A file that cannot be removed does not hold up others.
 */
import { type Owner, ownerOf } from '@pis/keyring';
import type pg from 'pg';
import type { ExportFiles } from './export-files.js';

/** A process that lost its lease may still write a document that it began. It is removed after this time. */
const lateDocumentsMs = 60_000;
/** Documents that are removed in a step, and how long a step takes: exports are written between two steps. */
const stepMax = 8;
const stepMs = 1_000;
/** Keys that are destroyed in a transaction. */
const keysMax = 500;
/** Files that are passed over because they could not be removed. */
const postponedMax = 1_000;

export interface ExportRemovalOptions {
  readonly pool: pg.Pool;
  readonly files: ExportFiles;
  /** For good, and safe to repeat. */
  readonly destroyKeys: (owners: readonly Owner[]) => Promise<void>;
  /** The documents of a file could not be removed. That is retried after the other files. */
  readonly onRemovalFailure: (error: unknown, fileId: string) => void;
}

/**
 * Of all files that wait for their removal. Safe to repeat.
 * @returns how many files could be read until then
 */
export async function destroyKeysOfRemovals(
  pool: pg.Pool,
  destroyKeys: ExportRemovalOptions['destroyKeys'],
): Promise<number> {
  for (let count = 0; ; ) {
    const { rows } = await pool.query<{ file_id: string }>({
      name: 'export_removals.with_keys',
      text: `SELECT file_id FROM export_removals WHERE removed_at IS NULL AND NOT EXISTS (
          SELECT FROM data_keys WHERE owner = $1 || file_id AND destroyed_at IS NOT NULL)
        LIMIT $2`,
      values: [ownerOf.exportFile(''), keysMax],
    });
    if (rows.length > 0) await destroyKeys(rows.map((row) => ownerOf.exportFile(row.file_id)));
    count += rows.length;
    if (rows.length < keysMax) return count;
  }
}

interface DueRow {
  readonly file_id: string;
  readonly is_late: boolean;
}

/** A file that is being removed, and the last of its documents that is gone. */
interface Removal extends DueRow {
  readonly after: PartRow;
}

interface PartRow {
  readonly part: number;
  readonly lease_id: string;
}

const beforeAll: PartRow = { part: -1, lease_id: '00000000-0000-0000-0000-000000000000' };

export class ExportRemovals {
  private current: Removal | null = null;
  /** Files whose documents could not be removed. Their turn comes when no other file is due. */
  private readonly postponed = new Set<string>();

  constructor(private readonly options: ExportRemovalOptions) {}

  /**
   * Removes some documents of one file. All are removed once more after a minute. Everything can be repeated.
   * @returns whether the next step can be taken at once
   */
  async removeNext(): Promise<boolean> {
    await destroyKeysOfRemovals(this.options.pool, this.options.destroyKeys);
    const removal = this.current ?? (await this.due());
    this.current = null;
    if (removal === null) {
      this.postponed.clear();
      return false;
    }
    const { file_id: fileId, is_late: isLate } = removal;
    try {
      const after = await this.removeSome(removal);
      if (after !== null) {
        this.current = { ...removal, after };
        return true;
      }
    } catch (error) {
      if (this.postponed.size >= postponedMax) this.postponed.clear();
      this.postponed.add(fileId);
      this.options.onRemovalFailure(error, fileId);
      return false;
    }
    await this.removed(fileId, isLate);
    return true;
  }

  private async due(): Promise<Removal | null> {
    const { rows } = await this.options.pool.query<DueRow>({
      name: 'export_removals.due',
      text: `SELECT file_id, removed_at IS NOT NULL AS is_late FROM export_removals
        WHERE (removed_at IS NULL OR removed_at < now() - $1 * interval '1 ms') AND file_id <> ALL ($2::uuid[])
        ORDER BY removed_at NULLS FIRST LIMIT 1`,
      values: [lateDocumentsMs, [...this.postponed]],
    });
    const [row] = rows;
    return row === undefined ? null : { ...row, after: beforeAll };
  }

  /** @returns the last document that was removed. Null when all are */
  private async removeSome({ file_id: fileId, after }: Removal): Promise<PartRow | null> {
    const { pool, files, destroyKeys } = this.options;
    if (after === beforeAll) await destroyKeys([ownerOf.exportFile(fileId)]);
    const endMs = performance.now() + stepMs;
    const { rows } = await pool.query<PartRow>(
      `SELECT part, lease_id FROM export_parts WHERE file_id = $1 AND (part, lease_id) > ($2, $3::uuid)
        ORDER BY part, lease_id LIMIT $4`,
      [fileId, after.part, after.lease_id, stepMax],
    );
    for (const row of rows) {
      await files.remove({ fileId, part: row.part, leaseId: row.lease_id });
      if (performance.now() >= endMs) return row;
    }
    return rows.length < stepMax ? null : (rows.at(-1) ?? null);
  }

  private async removed(fileId: string, isLate: boolean): Promise<void> {
    const { pool } = this.options;
    if (!isLate) {
      await pool.query('UPDATE export_removals SET removed_at = now() WHERE file_id = $1', [
        fileId,
      ]);
      return;
    }
    await pool.query('DELETE FROM data_keys WHERE owner = $1 AND destroyed_at IS NOT NULL', [
      ownerOf.exportFile(fileId),
    ]);
    await pool.query('DELETE FROM export_parts WHERE file_id = $1', [fileId]);
    await pool.query('DELETE FROM export_removals WHERE file_id = $1', [fileId]);
  }
}
