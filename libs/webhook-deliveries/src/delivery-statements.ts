/**
 * The SQL of the delivery tables, as named prepared statements. One statement serves a batch of any size.
 * Joins over claimed or recorded rows go row by row (LATERAL, ANY): a plan that was made while the tables
 * were small must not scan them when they are large. Arrays are unnested in the list of a SELECT, as in projections.
 */
import { ofAnyLength } from '@pis/postgres';
import { bodyShape } from './body-hashes.js';

const described = `id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
        is_replay, attempts, created_at, window_ends_at, last_status, last_error`;

/**
 * Of rows that are there already when a statement is repeated. PostgreSQL then looks into the index before each row, and
 * confirms the row in the WAL after it. So statements are first tried without it, see `firstTryOf`.
 */
const unlessThere = 'ON CONFLICT DO NOTHING';

/** The beginning of `outcome`: the values of `attemptColumns` in delivery-table.ts. */
const givenAttempts = `SELECT unnest(${ofAnyLength('$1::uuid[]')}) AS delivery_id, unnest($2::int[]) AS attempt,
          unnest($3::uuid[]) AS attempt_id, unnest($4::timestamptz[]) AS at, unnest($5::int[]) AS status,
          unnest($6::int[]) AS duration_ms, unnest($7::text[]) AS error,
          unnest($8::text[]) AS response_excerpt, unnest($9::int[]) AS redelivery_requests`;

/** Records the attempts of a batch. Its columns are those of `attemptColumns`. */
const attempted = `
      INSERT INTO webhook_attempts (delivery_id, attempt, id, at, status, duration_ms, error,
          response_excerpt)
        SELECT delivery_id, attempt, attempt_id, at, status, duration_ms, error, response_excerpt
          FROM outcome WHERE attempt_id IS NOT NULL
        ${unlessThere} RETURNING id`;

/** Leased deliveries, with their own body or that of their event. */
const leasedFrom = (deliveries: string) => `
    SELECT c.id, c.organization_id, c.endpoint_id, c.event_type, c.occurred_at, c.is_replay,
        c.attempts, c.created_at, c.window_ends_at, c.redelivery_requests,
        COALESCE(c.body, f.body) AS body, f.traceparent
      FROM ${deliveries} c LEFT JOIN LATERAL (
        SELECT body, traceparent FROM webhook_fan_outs
          WHERE event_id = c.event_id AND occurred_at = c.occurred_at LIMIT 1) f ON true`;

