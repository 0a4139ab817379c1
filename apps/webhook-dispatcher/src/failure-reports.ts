/** Reports endpoints that keep failing to operators, once each, and forgets those that are no longer tried. */
import { inTransaction, pause } from '@pis/postgres';
import { type Logger } from '@pis/service-kit';
import { failingAfterMs } from '@pis/webhook-deliveries';
import type pg from 'pg';

const statements = {
  unreported: `
    SELECT endpoint_id AS "endpointId", organization_id AS "organizationId",
        failing_since AS "failingSince", last_failed_at AS "lastFailedAt"
      FROM webhook_endpoint_failures
      WHERE reported_at IS NULL AND last_failed_at >= failing_since + $1 * interval '1 millisecond'
      ORDER BY failing_since LIMIT $2 FOR UPDATE SKIP LOCKED`,
  reported: `UPDATE webhook_endpoint_failures SET reported_at = $2 WHERE endpoint_id = ANY ($1::uuid[])`,
  forget: `
    DELETE FROM webhook_endpoint_failures WHERE endpoint_id = ANY (ARRAY(
      SELECT endpoint_id FROM webhook_endpoint_failures WHERE last_failed_at < $1
        ORDER BY endpoint_id LIMIT $2 FOR UPDATE SKIP LOCKED))`,
} as const;

export interface FailureReportLimits {
  readonly everyMs: number;
  /** Endpoints told of, or forgotten, in one transaction. */
  readonly batchMax: number;
}

export interface FailureReportsOptions {
  readonly pool: pg.Pool;
  readonly now: () => Date;
  /** After so long without an attempt an endpoint is forgotten. */
  readonly keptMs: number;
  readonly limits: FailureReportLimits;
  readonly log: Pick<Logger, 'warn'>;
}

/** Tells operators, by one line in the log, of each endpoint that has failed for a day. */
export class FailureReports {
  private readonly stopping = new AbortController();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: FailureReportsOptions) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { limits, log } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.report().catch((error: unknown) =>
        log.warn({ err: error }, 'failing webhook endpoints could not be reported yet'),
      );
      await pause(limits.everyMs, signal);
    }
  }

  /** One batch. An endpoint is told of again only when this dispatcher dies in the middle. */
  private async report(): Promise<void> {
    const { pool, now, keptMs, limits, log } = this.options;
    await inTransaction(pool, async (client) => {
      const values = [failingAfterMs, limits.batchMax];
      const { rows } = await run<UnreportedRow>(client, 'unreported', values);
      for (const row of rows) log.warn(row, 'a webhook endpoint has failed for a day');
      if (rows.length === 0) return;
      await run(client, 'reported', [
        rows.map(({ endpointId }) => endpointId),
        now().toISOString(),
      ]);
    });
    const forgottenBefore = new Date(now().getTime() - keptMs).toISOString();
    await run(pool, 'forget', [forgottenBefore, limits.batchMax]);
  }
}

interface UnreportedRow {
  readonly endpointId: string;
  readonly organizationId: string;
  readonly failingSince: Date;
  readonly lastFailedAt: Date;
}

function run<Row extends pg.QueryResultRow>(
  client: pg.Pool | pg.ClientBase,
  name: keyof typeof statements,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const text = statements[name];
  return client.query<Row>({ name: `webhook_endpoint_failures.${name}`, text, values });
}
