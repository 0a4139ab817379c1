/**
 * Activity: every change of status of a payment, and each late rejection, by originator and time, with what it did to the figures of a
 * statement. Statements find the payments of a month by it, and the sums of everything before.
 *
 * A table of the projection `movements`: one checkpoint for both. Rows are only added. The first row of a payment has its terms, so later rows need no stream.
 */
import {
  payment,
  type PaymentDetails,
  type PaymentEvent,
  streamNameOf,
  transferAmountMinor,
} from '@pis/domain';
import { domainEventOf, type RecordedEvent, UnreadableEvent } from '@pis/event-store';
import { textArray, uuidArray } from '@pis/postgres';
import type pg from 'pg';
import {
  asUnreadable,
  insertName,
  ProjectionBroken,
  type ReadTable,
  skippedEventType,
  unlessThere,
  UnreadableStreams,
  uuidForm,
} from './projection.js';

/** What a payment was created with. */
interface Terms {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly isInbound: boolean;
  readonly amountMinor: number;
  /** Charged when the payment completes. */
  readonly feeMinor: number;
  /** Charged when it is returned. */
  readonly returnFeeMinor: number;
}

interface ActivityRow extends Terms {
  readonly paymentId: string;
  readonly recorded: RecordedEvent;
  readonly movesMoney: boolean;
  readonly inProgressChange: -1 | 0 | 1;
  /** The bank rejected the payment when it was FAILED_IN_FLIGHT. It may complete all the same. */
  readonly isRejectedLate: boolean;
  readonly chargedMinor: number;
}

/** What statements show of a payment, beside later returns, which are movements alone. */
type ActivityEvent = Exclude<
  PaymentEvent,
  { readonly type: 'PaymentCorrected' | 'PaymentReturnedAgain' }
>;

/**
 * What each change does. A payment is in progress from QUEUED until it has completed, failed or been blocked. A late
 * rejection ends that, too, unless the payment completes after it: readers of the table decide.
 */
const effects = {
  PaymentAwaitingConfirmation: { inProgressChange: 0, movesMoney: false },
  PaymentQueued: { inProgressChange: 1, movesMoney: false },
  PaymentProcessing: { inProgressChange: 0, movesMoney: false },
  PaymentFailedInFlight: { inProgressChange: 0, movesMoney: false },
  PaymentCompleted: { inProgressChange: -1, movesMoney: true },
  PaymentFailed: { inProgressChange: -1, movesMoney: false },
  PaymentBlocked: { inProgressChange: -1, movesMoney: false },
  PaymentReturned: { inProgressChange: 0, movesMoney: true },
  PaymentCanceled: { inProgressChange: 0, movesMoney: false },
  PaymentRejectedLate: { inProgressChange: 0, movesMoney: false },
} as const satisfies Record<
  ActivityEvent['type'],
  Pick<ActivityRow, 'inProgressChange' | 'movesMoney'>
>;

export const activityTable: ReadTable = {
  name: 'payment_activity',
  async write(client, target, events, areNew = false) {
    const read = readable(events);
    if (read.length === 0) return;
    await insert(client, target, await rowsOf(client, target, read), areNew);
  },
};

interface ReadEvent {
  readonly recorded: RecordedEvent;
  readonly paymentId: string;
  readonly event: ActivityEvent;
}

/** @throws UnreadableStreams */
function readable(events: readonly RecordedEvent[]): readonly ReadEvent[] {
  const unreadable = new Map<string, UnreadableEvent>();
  const read = events.flatMap((recorded): ReadEvent[] => {
    const name = streamNameOf(recorded.streamId);
    const isRead = name?.category === 'payment' && recorded.type !== skippedEventType;
    if (!isRead || unreadable.has(recorded.streamId)) return [];
    try {
      const event = domainEventOf<PaymentEvent>(payment, recorded);
      if (!uuidForm.test(name.id))
        throw new UnreadableEvent(recorded, 'the name of its stream has no UUID');
      if (event.type === 'PaymentCorrected' || event.type === 'PaymentReturnedAgain') return [];
      return [{ recorded, paymentId: name.id, event }];
    } catch (cause) {
      unreadable.set(recorded.streamId, asUnreadable(recorded, cause));
      return [];
    }
  });
  if (unreadable.size > 0) throw new UnreadableStreams([...unreadable.values()]);
  return read;
}

