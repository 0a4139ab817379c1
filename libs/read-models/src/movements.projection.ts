/**
 * Movements: what moved on the accounts of originators. A transfer that completes is one movement, and its return
 * is an opposite one at the time of the return, however much later, of what came back. So is each later return, of
 * more of it. Nothing else moves money.
 *
 * The row of a transfer says what its movements are, but for later returns, which are in their events alone. They are
 * written when its row has the fact, in the same transaction. The ID of a movement derives from the transfer's, so a
 * fact that is read twice is one movement.
 */
import {
  collection,
  isTransition,
  payment,
  type PaymentDetails,
  type PaymentEvent,
  streamNameOf,
  transferAmountMinor,
  unreachable,
} from '@pis/domain';
import { domainEventOf, type RecordedEvent } from '@pis/event-store';
import { textArray, uuidArray } from '@pis/postgres';
import type pg from 'pg';
import { v5 as uuidV5 } from 'uuid';
import { activityTable } from './activity-table.js';
import type { MovementKind, MovementSide } from './movements.js';
import { laterPrefixesOf, prefixesFollowedBy } from './projected-streams.js';
import {
  insertName,
  type Projection,
  type ReadTable,
  readTable,
  type ReadTableDefinition,
  type RowChange,
  unlessThere,
} from './projection.js';

type TransferOwner = 'payment' | 'collection';

const aggregates = { payment, collection } as const satisfies Record<TransferOwner, unknown>;

export type TransferRow = {
  readonly transferId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly owner: TransferOwner;
  readonly side: MovementSide;
  /** A text when it was read from the table. */
  readonly amountMinor: number | string;
  readonly rail: string;
  readonly reference: string | null;
  readonly completedAt: string | null;
  readonly completedPosition: string | null;
  readonly returnReference: string | null;
  readonly returnReasonCode: string | null;
  /** A text when it was read from the table. Null: the whole amount came back, or nothing has. */
  readonly returnedAmountMinor: number | string | null;
  readonly returnedAt: string | null;
  readonly returnedPosition: string | null;
  readonly revision: number;
};

type Fields = Omit<TransferRow, 'revision'>;

/** Of a new transfer. */
function begun(owner: TransferOwner, details: PaymentDetails, amountMinor: number): Fields {
  const { paymentId, organizationId, originatorId, direction, paymentRail } = details;
  return {
    transferId: paymentId,
    organizationId,
    originatorId,
    owner,
    // A collection debits the originator, who is its counterparty.
    side: (direction === 'INBOUND') === (owner === 'payment') ? 'credit' : 'debit',
    amountMinor,
    rail: paymentRail,
    reference: null,
    completedAt: null,
    completedPosition: null,
    returnReference: null,
    returnReasonCode: null,
    returnedAmountMinor: null,
    returnedAt: null,
    returnedPosition: null,
  };
}

function after(
  owner: TransferOwner,
  row: TransferRow | null,
  event: PaymentEvent,
  { position }: RecordedEvent,
): Fields {
  if (event.type === 'PaymentAwaitingConfirmation')
    return begun(owner, event.data, transferAmountMinor(event.data));
  if (event.type === 'PaymentQueued') {
    // The counterparty of a link has answered: the rail is chosen now, and the amount stays.
    if (row !== null) return { ...row, rail: event.data.paymentRail };
    return begun(owner, event.data, transferAmountMinor({ ...event.data, link: null }));
  }
  if (row === null) throw new Error('a transfer cannot begin with this event');
  if (!isTransition(event)) return row;
  const { type, at } = event;
  switch (type) {
    case 'PaymentProcessing':
      return { ...row, reference: event.data.railReference };
    case 'PaymentCompleted':
      return { ...row, completedAt: at, completedPosition: position };
    case 'PaymentReturned':
      return {
        ...row,
        returnReference: event.data.returnReference ?? null,
        returnReasonCode: event.data.returnReasonCode,
        returnedAmountMinor: event.data.returnedAmountMinor ?? null,
        returnedAt: at,
        returnedPosition: position,
      };
    case 'PaymentFailed':
    case 'PaymentFailedInFlight':
    case 'PaymentBlocked':
    case 'PaymentCanceled':
      return row;
    default:
      return unreachable(type);
  }
}

