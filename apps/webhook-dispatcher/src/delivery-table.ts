/**
 * The tables webhook_deliveries and webhook_attempts. What always holds: a row is worked on by whom
 * leased it; it is finished only together with the record of the attempt that finished it; every
 * statement may be repeated after an unknown outcome.
 *
 * Times are the caller's, so that one clock rules leases and schedule. Dispatchers on machines whose
 * clocks differ by more than the lease's margin may send twice, with the same ids.
 */
import type pg from 'pg';
import type { Delivery, FinishedReason, NewDelivery, Outcome } from './delivery.js';

export interface InsertedDelivery {
  readonly delivery: NewDelivery;
  /** Inserted already leased until then, or null: anyone may claim it. */
  readonly leasedUntil: Date | null;
}

export interface DecidedDelivery {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
}

export interface ClaimOptions {
  readonly now: Date;
  readonly leasedUntil: Date;
  /** Rows in all. */
  readonly max: number;
  readonly perEndpointMax: number;
  /** How many may be claimed for these endpoints instead; 0 passes over one. */
  readonly room: ReadonlyMap<string, number>;
}

/** The earliest pending delivery of each endpoint, by one index probe per endpoint. */
const heads = `
  WITH RECURSIVE heads AS (
    (SELECT endpoint_id, due_at FROM webhook_deliveries
      WHERE state = 'pending' ORDER BY endpoint_id, due_at LIMIT 1)
    UNION ALL
    SELECT following.endpoint_id, following.due_at
      FROM heads CROSS JOIN LATERAL (
        SELECT d.endpoint_id, d.due_at FROM webhook_deliveries d
          WHERE d.state = 'pending' AND d.endpoint_id > heads.endpoint_id
          ORDER BY d.endpoint_id, d.due_at LIMIT 1) following
  )`;

const statements = {
  // A conflict is a message handled again. A lease of our own on a row that we do not work on is left
  // from an insert whose answer was lost: it is taken up again.
  insert: `
    INSERT INTO webhook_deliveries AS present (id, organization_id, endpoint_id, event_id, event_type,
        payment_id, occurred_at, body, state, created_at, next_attempt_at, window_ends_at,
        leased_until, lease_owner)
      SELECT id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
          'pending', created_at, created_at, window_ends_at, leased_until,
          CASE WHEN leased_until IS NULL THEN NULL ELSE $12::uuid END
        FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::uuid[],
            $7::timestamptz[], $8::text[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[])
          AS t (id, organization_id, endpoint_id, event_id, event_type, payment_id,
            occurred_at, body, created_at, window_ends_at, leased_until)
      ON CONFLICT (id) DO UPDATE SET leased_until = EXCLUDED.leased_until
        WHERE present.lease_owner = EXCLUDED.lease_owner AND present.state = 'pending'
      RETURNING id`,
  nextDue: `${heads}
    SELECT min(due_at) AS due_at FROM heads WHERE endpoint_id <> ALL ($1::uuid[])`,
  claim: `${heads}, due AS (
      SELECT endpoint_id, coalesce(limited.room, $5::int) AS room
        FROM heads LEFT JOIN unnest($6::uuid[], $7::int[]) AS limited (endpoint_id, room)
          USING (endpoint_id)
        WHERE due_at <= $1 ORDER BY due_at
    ), chosen AS MATERIALIZED (
      SELECT found.id FROM due CROSS JOIN LATERAL (
          SELECT d.id FROM webhook_deliveries d
            WHERE d.state = 'pending' AND d.endpoint_id = due.endpoint_id AND d.due_at <= $1
            ORDER BY d.due_at LIMIT due.room FOR UPDATE SKIP LOCKED) found
        LIMIT $4
    )
    UPDATE webhook_deliveries d SET leased_until = $2, lease_owner = $3 FROM chosen
      WHERE d.id = chosen.id
      RETURNING d.id, d.organization_id, d.endpoint_id, d.event_type, d.occurred_at, d.body,
        d.attempts, d.window_ends_at`,
  // What another dispatcher has leased since is its to decide, but a success stands whoever had it.
  record: `
    WITH outcome AS (
      SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::timestamptz[], $5::timestamptz[],
          $6::timestamptz[], $7::text[], $8::uuid[], $9::timestamptz[], $10::int[], $11::int[],
          $12::text[], $13::text[])
        AS t (delivery_id, state, attempt, next_attempt_at, leased_until, finished_at,
          finished_reason, attempt_id, at, status, duration_ms, error, response_excerpt)
    ), attempted AS (
      INSERT INTO webhook_attempts (delivery_id, attempt, id, at, status, duration_ms, error,
          response_excerpt)
        SELECT delivery_id, attempt, attempt_id, at, status, duration_ms, error, response_excerpt
          FROM outcome WHERE attempt_id IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    UPDATE webhook_deliveries d SET state = o.state, attempts = greatest(d.attempts, o.attempt),
        next_attempt_at = coalesce(o.next_attempt_at, d.next_attempt_at),
        leased_until = o.leased_until, lease_owner = NULL,
        last_status = CASE WHEN o.attempt_id IS NULL THEN d.last_status ELSE o.status END,
        last_error = CASE WHEN o.attempt_id IS NULL THEN d.last_error ELSE o.error END,
        finished_at = o.finished_at, finished_reason = o.finished_reason
      FROM outcome o
      WHERE d.id = o.delivery_id AND d.state = 'pending'
        AND (d.lease_owner = $14 OR o.state = 'delivered')`,
  failExpired: `
    UPDATE webhook_deliveries SET state = 'failed', finished_at = $2, finished_reason = 'window_ended',
        leased_until = NULL, lease_owner = NULL
      WHERE state = 'pending' AND endpoint_id = $1 AND due_at <= $2 AND window_ends_at < $2`,
  backlog: `SELECT count(*)::int AS pending FROM webhook_deliveries WHERE state = 'pending'`,
} as const;

