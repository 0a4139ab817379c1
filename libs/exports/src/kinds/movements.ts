/** Movements of money, oldest first. Each return is a movement of its own, in the opposite direction. */
import { type Movement, movementPages, type MovementPlace, orUnavailable } from '@pis/read-models';
import type pg from 'pg';
import type { ExportRecord } from '../export-table.js';
import type { ExportedTable } from './table.js';

/** A movement as an export shows it. */
function shown(movement: Movement) {
  return {
    movementId: movement.movementId,
    originatorId: movement.originatorId,
    paymentId: movement.paymentId,
    collectionId: movement.collectionId,
    // Another return of a payment is a return like the first.
    kind: movement.kind === 'later_return' ? 'return' : movement.kind,
    side: movement.side,
    amount: movement.amountMinor,
    currencyCode: 'USD',
    paymentRail: movement.rail,
    reference: movement.reference,
    createdAt: movement.at.toISOString(),
  };
}

const fields = [
  'movementId',
  'originatorId',
  'paymentId',
  'collectionId',
  'kind',
  'side',
  'amount',
  'currencyCode',
  'paymentRail',
  'reference',
  'createdAt',
] as const satisfies readonly (keyof ReturnType<typeof shown>)[];

export function exportedMovements(pool: pg.Pool): ExportedTable<Movement> {
  return {
    header: fields,
    valuesOf: (movement) => {
      const values = shown(movement);
      return fields.map((field) => values[field]);
    },
    shownAs: shown,
    async page(asked, cursor, limit) {
      const after = cursor === null ? undefined : placeIn(cursor);
      const pages = movementPages(pool, movementsWithin(asked), { limit, after });
      const { value: items = [] } = (await pages.next()) as { value?: readonly Movement[] };
      await pages.return();
      const last = items.at(-1);
      const next = items.length < limit || last === undefined ? null : last;
      return { items, next: next && JSON.stringify({ at: next.at, movementId: next.movementId }) };
    },
    async count(asked) {
      const { organizationId, originatorId, from, to } = movementsWithin(asked);
      const { rows } = await orUnavailable(() =>
        pool.query<{ count: number }>(
          `SELECT count(*)::float8 AS count FROM movements WHERE organization_id = $1
            AND ($2::uuid IS NULL OR originator_id = $2)
            AND ($3::timestamptz IS NULL OR at >= $3) AND ($4::timestamptz IS NULL OR at < $4)`,
          [organizationId, originatorId ?? null, from ?? null, to ?? null],
        ),
      );
      return rows[0]?.count ?? 0;
    },
  };
}

/** The log's end at the request bounds them: later movements are not in the file, whatever the clocks say. */
export function movementsWithin(asked: ExportRecord) {
  const { organizationId, originatorId, fromAt, toAt, throughPosition } = asked;
  return {
    organizationId,
    originatorId: originatorId ?? undefined,
    from: fromAt ?? undefined,
    // `to` is inclusive, to the millisecond.
    to: toAt === null ? undefined : new Date(toAt.getTime() + 1),
    through: throughPosition,
  };
}

function placeIn(cursor: string): MovementPlace {
  const { at, movementId } = JSON.parse(cursor) as { at: string; movementId: string };
  return { at: new Date(at), movementId };
}