const transfersOf = (owner: TransferOwner): ReadTableDefinition<TransferRow> => ({
  name: 'transfers',
  key: 'transferId',
  ownsStream: true,
  columns: {
    transferId: 'uuid',
    organizationId: 'uuid',
    originatorId: 'uuid',
    owner: 'text',
    side: 'text',
    amountMinor: 'bigint',
    rail: 'text',
    reference: 'text',
    completedAt: 'timestamptz(3)',
    completedPosition: 'text',
    returnReference: 'text',
    returnReasonCode: 'text',
    returnedAmountMinor: 'bigint',
    returnedAt: 'timestamptz(3)',
    returnedPosition: 'text',
    revision: 'integer',
  },
  category: owner,
  begins: ({ revision }) => revision === 0,
  evolve: (row, recorded) =>
    after(owner, row, domainEventOf(aggregates[owner], recorded), recorded),
});

interface MovementRow {
  readonly transfer: TransferRow;
  readonly kind: MovementKind;
  readonly side: MovementSide;
  readonly amountMinor: number | string;
  readonly reference: string | null;
  readonly returnReasonCode: string | null;
  readonly at: string;
  readonly position: string;
}

const opposite = { credit: 'debit', debit: 'credit' } as const satisfies Record<
  MovementSide,
  MovementSide
>;
const kinds = {
  payment: { moved: 'transfer', returned: 'return' },
  collection: { moved: 'collection', returned: 'collection_return' },
} as const satisfies Record<TransferOwner, Record<'moved' | 'returned', MovementKind>>;

/** The movements that the changes led to, some perhaps not for the first time. */
function movementsOf({ before, after: transfer }: RowChange<TransferRow>): MovementRow[] {
  const { owner, side, completedAt, completedPosition, returnedAt, returnedPosition } = transfer;
  const movements: MovementRow[] = [];
  if (completedAt !== null && completedPosition !== null && (before?.completedAt ?? null) === null)
    movements.push({
      transfer,
      kind: kinds[owner].moved,
      side,
      amountMinor: transfer.amountMinor,
      reference: transfer.reference,
      returnReasonCode: null,
      at: completedAt,
      position: completedPosition,
    });
  if (returnedAt !== null && returnedPosition !== null && (before?.returnedAt ?? null) === null)
    movements.push({
      transfer,
      kind: kinds[owner].returned,
      side: opposite[side],
      amountMinor: transfer.returnedAmountMinor ?? transfer.amountMinor,
      reference: transfer.returnReference,
      returnReasonCode: transfer.returnReasonCode,
      at: returnedAt,
      position: returnedPosition,
    });
  return movements;
}

function movementIdOf({ transfer, kind }: MovementRow): string {
  return uuidV5(kind, transfer.transferId);
}

async function saveMovements(
  client: pg.ClientBase,
  target: string,
  changes: readonly RowChange<TransferRow>[],
  areNew: boolean,
): Promise<void> {
  const movements = changes.flatMap(movementsOf);
  if (movements.length === 0) return;
  const movementsTarget = target.replace('transfers', 'movements');
  const ofTransfers = movements.map(({ transfer }) => transfer);
  await client.query({
    name: insertName(movementsTarget, areNew),
    text: `INSERT INTO ${movementsTarget} (movement_id, organization_id, originator_id, payment_id,
        collection_id, kind, side, amount_minor, rail, reference, return_reason_code,
        at, position)
      SELECT unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::uuid[]),
        unnest($5::uuid[]), unnest($6::text[]), unnest($7::text[]), unnest($8::bigint[]),
        unnest($9::text[]), unnest($10::text[]), unnest($11::text[]),
        unnest($12::timestamptz(3)[]), unnest($13::text[])
      ${unlessThere(areNew, 'movement_id')}`,
    values: [
      uuidArray(movements.map(movementIdOf)),
      uuidArray(ofTransfers.map(({ organizationId }) => organizationId)),
      uuidArray(ofTransfers.map(({ originatorId }) => originatorId)),
      uuidArray(
        ofTransfers.map(({ owner, transferId }) => (owner === 'payment' ? transferId : null)),
      ),
      uuidArray(
        ofTransfers.map(({ owner, transferId }) => (owner === 'collection' ? transferId : null)),
      ),
      textArray(movements.map(({ kind }) => kind)),
      textArray(movements.map(({ side }) => side)),
      textArray(movements.map(({ amountMinor }) => amountMinor)),
      textArray(ofTransfers.map(({ rail }) => rail)),
      textArray(movements.map(({ reference }) => reference)),
      textArray(movements.map(({ returnReasonCode }) => returnReasonCode)),
      textArray(movements.map(({ at }) => at)),
      textArray(movements.map(({ position }) => position)),
    ],
  });
}

