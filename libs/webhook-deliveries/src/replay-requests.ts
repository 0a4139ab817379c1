/** The table webhook_replays as clients see it: their requests and the progress of each. */
import type { WebhookReplayRequest } from '@pis/contracts';
import { eventTypes, subscribes, type WebhookEndpoint } from '@pis/domain';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';

export interface ReplayRecord {
  readonly id: string;
  readonly organizationId: string;
  readonly endpointId: string;
  readonly fromAt: Date;
  readonly toAt: Date;
  /** Null: all. */
  readonly eventTypes: readonly string[] | null;
  /** The replay begins when the index of events has reached this position. */
  readonly throughPosition: string;
  /** `time/position` of the last event that was sent. '' before the first. */
  readonly nextPosition: string;
  readonly state: 'running' | 'completed' | 'canceled';
  readonly eventsSent: number;
  readonly requestedAt: Date;
  readonly finishedAt: Date | null;
}

export type ReplayRequest = Omit<
  ReplayRecord,
  'nextPosition' | 'state' | 'eventsSent' | 'finishedAt'
>;

/** The most replays of an endpoint that run at a time. */
export const runningReplaysMax = 5;

/** The most ended replays of an organization that are kept: the latest ones. There is one more after each end. */
const endedReplaysMax = 1_000;
/** More than one at a time: an older release kept all of them. */
const forgottenMax = 100;

/** Deletes ended replays of the organization beyond the latest thousand, a few at a time. To be called before each end of one. */
export async function forgetOldReplays(pool: pg.Pool, organizationId: string): Promise<void> {
  await pool.query({
    name: 'webhook_replays.forget',
    text: `DELETE FROM webhook_replays WHERE id = ANY (ARRAY(
        SELECT id FROM webhook_replays WHERE organization_id = $1 AND finished_at IS NOT NULL
          ORDER BY finished_at DESC, id DESC OFFSET ${endedReplaysMax} LIMIT ${forgottenMax}))`,
    values: [organizationId],
  });
}

export const replayColumns = `id, organization_id AS "organizationId", endpoint_id AS "endpointId",
  from_at AS "fromAt", to_at AS "toAt", event_types AS "eventTypes",
  through_position AS "throughPosition", next_position AS "nextPosition", state,
  events_sent::float8 AS "eventsSent", requested_at AS "requestedAt", finished_at AS "finishedAt"`;

/** What a client asks for, of this endpoint. Without event types: those that the endpoint subscribes to. */
export function replayRequestOf(
  { endpointId, subscribedEvents }: WebhookEndpoint,
  asked: WebhookReplayRequest,
  request: Pick<ReplayRequest, 'id' | 'organizationId' | 'throughPosition' | 'requestedAt'>,
): ReplayRequest {
  const wanted = asked.eventTypes ?? subscribedEvents;
  return {
    ...request,
    endpointId,
    fromAt: new Date(asked.from),
    toAt: earlier(request.requestedAt, asked.to),
    eventTypes: eventTypes.filter((eventType) => subscribes(wanted, eventType)),
  };
}

/** The latest end of a replay: later events are sent anyway. */
function earlier(now: Date, to: string | null): Date {
  return to === null || Date.parse(to) > now.getTime() ? now : new Date(to);
}

interface OfEndpoint {
  readonly organizationId: string;
  readonly endpointId: string;
}

interface OneReplay extends OfEndpoint {
  readonly replayId: string;
}

export interface ReplayRequests {
  /** Null when the most allowed replays are running. */
  create(request: ReplayRequest): Promise<ReplayRecord | null>;
  get(of: OneReplay): Promise<ReplayRecord | null>;
  /** The latest first. */
  latest(of: OfEndpoint, max: number): Promise<readonly ReplayRecord[]>;
  /** Whether another replay of the endpoint may begin. */
  hasRoom(of: OfEndpoint): Promise<boolean>;
  /** Ends one that runs. What it has sent stays sent. @returns false, having done nothing, for one that has ended */
  cancel(of: OneReplay, now: Date): Promise<boolean>;
}

export function replayRequests(pool: pg.Pool): ReplayRequests {
  return {
    async create(request) {
      const values = [
        ...[request.id, request.organizationId, request.endpointId],
        // As text: the driver writes a Date in the time zone of this machine, and drops the seconds of
        // offsets before 1900.
        ...[request.fromAt.toISOString(), request.toAt.toISOString(), request.eventTypes],
        ...[request.throughPosition, request.requestedAt.toISOString(), runningReplaysMax],
      ];
      return inTransaction(pool, async (client) => {
        await client.query({
          name: 'webhook_replays.lock',
          text: lock,
          values: [request.endpointId],
        });
        const { rows } = await client.query<ReplayRecord>({
          name: 'webhook_replays.create',
          text: create,
          values,
        });
        return rows[0] ?? null;
      });
    },
    async get({ organizationId, endpointId, replayId }) {
      const { rows } = await pool.query<ReplayRecord>({
        name: 'webhook_replays.get',
        text: `SELECT ${replayColumns} FROM webhook_replays
          WHERE id = $1 AND organization_id = $2 AND endpoint_id = $3`,
        values: [replayId, organizationId, endpointId],
      });
      return rows[0] ?? null;
    },
    async latest({ organizationId, endpointId }, max) {
      const { rows } = await pool.query<ReplayRecord>({
        name: 'webhook_replays.latest',
        text: `SELECT ${replayColumns} FROM webhook_replays
          WHERE endpoint_id = $1 AND organization_id = $2
          ORDER BY requested_at DESC, id DESC LIMIT $3`,
        values: [endpointId, organizationId, max],
      });
      return rows;
    },
    async cancel({ organizationId, endpointId, replayId }, now) {
      await forgetOldReplays(pool, organizationId);
      // A dispatcher that has the lease finds that it was lost, and writes nothing of its page.
      const { rowCount } = await pool.query({
        name: 'webhook_replays.cancel_request',
        text: `UPDATE webhook_replays SET state = 'canceled', finished_at = $4, leased_until = NULL,
            lease_owner = NULL
          WHERE id = $1 AND organization_id = $2 AND endpoint_id = $3 AND state = 'running'`,
        values: [replayId, organizationId, endpointId, now.toISOString()],
      });
      return rowCount === 1;
    },
    async hasRoom({ organizationId, endpointId }) {
      const { rows } = await pool.query<{ running: number }>({
        name: 'webhook_replays.running',
        text: `SELECT count(*)::integer AS running FROM webhook_replays
          WHERE organization_id = $1 AND endpoint_id = $2 AND state = 'running'`,
        values: [organizationId, endpointId],
      });
      return (rows[0]?.running ?? 0) < runningReplaysMax;
    },
  };
}

/** Two requests of one endpoint cannot both take the last place. */
const lock = "SELECT pg_advisory_xact_lock(hashtextextended('webhook-replays/' || $1::text, 0))";

const create = `INSERT INTO webhook_replays (id, organization_id, endpoint_id, from_at, to_at,
    event_types, through_position, requested_at)
  SELECT $1, $2, $3, $4, $5, $6::text[], $7, $8
    WHERE (SELECT count(*) FROM webhook_replays
      WHERE organization_id = $2 AND endpoint_id = $3 AND state = 'running') < $9
  RETURNING ${replayColumns}`;
