/**
 * The hashes of webhook bodies, one for each event that became webhooks: the table `webhook_body_hashes`. They are
 * written with the deliveries, in one statement, and kept for good, for audits.
 *
 * What always holds: a hash is that of the body with both parties erased. So it is the same before and after an erasure,
 * and nobody can guess an erased person's data with it.
 */
import { hash } from 'node:crypto';
import { withErased } from '@pis/contracts';
import type { WebhookEnvelope } from '@pis/webhooks';
import type pg from 'pg';

/**
 * Raise it when the body of any event changes: a hash of another shape is not compared, because a body that is computed
 * now has other fields. A spec compares the schemas of the bodies with those of this shape.
 */
export const bodyShape = 1;

/** SHA-256 in hex. */
export function bodyHashOf(envelope: Pick<WebhookEnvelope, 'data'>): string {
  const data = withErased(envelope.data as object, () => true);
  return hash('sha256', JSON.stringify({ ...envelope, data }), 'hex');
}

/** An event that became webhooks, or may have. */
export interface HashedEvent {
  readonly streamId: string;
  readonly eventId: string;
  readonly occurredAt: Date;
  /** Hex; null when none was written, or one of another shape. */
  readonly hash: string | null;
  readonly isOfOtherShape: boolean;
}

/** A place in the order of hashed events. */
export interface HashPlace {
  readonly organizationId: string;
  readonly position: string;
}

export const firstHashPlace: HashPlace = {
  organizationId: '00000000-0000-0000-0000-000000000000',
  position: '',
};

/**
 * Events of the log with the hashes of their bodies, one page, by organization and in the order of the log.
 * @returns next is null at the end
 */
export async function hashedEvents(
  pool: pg.Pool,
  { organizationId, position }: HashPlace,
  max: number,
): Promise<{ readonly events: readonly HashedEvent[]; readonly next: HashPlace | null }> {
  const { rows } = await pool.query<
    Omit<HashedEvent, 'hash' | 'isOfOtherShape'> &
      HashPlace & { readonly hash: string | null; readonly shape: number | null }
  >(
    `SELECT e.organization_id AS "organizationId", e.position, e.stream_id AS "streamId",
        e.event_id AS "eventId", e.occurred_at AS "occurredAt", encode(h.hash, 'hex') AS hash, h.shape
      FROM (SELECT * FROM integration_events
        WHERE (organization_id, position) > ($1::uuid, $2 COLLATE "C")
        ORDER BY organization_id, position LIMIT $3) e
      LEFT JOIN webhook_body_hashes h ON h.occurred_at = e.occurred_at AND h.event_id = e.event_id
      ORDER BY e.organization_id, e.position`,
    [organizationId, position, max],
  );
  const last = rows.at(-1);
  return {
    events: rows.map(({ streamId, eventId, occurredAt, hash: found, shape }) => ({
      ...{ streamId, eventId, occurredAt },
      hash: shape === bodyShape ? found : null,
      isOfOtherShape: shape !== null && shape !== bodyShape,
    })),
    next: rows.length < max || last === undefined ? null : last,
  };
}

/** A body that is still stored, with the hash of its event. */
export interface StoredBody {
  readonly table: string;
  /** Event or delivery. */
  readonly id: string;
  readonly body: string;
  /** Hex; null when none was written, or one of another shape. */
  readonly hash: string | null;
}

const storedBodies = `
  SELECT 'webhook_fan_outs' AS table, event_id AS id, event_id, occurred_at, body FROM webhook_fan_outs
    WHERE body IS NOT NULL
  UNION ALL SELECT 'webhook_deliveries', id, event_id, occurred_at, body FROM webhook_deliveries
    WHERE body IS NOT NULL
  UNION ALL SELECT 'webhook_finished_deliveries', id, event_id, occurred_at, body
    FROM webhook_finished_deliveries WHERE body IS NOT NULL`;

/** All bodies that are still stored, in pages, as of one snapshot. */
export async function* storedBodyPages(
  pool: pg.Pool,
  max: number,
): AsyncGenerator<readonly StoredBody[], void, undefined> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(
      `DECLARE stored_bodies NO SCROLL CURSOR FOR
        SELECT b.table, b.id, b.body, encode(h.hash, 'hex') AS hash FROM (${storedBodies}) b
          LEFT JOIN webhook_body_hashes h
            ON h.occurred_at = b.occurred_at AND h.event_id = b.event_id AND h.shape = ${bodyShape}`,
    );
    for (;;) {
      const { rows } = await client.query<StoredBody>(`FETCH ${max} FROM stored_bodies`);
      if (rows.length === 0) return;
      yield rows;
    }
  } finally {
    await client.query('ROLLBACK').catch(() => undefined);
    client.release();
  }
}

/** A release without hashes may run beside one with them for so long. */
const upgradeHours = 24;

/** Events whose fan-out is still recorded, but not the hash of their body; up to `max`. */
export async function eventsWithoutHash(pool: pg.Pool, max: number): Promise<readonly string[]> {
  return idsOf(
    pool,
    `SELECT f.event_id AS id FROM webhook_fan_outs f
      WHERE f.occurred_at > (SELECT min(occurred_at) FROM webhook_body_hashes) + interval '${upgradeHours} hours'
        AND NOT EXISTS (SELECT FROM webhook_body_hashes h
          WHERE h.occurred_at = f.occurred_at AND h.event_id = f.event_id)
      ORDER BY f.occurred_at, f.event_id LIMIT $1`,
    max,
  );
}

/**
 * Events whose bodies were hashed although the log has no such event; up to `max`. Events of the last day of the index are
 * left out: the index may be behind.
 */
export async function hashesWithoutEvent(pool: pg.Pool, max: number): Promise<readonly string[]> {
  return idsOf(
    pool,
    `SELECT h.event_id AS id FROM webhook_body_hashes h
      WHERE h.occurred_at < (SELECT max(occurred_at) FROM integration_events) - interval '24 hours'
        AND NOT EXISTS (SELECT FROM integration_events e
          WHERE e.event_id = h.event_id AND e.occurred_at = h.occurred_at)
      ORDER BY h.occurred_at, h.event_id LIMIT $1`,
    max,
  );
}

async function idsOf(pool: pg.Pool, text: string, max: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(text, [max]);
  return rows.map(({ id }) => id);
}
