/**
 * The table of exports as the processes use it that write the files.
 *
 * What always holds: a part belongs to a file, and the export is behind it, in one transaction, and only by the
 * process that holds the lease. So a file continues exactly where its last part ended, whichever process dies.
 * Files that are given up are noted in `export_removals` in the transaction that gives them up.
 */
import { inTransaction } from '@pis/postgres';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { exportColumns, type ExportRecord } from './export-table.js';

/** An export that this process writes. */
export interface LeasedExport extends ExportRecord {
  readonly leaseId: string;
}

export interface WrittenPart {
  readonly sizeBytes: number;
  readonly rows: number;
  /** Behind the last record. */
  readonly cursor: string;
  /** Of the whole file, when this is its last part. Hex. */
  readonly sha256: string | null;
}

export interface LeaseLimits {
  readonly leaseMs: number;
  /** Of one organization, in all processes. */
  readonly perOrganizationMax: number;
}

/** The export was canceled, or another process has it. Nothing was written. */
export class ExportLeaseLost extends Error {
  override readonly name = 'ExportLeaseLost';
}

export interface FileLimits {
  readonly keptForDays: number;
  /** Files of an organization. */
  readonly filesMax: number;
}

export interface FinishedLimits extends FileLimits {
  readonly recordsKeptForDays: number;
}

/** The column has milliseconds: now() alone may be rounded to a time that has not come yet. */
const until = (parameter: string) =>
  `date_trunc('milliseconds', now()) + ${parameter} * interval '1 ms'`;
const mine = `id = $1 AND lease_id = $2 AND status = 'running'`;

// Organizations take turns. Of one organization, the oldest request is first. One that rests takes nobody's place.
const lease = `WITH open AS (
    SELECT id, organization_id, requested_at, last_turn, lease_id,
        coalesce(leased_until > now(), false) AS is_resting
      FROM exports WHERE status IN ('queued', 'running')
  ), turn AS (
    SELECT organization_id, count(*) FILTER (WHERE is_resting AND lease_id IS NOT NULL) AS leased, max(last_turn) AS last_turn
      FROM open GROUP BY organization_id
  )
  UPDATE exports SET lease_id = $1, leased_until = ${until('$2')}, status = 'running',
      started_at = coalesce(started_at, now()), last_turn = nextval('export_turns')
    WHERE status IN ('queued', 'running') AND id = (
      SELECT e.id FROM exports e JOIN open o ON o.id = e.id
          JOIN turn t ON t.organization_id = e.organization_id
        WHERE NOT o.is_resting AND t.leased < $3
          AND e.status IN ('queued', 'running') AND (e.leased_until IS NULL OR e.leased_until <= now())
        ORDER BY t.leased, t.last_turn NULLS FIRST, o.requested_at, e.id
        LIMIT 1 FOR UPDATE OF e SKIP LOCKED)
    RETURNING ${exportColumns}, lease_id AS "leaseId"`;

// Runs whenever a file is completed, so files cannot accumulate faster than they expire. It may expire several: an older
// release kept them until its next round of cleaning.
const replaceOldest = `WITH expired AS (
    UPDATE exports SET status = 'expired', expires_at = NULL, reason = 'there are newer files'
      WHERE id = ANY (ARRAY(
          SELECT id FROM exports WHERE status = 'completed' AND id = ANY (ARRAY(
              SELECT id FROM exports WHERE organization_id = $1 AND status = 'completed'
                ORDER BY finished_at DESC, id OFFSET $2 LIMIT 100))
            FOR UPDATE SKIP LOCKED))
      RETURNING file_id
  )
  INSERT INTO export_removals (file_id) SELECT file_id FROM expired ON CONFLICT DO NOTHING`;

export class ExportWork {
  constructor(
    private readonly pool: pg.Pool,
    private readonly limits: LeaseLimits,
  ) {}

  /**
   * Null when none is waiting.
   * @param perOrganizationMax leases of one organization
   */
  async lease(perOrganizationMax = this.limits.perOrganizationMax): Promise<LeasedExport | null> {
    const { leaseMs } = this.limits;
    const { rows } = await this.pool.query<LeasedExport>({
      name: 'exports.lease',
      text: lease,
      values: [randomUUID(), leaseMs, perOrganizationMax],
    });
    return rows[0] ?? null;
  }