export const statements = {
  // The deliveries are inserted only together with the row of their fan-out. A delivery that exists
  // already was made by a replay that came before the event.
  insert: `
    WITH event AS MATERIALIZED (
      SELECT unnest(${ofAnyLength('$1::uuid[]')}) AS event_id, unnest($2::timestamptz[]) AS occurred_at,
          unnest($3::uuid[]) AS organization_id, unnest($4::text[]) AS body,
          unnest($5::text[]) AS traceparent, unnest($6::text[]) AS event_type,
          unnest($7::uuid[]) AS payment_id, unnest($8::timestamptz[]) AS created_at,
          unnest($9::timestamptz[]) AS window_ends_at, unnest($10::boolean[]) AS is_late,
          unnest($16::text[]) AS body_hash, generate_subscripts($1::uuid[], 1) AS n
    ), fanned_out AS (
      INSERT INTO webhook_fan_outs (event_id, occurred_at, organization_id, body, traceparent,
          created_at)
        SELECT event_id, occurred_at, organization_id, CASE WHEN is_late THEN NULL ELSE body END,
            traceparent, created_at
          FROM event ORDER BY event_id
        ${unlessThere} RETURNING event_id
    ), hashed AS (
      INSERT INTO webhook_body_hashes (occurred_at, event_id, shape, hash)
        SELECT occurred_at, event_id, ${bodyShape}, decode(body_hash, 'hex') FROM event
          WHERE event_id IN (SELECT event_id FROM fanned_out) ORDER BY occurred_at, event_id
        ${unlessThere}
    )
    INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type,
        payment_id, occurred_at, body, created_at, next_attempt_at, window_ends_at, leased_until,
        lease_owner)
      SELECT d.id, e.organization_id, d.endpoint_id, e.event_id, e.event_type, e.payment_id,
          e.occurred_at, CASE WHEN e.is_late THEN e.body END, e.created_at, e.created_at,
          e.window_ends_at, d.leased_until,
          CASE WHEN d.leased_until IS NULL THEN NULL ELSE $15::uuid END
        FROM (SELECT unnest(${ofAnyLength('$11::int[]')}) AS n, unnest($12::uuid[]) AS id, unnest($13::uuid[]) AS endpoint_id,
              unnest($14::timestamptz[]) AS leased_until) AS d
          JOIN event e USING (n)
        WHERE e.event_id IN (SELECT event_id FROM fanned_out)
      ${unlessThere} RETURNING id`,

  retake: `
    UPDATE webhook_deliveries SET leased_until = $2 WHERE id = ANY ($1::uuid[]) AND lease_owner = $3
      RETURNING id`,

  // Finds the earliest pending delivery of each endpoint, with one index probe per endpoint.
  due: `
    WITH RECURSIVE heads AS (
      (SELECT endpoint_id, due_at FROM webhook_deliveries ORDER BY endpoint_id, due_at LIMIT 1)
      UNION ALL
      SELECT following.endpoint_id, following.due_at
        FROM heads CROSS JOIN LATERAL (
          SELECT d.endpoint_id, d.due_at FROM webhook_deliveries d
            WHERE d.endpoint_id > heads.endpoint_id
            ORDER BY d.endpoint_id, d.due_at LIMIT 1) following
    ), considered AS (
      SELECT endpoint_id, due_at FROM heads WHERE endpoint_id <> ALL ($2::uuid[])
        AND ($4::uuid[] IS NULL OR endpoint_id = ANY ($4))
    )
    (SELECT endpoint_id, due_at, (
        SELECT d.organization_id FROM webhook_deliveries d
          WHERE d.endpoint_id = considered.endpoint_id ORDER BY d.due_at LIMIT 1) AS organization_id
      FROM considered WHERE due_at <= $1 ORDER BY due_at LIMIT $3)
    UNION ALL
    SELECT NULL, min(due_at), NULL FROM considered WHERE due_at > $1`,

  claim: `
    WITH chosen AS MATERIALIZED (
      SELECT found.id
        FROM unnest($4::uuid[], $5::int[]) AS due (endpoint_id, room) CROSS JOIN LATERAL (
          SELECT d.id FROM webhook_deliveries d
            WHERE d.endpoint_id = due.endpoint_id AND d.due_at <= $1
            ORDER BY d.due_at LIMIT due.room FOR UPDATE SKIP LOCKED) found
    ), claimed AS (
      UPDATE webhook_deliveries SET leased_until = $2, lease_owner = $3
        WHERE id = ANY (ARRAY(SELECT id FROM chosen))
        RETURNING *
    )
    ${leasedFrom('claimed')}`,

  // Deliveries that one of our claims has leased and that are not at work here.
  leased: `${leasedFrom('webhook_deliveries')}
    WHERE c.endpoint_id = ANY ($1::uuid[]) AND c.due_at = $2 AND c.lease_owner = $3
      AND c.id <> ALL ($4::uuid[])`,

  // Which failed deliveries were requested again since they were leased (see `wake`).
  askedAgain: `
    SELECT d.id FROM unnest($1::uuid[], $2::int[]) AS failed (id, redelivery_requests)
      JOIN webhook_deliveries d USING (id)
      WHERE d.id = ANY ($1::uuid[]) AND d.lease_owner = $3
        AND d.redelivery_requests > failed.redelivery_requests`,

  // An endpoint that accepted a delivery, or was deleted, is no longer recorded as failing. If another
  // dispatcher has leased the delivery since, it decides, but a success always counts. An attempt that is
  // recorded already is skipped: the delivery may have changed since.
  finish: `
    WITH outcome AS MATERIALIZED (
      ${givenAttempts}, unnest($10::text[]) AS state,
          unnest($11::timestamptz[]) AS finished_at, unnest($12::text[]) AS finished_reason
    ), attempted AS (${attempted}
    ), ended AS (
      DELETE FROM webhook_deliveries d USING outcome o
        WHERE d.id = ANY (ARRAY(SELECT delivery_id FROM outcome)) AND d.id = o.delivery_id
          AND (o.attempt_id IS NULL OR o.attempt_id IN (SELECT id FROM attempted))
          AND (o.state = 'delivered' OR d.lease_owner = $13
            AND (o.state = 'canceled' OR d.redelivery_requests <= o.redelivery_requests))
        RETURNING d.id, d.organization_id, d.endpoint_id, d.event_id, d.event_type, d.payment_id,
          d.occurred_at, d.body, d.is_replay, greatest(d.attempts, o.attempt) AS attempts,
          d.created_at, d.window_ends_at,
          CASE WHEN o.attempt_id IS NULL THEN d.last_status ELSE o.status END AS last_status,
          CASE WHEN o.attempt_id IS NULL THEN d.last_error ELSE o.error END AS last_error,
          o.state, o.finished_at, o.finished_reason
    ), healthy AS MATERIALIZED (
      SELECT f.endpoint_id FROM webhook_endpoint_failures f
        WHERE f.endpoint_id = ANY (ARRAY(
          SELECT DISTINCT endpoint_id FROM ended WHERE state IN ('delivered', 'canceled')))
        ORDER BY f.endpoint_id FOR UPDATE
    ), recovered AS (
      DELETE FROM webhook_endpoint_failures
        WHERE endpoint_id = ANY (ARRAY(SELECT endpoint_id FROM healthy))
    )
    INSERT INTO webhook_finished_deliveries (${described}, state, finished_at, finished_reason)
      SELECT ${described}, state, finished_at, finished_reason FROM ended`,

  // A delivery that was requested again since it was leased is due as requested.
  postpone: `
    WITH outcome AS MATERIALIZED (
      ${givenAttempts}, unnest($10::timestamptz[]) AS next_attempt_at,
          unnest($11::timestamptz[]) AS leased_until
    ), attempted AS (${attempted}
    )
    UPDATE webhook_deliveries d SET attempts = greatest(d.attempts, o.attempt),
        next_attempt_at = CASE WHEN d.redelivery_requests > o.redelivery_requests
          THEN d.next_attempt_at ELSE coalesce(o.next_attempt_at, d.next_attempt_at) END,
        leased_until = o.leased_until, lease_owner = NULL,
        last_status = CASE WHEN o.attempt_id IS NULL THEN d.last_status ELSE o.status END,
        last_error = CASE WHEN o.attempt_id IS NULL THEN d.last_error ELSE o.error END
      FROM outcome o
      WHERE d.id = ANY (ARRAY(SELECT delivery_id FROM outcome)) AND d.id = o.delivery_id AND d.lease_owner = $12`,

  // Checks a limited number of deliveries, by the index of created_at. Returns the place of the last one when
  // there may be more. Skips deliveries that are leased to others.
  // IS TRUE: the planner must not look for due deliveries in an index of all endpoints.
  failExpired: `
    WITH seen AS MATERIALIZED (
      SELECT id, created_at FROM webhook_deliveries
        WHERE endpoint_id = $1 AND created_at < $3
          AND (created_at, id) > ($4::timestamptz(3), $5::uuid)
        ORDER BY created_at, id LIMIT $6
    ), over AS MATERIALIZED (
      SELECT id FROM webhook_deliveries
        WHERE id = ANY (ARRAY(SELECT id FROM seen)) AND (due_at <= $2) IS TRUE AND window_ends_at < $2
        FOR UPDATE SKIP LOCKED
    ), expired AS (
      DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(SELECT id FROM over))
        RETURNING ${described}
    ), failed AS (
      INSERT INTO webhook_finished_deliveries (${described}, state, finished_at, finished_reason)
        SELECT ${described}, 'failed', $2, 'window_ended' FROM expired
    )
    SELECT id, created_at AS "createdAt" FROM seen
      WHERE (SELECT count(*) FROM seen) = $6 ORDER BY created_at DESC, id DESC LIMIT 1`,
} as const;

export type StatementName = keyof typeof statements;

/** Fails with 23505 where the statement itself would skip a row that is there already. */
export function firstTryOf(name: StatementName): string {
  return statements[name].replaceAll(unlessThere, '');
}