export class DeliveryTable {
  /** @param owner UUID of this process in the leases; a new one at every start */
  constructor(
    private readonly pool: pg.Pool,
    private readonly owner: string,
  ) {}

  /** The ids of those that are new, or that we had leased before; the others are at work or done. */
  async insert(inserted: readonly InsertedDelivery[]): Promise<ReadonlySet<string>> {
    // In one order everywhere: two dispatchers that insert the same rows must not wait for each other.
    const rows = inserted.toSorted((a, b) => (a.delivery.id < b.delivery.id ? -1 : 1));
    const { rows: present } = await this.query<{ id: string }>('insert', [
      rows.map(({ delivery }) => delivery.id),
      rows.map(({ delivery }) => delivery.organizationId),
      rows.map(({ delivery }) => delivery.endpointId),
      rows.map(({ delivery }) => delivery.eventId),
      rows.map(({ delivery }) => delivery.eventType),
      rows.map(({ delivery }) => delivery.paymentId),
      rows.map(({ delivery }) => iso(delivery.occurredAt)),
      rows.map(({ delivery }) => delivery.body),
      rows.map(({ delivery }) => iso(delivery.createdAt)),
      rows.map(({ delivery }) => iso(delivery.windowEndsAt)),
      rows.map(({ leasedUntil }) => iso(leasedUntil)),
      this.owner,
    ]);
    return new Set(present.map(({ id }) => id));
  }

  /** When the earliest pending delivery is due, those of the given endpoints left out; null for none. */
  async nextDueAt(exceptEndpoints: readonly string[]): Promise<Date | null> {
    const { rows } = await this.query<{ due_at: Date | null }>('nextDue', [exceptEndpoints]);
    return rows[0]?.due_at ?? null;
  }