  /** Whether any export is not finished. */
  async hasOpen(): Promise<boolean> {
    const { rows } = await this.pool.query<{ has_open: boolean }>({
      name: 'exports.hasOpen',
      text: `SELECT EXISTS (SELECT FROM exports WHERE status IN ('queued', 'running')) AS has_open`,
    });
    return rows[0]?.has_open ?? true;
  }

  /** @returns the leases that are still held */
  async prolong(leaseIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (leaseIds.length === 0) return new Set();
    const { rows } = await this.pool.query<{ lease_id: string }>({
      name: 'exports.prolong',
      text: `UPDATE exports SET leased_until = ${until('$2')}
        WHERE lease_id = ANY ($1::uuid[]) AND status = 'running' RETURNING lease_id`,
      values: [leaseIds, this.limits.leaseMs],
    });
    return new Set(rows.map(({ lease_id: leaseId }) => leaseId));
  }

  /**
   * Returns the lease. Nobody takes the export before the pause is over.
   * @param isHeldUp whether no process can write it now; operators are alerted when this lasts
   */
  async release(
    { id, leaseId }: LeasedExport,
    pauseMs: number,
    { isHeldUp = false } = {},
  ): Promise<void> {
    await this.pool.query({
      name: 'exports.release',
      text: `UPDATE exports SET lease_id = NULL, leased_until = ${until('$3')},
          status = CASE WHEN parts = 0 THEN 'queued' ELSE status END,
          held_up_since = CASE WHEN $4 THEN coalesce(held_up_since, now()) ELSE held_up_since END
        WHERE ${mine}`,
      values: [id, leaseId, pauseMs, isHeldUp],
    });
  }

  async expect({ id, leaseId }: LeasedExport, rows: number): Promise<void> {
    await this.pool.query({
      name: 'exports.expect',
      text: `UPDATE exports SET expected_rows = $3 WHERE ${mine}`,
      values: [id, leaseId, rows],
    });
  }

  /** Notes a part before its document is written. @throws ExportLeaseLost */
  async beginPart({ id, leaseId }: LeasedExport, part: number): Promise<void> {
    const { rowCount } = await this.pool.query({
      name: 'exports.begin_part',
      text: `INSERT INTO export_parts (file_id, part, lease_id)
        SELECT file_id, $3, lease_id FROM exports WHERE ${mine}
        ON CONFLICT (file_id, part, lease_id) DO UPDATE SET size_bytes = NULL`,
      values: [id, leaseId, part],
    });
    if (rowCount !== 1) throw new ExportLeaseLost(`export ${id} is no longer ours`);
  }

  /** When the file is complete, the oldest files beyond `filesMax` expire. @throws ExportLeaseLost */
  async addPart(
    { id, leaseId, fileId, organizationId }: LeasedExport,
    part: number,
    { sizeBytes, rows, cursor, sha256 }: WrittenPart,
    { keptForDays, filesMax }: FileLimits,
  ): Promise<void> {
    await inTransaction(this.pool, async (client) => {
      const { rows: before } = await client.query<{ offset: string }>({
        name: 'exports.add_part',
        text: `UPDATE exports SET next_cursor = $4, parts = parts + 1, row_count = row_count + $5,
            size_bytes = size_bytes + $6, failures = 0, held_up_since = NULL, leased_until = ${until('$7')},
            last_turn = nextval('export_turns'), sha256 = decode($8, 'hex'),
            status = CASE WHEN $8::text IS NULL THEN status ELSE 'completed' END,
            finished_at = CASE WHEN $8::text IS NOT NULL THEN now() END,
            expires_at = CASE WHEN $8::text IS NOT NULL THEN now() + make_interval(days => $9) END
          WHERE ${mine} AND parts = $3 RETURNING size_bytes - $6 AS offset`,
        values: [
          id,
          leaseId,
          part,
          cursor,
          rows,
          sizeBytes,
          this.limits.leaseMs,
          sha256,
          keptForDays,
        ],
      });
      const [row] = before;
      if (row === undefined) throw new ExportLeaseLost(`export ${id} is no longer ours`);
      await client.query({
        name: 'export_parts.add',
        text: `UPDATE export_parts SET offset_bytes = $4, size_bytes = $5
          WHERE file_id = $1 AND part = $2 AND lease_id = $3`,
        values: [fileId, part, leaseId, row.offset, sizeBytes],
      });
      if (sha256 !== null)
        await client.query({
          name: 'exports.replace_oldest',
          text: replaceOldest,
          values: [organizationId, filesMax],
        });
    });
  }

