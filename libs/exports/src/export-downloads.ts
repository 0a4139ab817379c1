/**
 * Who downloaded which file in the dashboard. Noted before the first byte leaves: one row for all requests of a user for
 * a file on a day, so that ranges do not fill the table.
 */
import { orUnavailable } from '@pis/read-models';
import type pg from 'pg';

export interface ExportDownload {
  readonly exportId: string;
  /** Of all users. A download that was resumed, or made in ranges, counts once for each request. */
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
        text: `INSERT INTO export_downloads AS known (organization_id, export_id, downloaded_by, downloaded_on)
          VALUES ($1, $2, $3, (now() AT TIME ZONE 'UTC')::date)
          ON CONFLICT (export_id, downloaded_by, downloaded_on) DO UPDATE
            SET requests = known.requests + 1, downloaded_at = EXCLUDED.downloaded_at`,
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
            downloaded_by AS by, (sum(requests) OVER (PARTITION BY export_id))::float8 AS count
          FROM export_downloads WHERE organization_id = $1 AND export_id = ANY ($2::uuid[])
          ORDER BY export_id, downloaded_at DESC, id DESC`,
        values: [organizationId, exportIds],
      }),
    );
    return new Map(rows.map((row) => [row.exportId, row]));
  }
}
