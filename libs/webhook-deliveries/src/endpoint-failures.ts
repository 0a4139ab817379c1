/**
 * The table webhook_endpoint_failures as the dispatchers use it. Failures are recorded with each batch of
 * outcomes, reported to operators once, and forgotten when nothing is attempted any more. The statement that
 * records a success deletes the row (delivery-statements.ts).
 */
import type pg from 'pg';
import type { DecidedDelivery } from './delivery.js';
import { failingAfterMs } from './endpoint-health.js';

/** How far last_failed_at may lag. */
const notedEveryMs = 60_000;

const statements = {
  // In the same order as `finish` deletes, so that there is no deadlock.
  note: `
    INSERT INTO webhook_endpoint_failures AS f (endpoint_id, organization_id, failing_since,
        last_failed_at)
      SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])
        AS t (endpoint_id, organization_id, failing_since, last_failed_at)
        ORDER BY endpoint_id
      ON CONFLICT (endpoint_id) DO UPDATE SET last_failed_at = excluded.last_failed_at
        WHERE f.last_failed_at < excluded.last_failed_at - $5 * interval '1 millisecond'`,
  unreported: `
    SELECT endpoint_id AS "endpointId", organization_id AS "organizationId",
        failing_since AS "failingSince", last_failed_at AS "lastFailedAt"
      FROM webhook_endpoint_failures
      WHERE reported_at IS NULL AND last_failed_at >= failing_since + $1 * interval '1 millisecond'
      ORDER BY failing_since LIMIT $2`,
  reported: `UPDATE webhook_endpoint_failures SET reported_at = $2 WHERE endpoint_id = ANY ($1::uuid[])`,
  forget: `
    DELETE FROM webhook_endpoint_failures WHERE endpoint_id = ANY (ARRAY(
      SELECT endpoint_id FROM webhook_endpoint_failures WHERE last_failed_at < $1
        ORDER BY endpoint_id LIMIT $2 FOR UPDATE SKIP LOCKED))`,
} as const;

/** Records the endpoints of failed attempts. May be repeated. */
export async function noteFailures(
  pool: pg.Pool,
  decided: readonly DecidedDelivery[],
): Promise<void> {
  const failures = failuresIn(decided);
  if (failures.length === 0) return;
  await run(pool, 'note', [
    failures.map(({ endpointId }) => endpointId),
    failures.map(({ organizationId }) => organizationId),
    failures.map(({ firstAt }) => firstAt.toISOString()),
    failures.map(({ lastAt }) => lastAt.toISOString()),
    notedEveryMs,
  ]);
}

interface Failures {
  readonly endpointId: string;
  readonly organizationId: string;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

function failuresIn(decided: readonly DecidedDelivery[]): readonly Failures[] {
  const byEndpoint = new Map<string, Failures>();
  for (const { delivery, outcome } of decided) {
    if (outcome.kind === 'delivered' || !('attempt' in outcome) || outcome.attempt === null)
      continue;
    const { endpointId, organizationId } = delivery;
    const { at } = outcome.attempt;
    const known = byEndpoint.get(endpointId);
    byEndpoint.set(endpointId, {
      endpointId,
      organizationId,
      firstAt: known === undefined || at < known.firstAt ? at : known.firstAt,
      lastAt: known === undefined || at > known.lastAt ? at : known.lastAt,
    });
  }
  return [...byEndpoint.values()];
}

export interface FailingEndpoint {
  readonly endpointId: string;
  readonly organizationId: string;
  readonly failingSince: Date;
  readonly lastFailedAt: Date;
}

/**
 * Reports endpoints that became `failing` and are not marked as reported, up to `max` of them. An endpoint is
 * passed to `report` again when another process reports it at the same time or this one dies before the mark.
 */
export async function reportFailingEndpoints(
  pool: pg.Pool,
  { now, max }: { readonly now: Date; readonly max: number },
  report: (endpoint: FailingEndpoint) => Promise<void>,
): Promise<void> {
  const { rows } = await run<FailingEndpoint>(pool, 'unreported', [failingAfterMs, max]);
  if (rows.length === 0) return;
  await Promise.all(rows.map((row) => report(row)));
  await run(pool, 'reported', [rows.map(({ endpointId }) => endpointId), now.toISOString()]);
}

/** Forgets up to `max` endpoints whose last failure was before a time: nothing is sent to them any more. */
export async function forgetFailures(pool: pg.Pool, before: Date, max: number): Promise<void> {
  await run(pool, 'forget', [before.toISOString(), max]);
}

function run<Row extends pg.QueryResultRow>(
  client: pg.Pool | pg.ClientBase,
  name: keyof typeof statements,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const text = statements[name];
  return client.query<Row>({ name: `webhook_endpoint_failures.${name}`, text, values });
}
