/**
 * The table webhook_replays as the dispatchers work it off. What always holds: a page's deliveries and
 * how far the replay is are written in one transaction, and only by whom holds the lease. So a replay
 * goes on exactly where the last page ended, whoever dies.
 */
import { inTransaction } from '@pis/postgres';
import {
  replayColumns,
  type ReplayRecord,
  reviveDeliveries,
  type RevivedDelivery,
} from '@pis/webhook-deliveries';
import type pg from 'pg';

/** How much of an endpoint's replays is still to be sent. */
export interface ReplayBacklog {
  /** Due: never tried, or to be tried again now. */
  readonly due: number;
  /** Waiting for a retry. */
  readonly waiting: number;
}

export interface ReplayPage {
  readonly deliveries: readonly RevivedDelivery[];
  /** `time/position` of the last event that was looked at. */
  readonly nextPosition: string;
  readonly isLast: boolean;
  /** When the next page may follow. */
  readonly notBefore: Date;
}

const statements = {
  // The organization whose turn was longest ago, and of its replays the one at the first place: two index
  // probes for each organization that has a replay running. A lease beyond any that is given now is of a
  // clock that has been set back since.
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
  // Counted no further than it matters, from a partial index.
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

/** The lease ended before the page was written, and another dispatcher has it: nothing was written. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

export class ReplayTable {
  /** @param owner UUID of this process in the leases */
  constructor(
    private readonly pool: pg.Pool,
    private readonly owner: string,
  ) {}

  /** The replay whose turn it is, leased to us; null for none. Turns go by organization. */
  async lease(now: Date, leasedUntil: Date): Promise<ReplayRecord | null> {
    const { rows } = await query<ReplayRecord>(this.pool, 'lease', [now, leasedUntil, this.owner]);
    return rows[0] ?? null;
  }

  /** Counted up to the given numbers. */
  async backlog(endpointId: string, now: Date, max: ReplayBacklog): Promise<ReplayBacklog> {
    const values = [endpointId, now, max.due, max.waiting];
    const { rows } = await query<{ due: number; waiting: number }>(this.pool, 'backlog', values);
    return rows[0] ?? max;
  }

  /** Gives the lease up; nobody takes it before `notBefore`. */
  async postpone({ id }: ReplayRecord, notBefore: Date): Promise<void> {
    await query(this.pool, 'postpone', [id, notBefore, this.owner]);
  }

  /** Its endpoint is gone. */
  async cancel({ id }: ReplayRecord, now: Date): Promise<void> {
    await query(this.pool, 'cancel', [id, now, this.owner]);
  }

  /** @throws LeaseLost; nothing is written then */
  async advance({ id }: ReplayRecord, page: ReplayPage, now: Date): Promise<void> {
    const { deliveries, nextPosition, isLast, notBefore } = page;
    await inTransaction(this.pool, async (client) => {
      await reviveDeliveries(client, deliveries, { now, isReplay: true });
      const { rowCount } = await query(client, 'advance', [
        ...[id, notBefore, this.owner, nextPosition, deliveries.length, isLast, now],
      ]);
      if (rowCount !== 1) throw new LeaseLost(`replay ${id} is another dispatcher's`);
    });
  }

  /** Forgets replays that ended before a time, as many as given at most. @returns how many */
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
