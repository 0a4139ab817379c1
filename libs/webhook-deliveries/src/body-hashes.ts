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
 * Raise it when the body of any event changes, also when only the order of its fields does: a hash of another shape is not
 * compared, because a body that is computed now has another text. One spec compares the schemas of the bodies with those
 * of this shape, another (apps/cli/src/audit/body-shape.spec.ts) the bodies of the golden events.
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
  readonly revision: number;
  /** In the log. */
  readonly position: string;
  readonly eventId: string;
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
    Omit<HashedEvent, 'isOfOtherShape'> & HashPlace & { readonly shape: number | null }
  >(
    `SELECT e.organization_id AS "organizationId", e.position, e.stream_id AS "streamId", e.revision,
        e.event_id AS "eventId", encode(h.hash, 'hex') AS hash, h.shape
      FROM (SELECT * FROM integration_events
        WHERE (organization_id, position) > ($1::uuid, $2 COLLATE "C")
        ORDER BY organization_id, position LIMIT $3) e
      LEFT JOIN webhook_body_hashes h ON h.occurred_at = e.occurred_at AND h.event_id = e.event_id
      ORDER BY e.organization_id, e.position`,
    [organizationId, position, max],
  );
  const last = rows.at(-1);
  return {
    events: rows.map(({ organizationId: _, hash: found, shape, ...event }) => ({
      ...event,
      hash: shape === bodyShape ? found : null,
      isOfOtherShape: shape !== null && shape !== bodyShape,
    })),
    next: rows.length < max || last === undefined ? null : last,
  };
}
