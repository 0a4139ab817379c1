/**
 * The table of exports as their owners see it: requests, progress, and the end of an export before its time.
 * Every statement has the organization.
 */
import { randomUUID } from 'node:crypto';
import type {
  ExportCreateRequest,
  ExportFormat,
  ExportKind,
  ExportStatus,
  ExportView,
} from '@pis/contracts';
import { inTransaction } from '@pis/postgres';
import { type ListCursor, type ListPage, orUnavailable } from '@pis/read-models';
import type pg from 'pg';

/** The most exports of an organization that are queued or running. */
export const openExportsMax = 5;
/** The most records of an organization that have ended without a file: the newest ones. */
export const endedExportsMax = 1_000;

export interface ExportRecord {
  readonly id: string;
  readonly organizationId: string;
  readonly fileId: string;
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  readonly originatorId: string | null;
  readonly fromAt: Date | null;
  readonly toAt: Date | null;
  readonly untilAt: Date;
  readonly throughPosition: string;
  readonly requestedAt: Date;
  readonly status: ExportStatus;
  readonly reason: string | null;
  readonly nextCursor: string | null;
  readonly parts: number;
  readonly rowCount: number;
  readonly sizeBytes: number;
  readonly expectedRows: number | null;
  /** Hex. */
  readonly sha256: string | null;
  readonly failures: number;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly expiresAt: Date | null;
}

export interface ExportRequest
  extends Pick<
    ExportRecord,
    'id' | 'organizationId' | 'fileId' | 'kind' | 'format' | 'originatorId' | 'throughPosition'
  > {
  /** ISO 8601. */
  readonly from: string | null;
  readonly to: string | null;
  /** An API key or a user, as the actor of an event. */
  readonly requestedBy: string;
  readonly requestedAt: Date;
}

/** What a client asks for, of this organization. */
export function exportRequestOf(
  asked: ExportCreateRequest,
  request: Pick<
    ExportRequest,
    'organizationId' | 'throughPosition' | 'requestedBy' | 'requestedAt'
  >,
): ExportRequest {
  return { ...asked, ...request, id: randomUUID(), fileId: randomUUID() };
}

export const exportColumns = `id, organization_id AS "organizationId", file_id AS "fileId", kind, format,
  originator_id AS "originatorId", from_at AS "fromAt", to_at AS "toAt", until_at AS "untilAt",
  through_position AS "throughPosition", requested_at AS "requestedAt", status, reason,
  next_cursor AS "nextCursor", parts, row_count::float8 AS "rowCount", size_bytes::float8 AS "sizeBytes",
  expected_rows::float8 AS "expectedRows", encode(sha256, 'hex') AS sha256, failures,
  started_at AS "startedAt", finished_at AS "finishedAt", expires_at AS "expiresAt"`;

interface OneExport {
  readonly organizationId: string;
  readonly exportId: string;
}

/** Every method throws StoreUnavailable when PostgreSQL is away. */
export interface ExportRequests {
  /** Null when the most allowed are queued or running. */
  create(request: ExportRequest): Promise<ExportRecord | null>;
  /** Whether the organization may have another export queued or running. */
  hasRoom(organizationId: string): Promise<boolean>;
  get(of: OneExport): Promise<ExportRecord | null>;
  /** For operators, who may see the exports of every organization. */
  find(exportId: string): Promise<ExportRecord | null>;
  /** Newest first. */
  list(
    organizationId: string,
    page: { readonly limit: number; readonly after?: ListCursor | undefined },
  ): Promise<ListPage<ExportRecord>>;
  /**
   * Ends an export and gives up its file. Does nothing to one that has no file any more.
   * @returns null when there is no such export
   */
  cancel(of: OneExport): Promise<ExportRecord | null>;
}

