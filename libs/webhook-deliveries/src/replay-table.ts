/**
 * The table webhook_replays as the dispatchers use it. What always holds: the deliveries of a page and the
 * progress of the replay are written in one transaction, and only by the process that holds the lease. So a
 * replay continues exactly where its last page ended, whichever process dies.
 */
import { inTransaction } from '@pis/postgres';
import { reviveDeliveries, type RevivedDelivery } from './delivery-revival.js';
import { forgetOldReplays, replayColumns, type ReplayRecord } from './replay-requests.js';
import type pg from 'pg';

/** How much of an endpoint's replays is still to be sent. */
export interface ReplayBacklog {
  /** Due: never tried, or due for a retry. */
  readonly due: number;
  /** Waiting for a retry. */
  readonly waiting: number;
}

export interface ReplayPage {
  readonly deliveries: readonly RevivedDelivery[];
  /** `time/position` of the last event that was read. */
  readonly nextPosition: string;
  readonly isLast: boolean;
  /** When the next page may follow. */
  readonly notBefore: Date;
}

const statements = {
  // Takes the organization with the least recent turn, and the first of its replays. Costs two index probes for
  // each organization with a running replay. A lease that ends later than a new one would is from a clock that
  // has been set back since.
  lease: `
    WITH RECURSIVE organization AS (
      (SELECT organization_id FROM webhook_replays WHERE state = 'running'
        ORDER BY organization_id LIMIT 1)
      UNION ALL
      SELECT following.organization_id FROM organization o CROSS JOIN LATERAL (
        SELECT r.organization_id FROM webhook_replays r
          WHERE r.state = 'running' AND r.organization_id > o.organization_id
          ORDER BY r.organization_id LIMIT 1) following
    ), turn AS MATERIALIZED (
      SELECT o.organization_id, (SELECT max(r.last_turn) FROM webhook_replays r
          WHERE r.organization_id = o.organization_id) AS last_turn
        FROM organization o ORDER BY last_turn NULLS FIRST
    )
    UPDATE webhook_replays SET leased_until = $2, lease_owner = $3,
        place = nextval('webhook_replay_turns'), last_turn = nextval('webhook_replay_turns')
      WHERE id = (
        SELECT next.id FROM turn CROSS JOIN LATERAL (
          SELECT r.id FROM webhook_replays r
            WHERE r.organization_id = turn.organization_id AND r.state = 'running'
              AND (r.leased_until IS NULL OR r.leased_until <= $1 OR r.leased_until > $2)
            ORDER BY r.place LIMIT 1 FOR UPDATE SKIP LOCKED) next
          LIMIT 1)
      RETURNING ${replayColumns}`,
  hasRunning: `SELECT EXISTS (SELECT FROM webhook_replays WHERE state = 'running') AS has_running`,
  // Counts up to a limit, from a partial index.
  backlog: `SELECT
      (SELECT count(*)::int FROM (SELECT FROM webhook_deliveries WHERE is_replay
        AND endpoint_id = $1 AND next_attempt_at <= $2 LIMIT $3) d) AS due,
      (SELECT count(*)::int FROM (SELECT FROM webhook_deliveries WHERE is_replay
        AND endpoint_id = $1 AND next_attempt_at > $2 LIMIT $4) w) AS waiting`,
  postpone: `UPDATE webhook_replays SET leased_until = $2, lease_owner = NULL
    WHERE id = $1 AND lease_owner = $3 AND state = 'running'`,
  cancel: `UPDATE webhook_replays SET state = 'canceled', finished_at = $2, leased_until = NULL,
      lease_owner = NULL
    WHERE id = $1 AND lease_owner = $3 AND state = 'running'`,
  advance: `UPDATE webhook_replays SET next_position = $4, events_sent = events_sent + $5,
      leased_until = $2, lease_owner = NULL,
      state = CASE WHEN $6::boolean THEN 'completed' ELSE 'running' END,
      finished_at = CASE WHEN $6::boolean THEN $7::timestamptz END
    WHERE id = $1 AND lease_owner = $3 AND state = 'running'`,
  prune: `DELETE FROM webhook_replays WHERE id = ANY (ARRAY(
      SELECT id FROM webhook_replays WHERE finished_at < $1 ORDER BY finished_at LIMIT $2))`,
} as const;

/** The lease ended before the page was written, and another dispatcher has the replay. Nothing was written. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

export class ReplayTable {
  /** @param owner UUID of this process in the leases */
  constructor(
    private readonly pool: pg.Pool,
    private readonly owner: string,
  ) {}

  /** Leases the replay whose turn it is. Organizations take turns. Null when there is none. */
  async lease(now: Date, leasedUntil: Date): Promise<ReplayRecord | null> {
    const { rows } = await query<ReplayRecord>(this.pool, 'lease', [now, leasedUntil, this.owner]);
    return rows[0] ?? null;
  }

  /** Whether any replay has not ended. */
  async hasRunning(): Promise<boolean> {
    const { rows } = await query<{ has_running: boolean }>(this.pool, 'hasRunning', []);
    return rows[0]?.has_running ?? true;
  }

  /** Counted up to the given numbers. */
  async backlog(endpointId: string, now: Date, max: ReplayBacklog): Promise<ReplayBacklog> {
    const values = [endpointId, now, max.due, max.waiting];
    const { rows } = await query<{ due: number; waiting: number }>(this.pool, 'backlog', values);
    return rows[0] ?? max;
  }

  /** Returns the lease. Nobody takes the replay before `notBefore`. */
  async postpone({ id }: ReplayRecord, notBefore: Date): Promise<void> {
    await query(this.pool, 'postpone', [id, notBefore, this.owner]);
  }

  /** For a replay whose endpoint was deleted. */
  async cancel({ id, organizationId }: ReplayRecord, now: Date): Promise<void> {
    await forgetOldReplays(this.pool, organizationId);
    await query(this.pool, 'cancel', [id, now, this.owner]);
  }

  /** Writes a page. @throws LeaseLost, and then nothing was written */
  async advance({ id, organizationId }: ReplayRecord, page: ReplayPage, now: Date): Promise<void> {
    const { deliveries, nextPosition, isLast, notBefore } = page;
    if (isLast) await forgetOldReplays(this.pool, organizationId);
    await inTransaction(this.pool, async (client) => {
      await reviveDeliveries(client, deliveries, { now, isReplay: true });
      const { rowCount } = await query(client, 'advance', [
        ...[id, notBefore, this.owner, nextPosition, deliveries.length, isLast, now],
      ]);
      if (rowCount !== 1) throw new LeaseLost(`replay ${id} is another dispatcher's`);
    });
  }

  /** Deletes up to `max` replays that ended before a time. @returns how many */
  async prune(before: Date, max: number): Promise<number> {
    const { rowCount } = await query(this.pool, 'prune', [before, max]);
    return rowCount ?? 0;
  }
}

function query<Row extends pg.QueryResultRow>(
  client: pg.Pool | pg.ClientBase,
  name: keyof typeof statements,
  values: readonly unknown[],
): Promise<pg.QueryResult<Row>> {
  const text = statements[name];
  return client.query<Row>({ name: `webhook_replays.${name}`, text, values: [...values] });
}
