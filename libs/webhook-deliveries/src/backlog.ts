/** Counts what waits in the tables, for the metrics, up to a limit. */
import { failingAfterMs } from './endpoint-health.js';
import type pg from 'pg';
import { partitionedTables } from './partitions.js';

export interface Backlog {
  /** Due and not leased. */
  readonly due: number;
  /** Not yet due. */
  readonly waiting: number;
  /** Leased to a dispatcher, which works on it or has died. */
  readonly leased: number;
  readonly oldestFirstDueSeconds: number;
  readonly oldestRetryDueSeconds: number;
  /** Age of the oldest partition of finished deliveries. 0 without one. */
  readonly oldestDaySeconds: number;
  readonly daysAhead: number;
  /** Endpoints that have failed for a day or longer, and were tried within the last day. */
  readonly failingEndpoints: number;
}

const failing = `
  SELECT count(*)::int AS failing FROM (
    SELECT FROM webhook_endpoint_failures
      WHERE last_failed_at >= failing_since + $2 * interval '1 millisecond' AND last_failed_at > $1
      LIMIT $3) f`;
const failingEndpointsMax = 10_000;

/** The most deliveries counted, of due ones and of later ones each. */
const countedMax = 100_000;
/** The most endpoints that are read. */
const endpointsMax = 10_000;
/** The most deliveries of an endpoint, the longest due first, among which the oldest is searched. */
const oldestOfEachMax = 100;

/**
 * One index probe finds each endpoint, and the index finds its deliveries. So the query reads a bounded
 * number of rows, however many wait.
 */
const counted = `
  WITH RECURSIVE pending AS (
    (SELECT endpoint_id FROM webhook_deliveries ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT following.endpoint_id FROM pending CROSS JOIN LATERAL (
      SELECT d.endpoint_id FROM webhook_deliveries d
        WHERE d.endpoint_id > pending.endpoint_id ORDER BY d.endpoint_id LIMIT 1) following
  ), endpoint AS MATERIALIZED (
    SELECT endpoint_id FROM pending LIMIT $3
  ), due AS (
    SELECT FROM endpoint e CROSS JOIN LATERAL (
      SELECT FROM webhook_deliveries d
        WHERE d.endpoint_id = e.endpoint_id AND d.due_at <= $1 LIMIT $2) d LIMIT $2
  ), later AS (
    SELECT d.leased_until FROM endpoint e CROSS JOIN LATERAL (
      SELECT d.leased_until FROM webhook_deliveries d
        WHERE d.endpoint_id = e.endpoint_id AND d.due_at > $1 ORDER BY d.due_at LIMIT $2) d LIMIT $2
  ), oldest AS (
    SELECT d.due_at, d.attempts FROM endpoint e CROSS JOIN LATERAL (
      SELECT d.due_at, d.attempts FROM webhook_deliveries d
        WHERE d.endpoint_id = e.endpoint_id AND d.due_at <= $1 ORDER BY d.due_at LIMIT $4) d LIMIT $2
  )
  SELECT due.due, later.waiting, later.leased, oldest.first_due_at, oldest.retry_due_at
    FROM (SELECT count(*)::float8 AS due FROM due) due,
      (SELECT count(*) FILTER (WHERE leased_until IS NULL)::float8 AS waiting,
          count(*) FILTER (WHERE leased_until IS NOT NULL)::float8 AS leased FROM later) later,
      (SELECT min(due_at) FILTER (WHERE attempts = 0) AS first_due_at,
          min(due_at) FILTER (WHERE attempts > 0) AS retry_due_at FROM oldest) oldest`;

/** The first day of the finished deliveries, and the last day that all tables have. */
const days = `
  SELECT min(day) FILTER (WHERE parent = 'webhook_finished_deliveries') AS first_day,
      (SELECT min(last_day) FROM (SELECT max(substring(c.relname FROM '_(\\d{8})$')) AS last_day
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = ANY ($1::regclass[]) GROUP BY i.inhparent) AS last) AS last_day
    FROM (SELECT i.inhparent::regclass::text AS parent,
        substring(c.relname FROM '_(\\d{8})$') AS day
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = ANY ($1::regclass[])) AS partitions`;

const dayMs = 24 * 3_600_000;

export async function countBacklog(pool: pg.Pool, now: Date, max = countedMax): Promise<Backlog> {
  const [{ rows }, { rows: dayRows }, { rows: failingRows }] = await Promise.all([
    pool.query<CountedRow>(counted, [now.toISOString(), max, endpointsMax, oldestOfEachMax]),
    pool.query<{ first_day: string | null; last_day: string | null }>(days, [partitionedTables]),
    pool.query<{ failing: number }>(failing, [
      new Date(now.getTime() - dayMs).toISOString(),
      failingAfterMs,
      failingEndpointsMax,
    ]),
  ]);
  const [row] = rows;
  const [day] = dayRows;
  const age = (at: Date | null | undefined) => (at ? (now.getTime() - at.getTime()) / 1000 : 0);
  return {
    due: row?.due ?? 0,
    waiting: row?.waiting ?? 0,
    leased: row?.leased ?? 0,
    oldestFirstDueSeconds: age(row?.first_due_at),
    oldestRetryDueSeconds: age(row?.retry_due_at),
    oldestDaySeconds: age(dayOf(day?.first_day)),
    daysAhead: daysAhead(dayOf(day?.last_day), now),
    failingEndpoints: failingRows[0]?.failing ?? 0,
  };
}

function daysAhead(lastDay: Date | null, now: Date): number {
  if (lastDay === null) return 0;
  return Math.max(0, Math.ceil((lastDay.getTime() - now.getTime()) / dayMs));
}

interface CountedRow {
  readonly due: number;
  readonly waiting: number;
  readonly leased: number;
  readonly first_due_at: Date | null;
  readonly retry_due_at: Date | null;
}

/** `20261121` → the start of that day, in UTC. */
function dayOf(digits: string | null | undefined): Date | null {
  if (!digits) return null;
  return new Date(`${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}T00:00:00.000Z`);
}
