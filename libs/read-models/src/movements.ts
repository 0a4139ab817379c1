/**
 * Reads movements: what moved on the accounts of originators, in the order of time. A page begins at an index
 * entry, so the last page costs what the first one costs.
 */
import type { PaymentRail } from '@pis/domain';
import type { Position } from '@pis/event-store';
import type pg from 'pg';
import { orUnavailable, patientReadOrUnavailable } from './or-unavailable.js';

/** `later_return`: more of a payment that was returned before. */
export type MovementKind =
  | 'transfer'
  | 'return'
  | 'later_return'
  | 'collection'
  | 'collection_return';

/** Of the originator's account. */
export type MovementSide = 'credit' | 'debit';

export interface Movement {
  readonly movementId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  /** Null for a collection and its return. */
  readonly paymentId: string | null;
  /** Null for a payment and its return. */
  readonly collectionId: string | null;
  readonly kind: MovementKind;
  readonly side: MovementSide;
  /**
   * Positive, minor units. Of a transfer: with the processing fee that the payer of a link pays. Of a return: what came
   * back with it, which is less where banks on the way kept a part.
   */
  readonly amountMinor: number;
  readonly rail: PaymentRail;
  /** Of a transfer: the reference that it was submitted under. Of a return: the bank's own, null if it gave none. */
  readonly reference: string | null;
  /** Of a return, as the bank gave it. Null if it gave none, and for other movements. */
  readonly returnReasonCode: string | null;
  /** When the log got the fact. */
  readonly at: Date;
  /** Of the fact, in the log. */
  readonly position: Position;
}

export interface MovementFilter {
  readonly organizationId: string;
  /** All originators of the organization when absent. */
  readonly originatorId?: string | undefined;
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
  /**
   * Only facts up to this position of the log, inclusive. With it the answer stays the same forever, because a
   * fact that is recorded later may be dated earlier, by the difference between two clocks.
   */
  readonly through?: Position | undefined;
  /** Leaves out what is dated before this time and was recorded up to this position: it was read before. */
  readonly unless?: { readonly to: Date; readonly through: Position } | undefined;
}

/** The last movement of the page before. */
export type MovementPlace = Pick<Movement, 'at' | 'movementId'>;

export interface MovementPageRequest {
  readonly limit: number;
  /** From the beginning when absent. */
  readonly after?: MovementPlace | undefined;
}

/**
 * Page after page until there are no more, none of them empty, oldest first, by (at, movementId).
 * @throws StoreUnavailable
 */
export async function* movementPages(
  pool: pg.Pool,
  filter: MovementFilter,
  { limit, after }: MovementPageRequest,
): AsyncGenerator<readonly Movement[], void, undefined> {
  if (!Number.isSafeInteger(limit) || limit < 1) throw new RangeError('limit must be 1 or more');
  for (let place = after; ; ) {
    const page = await readPage(pool, filter, limit, place);
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    place = page.at(-1);
  }
}

/** Of one payment: at most a transfer and its returns, oldest first. @throws StoreUnavailable */
export async function movementsOfPayment(
  pool: pg.Pool,
  organizationId: string,
  paymentId: string,
): Promise<readonly Movement[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<Row>({
      name: 'movements.ofPayment',
      text: `SELECT ${columns} FROM movements WHERE payment_id = $2 AND organization_id = $1
        ORDER BY position`,
      values: [organizationId, paymentId],
    }),
  );
  return rows.map(movementOf);
}

type Row = Omit<Movement, 'amountMinor'> & { readonly amountMinor: string };

const columns = `movement_id AS "movementId", organization_id AS "organizationId",
  originator_id AS "originatorId", payment_id AS "paymentId", collection_id AS "collectionId", kind, side,
  amount_minor AS "amountMinor", rail, reference, return_reason_code AS "returnReasonCode", at, position`;

const lowestId = '00000000-0000-0000-0000-000000000000';

async function readPage(
  pool: pg.Pool,
  { organizationId, originatorId, from, to, through, unless }: MovementFilter,
  limit: number,
  after: MovementPlace | undefined,
): Promise<readonly Movement[]> {
  // No movement has the lowest ID, so "after" it is "from" its time on.
  const isFurther = after !== undefined && (from === undefined || after.at >= from);
  const start = isFurther ? after : { at: from ?? null, movementId: lowestId };
  const ofOriginator = originatorId === undefined ? '' : 'AND originator_id = $9';
  const read = (db: Pick<pg.Pool, 'query'>) =>
    db.query<Row>({
      name: originatorId === undefined ? 'movements.page' : 'movements.pageOfOriginator',
      text: `SELECT ${columns} FROM movements
        WHERE organization_id = $1 ${ofOriginator}
          AND (at, movement_id) > (coalesce($2::timestamptz(3), '-infinity'), $3::uuid)
          AND at < coalesce($4::timestamptz(3), 'infinity')
          AND ($5::text IS NULL OR position <= $5)
          AND ($7::timestamptz IS NULL OR at >= $7 OR position > $8::text)
        ORDER BY at, movement_id LIMIT $6`,
      values: [
        organizationId,
        start.at,
        start.movementId,
        to ?? null,
        through ?? null,
        limit,
        unless?.to ?? null,
        unless?.through ?? null,
        ...(originatorId === undefined ? [] : [originatorId]),
      ],
    });
  // What was read before is passed over, however much it is.
  const { rows } = await (unless === undefined
    ? orUnavailable(() => read(pool))
    : patientReadOrUnavailable(pool, read));
  return rows.map(movementOf);
}

function movementOf(row: Row): Movement {
  return { ...row, amountMinor: Number(row.amountMinor) };
}