  /** Leases due deliveries, the endpoint that has waited longest first. */
  async claim(options: ClaimOptions): Promise<Delivery[]> {
    const { rows } = await this.query<DeliveryRow>('claim', [
      iso(options.now),
      iso(options.leasedUntil),
      this.owner,
      options.max,
      options.perEndpointMax,
      [...options.room.keys()],
      [...options.room.values()],
    ]);
    return rows.map(deliveryOf);
  }

  async record(decided: readonly DecidedDelivery[]): Promise<void> {
    const rows = decided.map(recordRow).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await this.query('record', [
      rows.map((row) => row.id),
      rows.map((row) => row.state),
      rows.map((row) => row.attempts),
      rows.map((row) => iso(row.nextAttemptAt)),
      rows.map((row) => iso(row.leasedUntil)),
      rows.map((row) => iso(row.finishedAt)),
      rows.map((row) => row.finishedReason),
      rows.map((row) => row.attempt?.id ?? null),
      rows.map((row) => iso(row.attempt?.at ?? null)),
      rows.map((row) => row.attempt?.status ?? null),
      rows.map((row) => row.attempt?.durationMs ?? null),
      rows.map((row) => storable(row.attempt?.error ?? null)),
      rows.map((row) => storable(row.attempt?.responseExcerpt ?? null)),
      this.owner,
    ]);
  }

  /** Fails what is due for an endpoint whose deliveries wait, and past its window. */
  async failExpired(endpointId: string, now: Date): Promise<number> {
    const { rowCount } = await this.query('failExpired', [endpointId, iso(now)]);
    return rowCount ?? 0;
  }

  async backlog(): Promise<number> {
    const { rows } = await this.query<{ pending: number }>('backlog', []);
    return rows[0]?.pending ?? 0;
  }

  private query<Row extends pg.QueryResultRow>(name: keyof typeof statements, values: unknown[]) {
    const text = statements[name];
    return this.pool.query<Row>({ name: `webhook_deliveries_${name}`, text, values });
  }
}

interface DeliveryRow {
  readonly id: string;
  readonly organization_id: string;
  readonly endpoint_id: string;
  readonly event_type: string;
  readonly occurred_at: Date;
  readonly body: string;
  readonly attempts: number;
  readonly window_ends_at: Date;
}

function deliveryOf(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    organizationId: row.organization_id,
    endpointId: row.endpoint_id,
    eventType: row.event_type,
    occurredAt: row.occurred_at,
    body: row.body,
    attempts: row.attempts,
    windowEndsAt: row.window_ends_at,
  };
}

const finishes = {
  delivered: { state: 'delivered', finishedReason: null },
  refused: { state: 'failed', finishedReason: 'refused' },
  windowEnded: { state: 'failed', finishedReason: 'window_ended' },
  endpointDeleted: { state: 'canceled', finishedReason: 'endpoint_deleted' },
} as const satisfies Record<
  Exclude<Outcome['kind'], 'retry' | 'released'>,
  { state: string; finishedReason: FinishedReason | null }
>;

function recordRow({ delivery, outcome }: DecidedDelivery) {
  const attempt = 'attempt' in outcome ? outcome.attempt : null;
  const common = {
    id: delivery.id,
    attempt,
    attempts: delivery.attempts + (attempt === null ? 0 : 1),
    nextAttemptAt: outcome.kind === 'retry' ? outcome.nextAttemptAt : null,
    leasedUntil: outcome.kind === 'released' ? outcome.notBefore : null,
  };
  if (outcome.kind === 'retry' || outcome.kind === 'released')
    return { ...common, state: 'pending', finishedAt: null, finishedReason: null };
  return { ...common, ...finishes[outcome.kind], finishedAt: outcome.finishedAt };
}

function iso(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

/** What a receiver answers may hold what PostgreSQL's text cannot. */
function storable(text: string | null): string | null {
  return text === null ? null : text.replaceAll('\u0000', '\uFFFD').toWellFormed();
}