export function exportRequests(pool: pg.Pool): ExportRequests {
  const query = async (name: string, text: string, values: readonly unknown[]) => {
    const statement = { name: `exports.${name}`, text, values: [...values] };
    return (await orUnavailable(() => pool.query<ExportRecord>(statement))).rows;
  };
  return {
    async create(request) {
      const values = [
        ...[request.id, request.organizationId, request.fileId, request.kind, request.format],
        ...[request.originatorId, request.from, request.to, request.throughPosition],
        // As text: the driver writes a Date in the time zone of this machine.
        ...[request.requestedBy, request.requestedAt.toISOString(), openExportsMax],
      ];
      return orUnavailable(() =>
        inTransaction(pool, async (client) => {
          await client.query(lock, [request.organizationId]);
          const { rows } = await client.query<ExportRecord>({
            name: 'exports.create',
            text: create,
            values,
          });
          await client.query(forget, [request.organizationId, endedExportsMax]);
          return rows[0] ?? null;
        }),
      );
    },
    async hasRoom(organizationId) {
      const text = `SELECT 1 FROM exports
        WHERE organization_id = $1 AND status IN ('queued', 'running') LIMIT $2`;
      return (await query('open', text, [organizationId, openExportsMax])).length < openExportsMax;
    },
    async get({ organizationId, exportId }) {
      const text = `SELECT ${exportColumns} FROM exports WHERE id = $1 AND organization_id = $2`;
      return (await query('get', text, [exportId, organizationId]))[0] ?? null;
    },
    async find(exportId) {
      const text = `SELECT ${exportColumns} FROM exports WHERE id = $1`;
      return (await query('find', text, [exportId]))[0] ?? null;
    },
    async list(organizationId, { limit, after }) {
      const text = `SELECT ${exportColumns} FROM exports WHERE organization_id = $1
        AND ($3::timestamptz(3) IS NULL OR (requested_at, id) < ($3::timestamptz(3), $4::uuid))
        ORDER BY requested_at DESC, id DESC LIMIT $2`;
      const values = [organizationId, limit + 1, after?.createdAt ?? null, after?.id ?? null];
      const rows = await query('list', text, values);
      const items = rows.slice(0, limit);
      const last = items.at(-1);
      const isLast = rows.length <= limit || last === undefined;
      const next = isLast ? null : { createdAt: last.requestedAt.toISOString(), id: last.id };
      return { items, next };
    },
    async cancel(of) {
      const [canceled] = await query('cancel', cancel, [of.exportId, of.organizationId]);
      return canceled ?? (await this.get(of));
    },
  };
}

/** Two requests of one organization cannot both take the last place. */
const lock = "SELECT pg_advisory_xact_lock(hashtextextended('exports/' || $1::text, 0))";

const create = `INSERT INTO exports (id, organization_id, file_id, kind, format, originator_id, from_at,
    to_at, until_at, through_position, requested_by, requested_at)
  SELECT $1::uuid, $2::uuid, $3::uuid, $4, $5, $6::uuid, $7::timestamptz(3), $8::timestamptz(3),
      least($8::timestamptz(3), $11::timestamptz(3)), $9, $10, $11::timestamptz(3)
    WHERE (SELECT count(*) FROM exports
      WHERE organization_id = $2::uuid AND status IN ('queued', 'running')) < $12
  RETURNING ${exportColumns}`;

/** Where they come from, so that no number of requests outruns it. */
const forget = `DELETE FROM exports WHERE id = ANY (ARRAY(
    SELECT id FROM exports WHERE organization_id = $1 AND status IN ('failed', 'canceled', 'expired')
      ORDER BY requested_at DESC, id DESC OFFSET $2))`;

/** A process that writes the export finds that its lease is gone, and writes no more of it. */
const cancel = `WITH ended AS (
    UPDATE exports SET status = 'canceled', finished_at = coalesce(finished_at, now()), expires_at = NULL,
        sha256 = NULL, lease_id = NULL, leased_until = NULL
      WHERE id = $1 AND organization_id = $2 AND status IN ('queued', 'running', 'completed')
      RETURNING *
  ), removal AS (
    -- Nobody has written anything of one that never began.
    INSERT INTO export_removals (file_id) SELECT file_id FROM ended WHERE started_at IS NOT NULL
    ON CONFLICT DO NOTHING
  )
  SELECT ${exportColumns} FROM ended`;

export function exportView(record: ExportRecord): ExportView {
  const { status } = record;
  return {
    exportId: record.id,
    status,
    kind: record.kind,
    format: record.format,
    from: record.fromAt?.toISOString() ?? null,
    to: record.toAt?.toISOString() ?? null,
    originatorId: record.originatorId,
    rows: record.rowCount,
    sizeBytes: record.sizeBytes,
    sha256: record.sha256,
    progress: progressOf(record),
    createdAt: record.requestedAt.toISOString(),
    startedAt: record.startedAt?.toISOString() ?? null,
    finishedAt: record.finishedAt?.toISOString() ?? null,
    expiresAt: record.expiresAt?.toISOString() ?? null,
    reason: record.reason,
  };
}

/** Below 1 until the file is whole: rows may have been added to the count since. */
const unfinishedMax = 0.99;

function progressOf({ status, rowCount, expectedRows }: ExportRecord): number {
  if (status === 'completed' || status === 'expired') return 1;
  if (expectedRows === null || expectedRows === 0) return 0;
  return Math.min(unfinishedMax, Math.floor((rowCount / expectedRows) * 100) / 100);
}
