/**
 * The table webhook_endpoint_failures as the dispatchers keep it: noted with each batch of outcomes, told to
 * operators once, and forgotten when nothing is attempted any more. A success deletes the row with the
 * statement that records it (delivery-statements.ts).
 */
import type pg from 'pg';
import type { DecidedDelivery } from './delivery.js';

/** How far last_failed_at may lag behind. */
const notedEveryMs = 60_000;

const statements = {
  // In one order, as `finish` deletes: nobody waits in a circle.
  note: `
    INSERT INTO webhook_endpoint_failures AS f (endpoint_id, organization_id, failing_since,
        last_failed_at)
      SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])
        AS t (endpoint_id, organization_id, failing_since, last_failed_at)
        ORDER BY endpoint_id
      ON CONFLICT (endpoint_id) DO UPDATE SET last_failed_at = excluded.last_failed_at
        WHERE f.last_failed_at < excluded.last_failed_at - $5 * interval '1 millisecond'`,
} as const;

/** Notes the endpoints of failed attempts. May be repeated. */
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

function run<Row extends pg.QueryResultRow>(
  client: pg.Pool | pg.ClientBase,
  name: keyof typeof statements,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const text = statements[name];
  return client.query<Row>({ name: `webhook_endpoint_failures.${name}`, text, values });
}
