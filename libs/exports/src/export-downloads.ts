/** Who downloaded which file in the dashboard. Noted before the first byte leaves, and kept. */
import { orUnavailable } from '@pis/read-models';
import type pg from 'pg';

export interface ExportDownload {
  readonly exportId: string;
  /** Of all users, a download that was resumed counted anew. */
  readonly count: number;
  /** Of the last one. */
  readonly at: Date;
  /** As the actor of an event. */
  readonly by: string;
}

export class ExportDownloads {
  constructor(private readonly pool: pg.Pool) {}

  /** @throws StoreUnavailable: the file must not be given then */
  async note(of: {
    readonly organizationId: string;
    readonly exportId: string;
    readonly by: string;
  }): Promise<void> {
    await orUnavailable(() =>
      this.pool.query({
        name: 'export_downloads.note',
        text: `INSERT INTO export_downloads (organization_id, export_id, downloaded_by)
          VALUES ($1, $2, $3)`,
        values: [of.organizationId, of.exportId, of.by],
      }),
    );
  }

  /** By the ID of the export. Those that nobody downloaded are not in it. @throws StoreUnavailable */
  async of(
    organizationId: string,
    exportIds: readonly string[],
  ): Promise<ReadonlyMap<string, ExportDownload>> {
    if (exportIds.length === 0) return new Map();
    const { rows } = await orUnavailable(() =>
      this.pool.query<ExportDownload>({
        name: 'export_downloads.of',
        text: `SELECT DISTINCT ON (export_id) export_id AS "exportId", downloaded_at AS at,
            downloaded_by AS by, (count(*) OVER (PARTITION BY export_id))::float8 AS count
          FROM export_downloads WHERE organization_id = $1 AND export_id = ANY ($2::uuid[])
          ORDER BY export_id, id DESC`,
        values: [organizationId, exportIds],
      }),
    );
    return new Map(rows.map((row) => [row.exportId, row]));
  }
}