/** The transfers of both owners, in one table. No ID is that of a payment and of a collection. */
const byOwner = (['payment', 'collection'] as const).map((owner) =>
  readTable(transfersOf(owner), saveMovements),
);
const transfersTable: ReadTable = {
  name: 'transfers',
  async write(client, target, events, areNew) {
    for (const table of byOwner) await table.write(client, target, events, areNew);
  },
};

/** The other movements are written together with the transfers. */
const movementsTable: ReadTable = {
  name: 'movements',
  write: (client, target, events) => saveLaterReturns(client, target, events),
};

/** The transfers of the events are in their table, which is written before. */
async function saveLaterReturns(
  client: pg.ClientBase,
  target: string,
  events: readonly RecordedEvent[],
): Promise<void> {
  const returns = events.flatMap((recorded) => {
    const { category, id = '' } = streamNameOf(recorded.streamId) ?? {};
    if (category !== 'payment' || recorded.type !== laterReturned) return [];
    const event = domainEventOf<PaymentEvent>(payment, recorded);
    return event.type === laterReturned ? [{ recorded, transferId: id, event }] : [];
  });
  if (returns.length === 0) return;
  await client.query({
    name: `${target}.laterReturns`,
    text: `INSERT INTO ${target} (movement_id, organization_id, originator_id, payment_id, kind, side,
        amount_minor, rail, reference, return_reason_code, at, position)
      SELECT later.movement_id, t.organization_id, t.originator_id, t.transfer_id, $8,
        CASE t.side WHEN 'credit' THEN 'debit' ELSE 'credit' END, later.amount_minor, t.rail,
        later.reference, later.reason, later.at, later.position
      FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz(3)[],
          $7::text[]) AS later (movement_id, transfer_id, amount_minor, reference, reason, at, position)
        JOIN ${target.replace('movements', 'transfers')} t ON t.transfer_id = later.transfer_id
      ON CONFLICT (movement_id) DO NOTHING`,
    values: [
      returns.map(({ recorded, transferId }) =>
        uuidV5(`${laterReturn} ${recorded.revision}`, transferId),
      ),
      returns.map(({ transferId }) => transferId),
      returns.map(({ event }) => event.data.returnedAmountMinor),
      returns.map(({ event }) => event.data.returnReference),
      returns.map(({ event }) => event.data.returnReasonCode),
      returns.map(({ event }) => event.at),
      returns.map(({ recorded }) => recorded.position),
      laterReturn,
    ],
  });
}

const laterReturned = 'PaymentReturnedAgain' satisfies PaymentEvent['type'];
const laterReturn = 'later_return' satisfies MovementKind;

export const movementsProjection: Projection = {
  name: 'movements',
  streamPrefixes: prefixesFollowedBy('movements'),
  laterPrefixes: laterPrefixesOf('movements'),
  tables: [transfersTable, movementsTable, activityTable],
  // Few read movements within a second, and many events together cost little more than one. Not longer: the closing of
  // a month does not wait for a projection that is behind.
  restMs: 500,
};