  /** Begins the file anew. @throws ExportLeaseLost */
  async restart(leased: LeasedExport): Promise<LeasedExport> {
    const { rows } = await this.pool.query<LeasedExport>(
      `WITH given_up AS (
         INSERT INTO export_removals (file_id) SELECT file_id FROM exports WHERE ${mine} FOR UPDATE
         ON CONFLICT DO NOTHING
       )
       UPDATE exports SET file_id = gen_random_uuid(), ${anew} WHERE ${mine}
       RETURNING ${exportColumns}, lease_id AS "leaseId"`,
      [leased.id, leased.leaseId],
    );
    const [restarted] = rows;
    if (restarted === undefined) throw new ExportLeaseLost(`export ${leased.id} is no longer ours`);
    return restarted;
  }

  /** Counts a failure and returns the lease. After the last one the export has failed. */
  async failed(
    { id, leaseId }: LeasedExport,
    { reason, failuresMax, pauseMs }: { reason: string; failuresMax: number; pauseMs: number },
  ): Promise<void> {
    await this.pool.query(
      `WITH failed AS (
         UPDATE exports SET failures = failures + 1, lease_id = NULL, leased_until = ${until('$5')},
             status = CASE WHEN failures + 1 >= $4 THEN 'failed' ELSE status END,
             reason = CASE WHEN failures + 1 >= $4 THEN $3 END,
             finished_at = CASE WHEN failures + 1 >= $4 THEN now() END
           WHERE ${mine} RETURNING file_id, status
       )
       INSERT INTO export_removals (file_id) SELECT file_id FROM failed WHERE status = 'failed'
       ON CONFLICT DO NOTHING`,
      [id, leaseId, reason, failuresMax, pauseMs],
    );
  }

  /** Expires files, and deletes records and those of downloads, whose time has come. At most `max` of each. */
  async prune(limits: FinishedLimits, max: number): Promise<void> {
    await this.pool.query(
      `WITH ending AS (
         SELECT id FROM exports WHERE status = 'completed' AND expires_at <= now() LIMIT $2
       ), surplus AS (
         SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY organization_id ORDER BY finished_at DESC, id) AS place
           FROM exports WHERE status = 'completed') ranked WHERE place > $1 LIMIT $2
       ), expired AS (
         UPDATE exports SET status = 'expired', expires_at = NULL,
             reason = CASE WHEN id IN (SELECT id FROM ending) THEN 'the file was kept for its time'
               ELSE 'there are newer files' END
           WHERE status = 'completed' AND id IN (SELECT id FROM ending UNION SELECT id FROM surplus)
           RETURNING file_id
       )
       INSERT INTO export_removals (file_id) SELECT file_id FROM expired ON CONFLICT DO NOTHING`,
      [limits.filesMax, max],
    );
    await this.pool.query(
      `DELETE FROM exports WHERE id = ANY (ARRAY(
         SELECT id FROM exports WHERE status IN ('failed', 'canceled', 'expired')
           AND finished_at < now() - make_interval(days => $1) ORDER BY finished_at LIMIT $2))`,
      [limits.recordsKeptForDays, max],
    );
    // A client decides when its record of an export goes, but not when the trace of a download does.
    await this.pool.query(
      `DELETE FROM export_downloads WHERE id = ANY (ARRAY(
         SELECT id FROM export_downloads d WHERE downloaded_at < now() - make_interval(days => $1)
           AND NOT EXISTS (SELECT FROM exports e WHERE e.id = d.export_id)
           ORDER BY downloaded_at LIMIT $2))`,
      [limits.recordsKeptForDays, max],
    );
  }
}

/** What a file has before its first part. */
export const anew = `next_cursor = NULL, parts = 0, row_count = 0, size_bytes = 0, expected_rows = NULL`;