async function rowsOf(
  client: pg.ClientBase,
  target: string,
  read: readonly ReadEvent[],
): Promise<readonly ActivityRow[]> {
  const terms = new Map<string, Terms>();
  for (const { recorded, paymentId, event } of read)
    if (recorded.revision === 0) terms.set(paymentId, termsIn(recorded, event));
  const missing = new Set(read.map(({ paymentId }) => paymentId).filter((id) => !terms.has(id)));
  for (const [paymentId, stored] of await loadTerms(client, target, [...missing]))
    terms.set(paymentId, stored);
  return read.map(({ recorded, paymentId, event }) => {
    const ofPayment = terms.get(paymentId);
    if (ofPayment === undefined)
      throw new ProjectionBroken(recorded, 'the table lacks the beginning of its stream');
    return {
      ...{ ...ofPayment, ...effects[event.type], paymentId, recorded },
      isRejectedLate: event.type === 'PaymentRejectedLate',
      chargedMinor: chargedBy(event.type, ofPayment),
    };
  });
}

function chargedBy(type: ActivityEvent['type'], terms: Terms): number {
  if (type === 'PaymentCompleted') return terms.feeMinor;
  return type === 'PaymentReturned' ? terms.returnFeeMinor : 0;
}

function termsIn(recorded: RecordedEvent, event: ActivityEvent): Terms {
  if (event.type === 'PaymentAwaitingConfirmation') return termsOf(event.data, event.data.link);
  if (event.type === 'PaymentQueued') return termsOf(event.data, null);
  throw new UnreadableEvent(recorded, 'a payment cannot begin with this event');
}

function termsOf(
  details: PaymentDetails,
  link: Parameters<typeof transferAmountMinor>[0]['link'],
): Terms {
  const { organizationId, originatorId, direction } = details;
  return {
    ...{ organizationId, originatorId, isInbound: direction === 'INBOUND' },
    amountMinor: transferAmountMinor({ ...details, link }),
    feeMinor: details.discountFeeMinor + details.flatFeeMinor,
    returnFeeMinor: details.returnFeeMinor,
  };
}

async function loadTerms(
  client: pg.ClientBase,
  target: string,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, Terms>> {
  if (paymentIds.length === 0) return new Map();
  const { rows } = await client.query<StoredTerms>({
    name: `${target}.terms`,
    text: `SELECT payment_id, organization_id, originator_id, is_inbound, amount_minor, fee_minor,
        return_fee_minor
      FROM ${target} WHERE payment_id = ANY($1::uuid[]) AND revision = 0`,
    values: [uuidArray(paymentIds)],
  });
  return new Map(
    rows.map((row) => [
      row.payment_id,
      {
        organizationId: row.organization_id,
        originatorId: row.originator_id,
        isInbound: row.is_inbound,
        amountMinor: Number(row.amount_minor),
        feeMinor: Number(row.fee_minor),
        returnFeeMinor: Number(row.return_fee_minor),
      },
    ]),
  );
}

interface StoredTerms {
  readonly payment_id: string;
  readonly organization_id: string;
  readonly originator_id: string;
  readonly is_inbound: boolean;
  readonly amount_minor: string;
  readonly fee_minor: string;
  readonly return_fee_minor: string;
}

/** An existing row stays unchanged: a rebuild may read a page twice. */
async function insert(
  client: pg.ClientBase,
  target: string,
  rows: readonly ActivityRow[],
  areNew: boolean,
): Promise<void> {
  await client.query({
    name: insertName(target, areNew),
    text: `INSERT INTO ${target} (payment_id, revision, position, at, organization_id, originator_id,
        is_inbound, amount_minor, fee_minor, return_fee_minor, moves_money, in_progress_change,
        charged_minor, is_rejected_late)
      SELECT unnest($1::uuid[]), unnest($2::integer[]), unnest($3::text[]),
        unnest($4::timestamptz(3)[]), unnest($5::uuid[]), unnest($6::uuid[]),
        unnest($7::boolean[]), unnest($8::bigint[]), unnest($9::bigint[]),
        unnest($10::bigint[]), unnest($11::boolean[]), unnest($12::smallint[]),
        unnest($13::bigint[]), unnest($14::boolean[])
      ${unlessThere(areNew, 'payment_id, revision')}`,
    values: [
      uuidArray(rows.map(({ paymentId }) => paymentId)),
      textArray(rows.map(({ recorded }) => recorded.revision)),
      textArray(rows.map(({ recorded }) => recorded.position)),
      textArray(rows.map(({ recorded }) => recorded.metadata.at)),
      uuidArray(rows.map(({ organizationId }) => organizationId)),
      uuidArray(rows.map(({ originatorId }) => originatorId)),
      textArray(rows.map(({ isInbound }) => isInbound)),
      textArray(rows.map(({ amountMinor }) => amountMinor)),
      textArray(rows.map(({ feeMinor }) => feeMinor)),
      textArray(rows.map(({ returnFeeMinor }) => returnFeeMinor)),
      textArray(rows.map(({ movesMoney }) => movesMoney)),
      textArray(rows.map(({ inProgressChange }) => inProgressChange)),
      textArray(rows.map(({ chargedMinor }) => chargedMinor)),
      textArray(rows.map(({ isRejectedLate }) => isRejectedLate)),
    ],
  });
}
