/**
 * History: which status each payment had when, one row a period, for lists as of a time (payment-periods.ts).
 *
 * What always holds: the periods of a payment follow each other without gaps, by the times of as-of.ts of the event
 * store: a period begins with the latest time of the events up to its first one. A payment that completes has three
 * rows. Each is written when it begins and when it ends, or once if one page of the log has both.
 */
import { isTransition, payment, type PaymentEvent, statusAfter, streamNameOf } from '@pis/domain';
import { domainEventOf, type RecordedEvent, type UnreadableEvent } from '@pis/event-store';
import { isoTimes, textArray, uuidArray } from '@pis/postgres';
import type pg from 'pg';
import { bandOf } from './payment-periods.js';
import { counterpartyIdOf } from './payments.projection.js';
import { laterPrefixesOf, prefixesFollowedBy } from './projected-streams.js';
import {
  asUnreadable,
  columnOf,
  columnValues,
  type Projection,
  ProjectionBroken,
  type ReadTable,
  skippedEventType,
  UnreadableStreams,
  uuidForm,
} from './projection.js';

/** Times are ISO 8601. */
interface Period {
  readonly paymentId: string;
  readonly revision: number;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly contactId: string | null;
  readonly status: string;
  readonly direction: string;
  readonly paymentRail: string;
  readonly createdAt: string;
  readonly validFrom: string;
  /** Null while it lasts. */
  readonly validTo: string | null;
  /** The latest time of the payment's events in it, and before it. */
  readonly lastAt: string;
}

const columns = {
  paymentId: 'uuid',
  revision: 'integer',
  organizationId: 'uuid',
  originatorId: 'uuid',
  contactId: 'uuid',
  status: 'text',
  direction: 'text',
  paymentRail: 'text',
  createdAt: 'timestamptz(3)',
  validFrom: 'timestamptz(3)',
  validTo: 'timestamptz(3)',
  lastAt: 'timestamptz(3)',
} as const satisfies Record<keyof Period, string>;
const fields = Object.keys(columns) as (keyof Period)[];

const periodsTable: ReadTable = {
  name: 'payment_periods',
  async write(client, target, events, areNew = false) {
    const { byPayment, unreadable } = grouped(events);
    const open = await loadOpen(
      client,
      target,
      [...byPayment].flatMap(([id, [first]]) => (first?.revision === 0 ? [] : [id])),
    );
    const changed: Period[] = [];
    for (const [paymentId, group] of byPayment) {
      try {
        changed.push(...changedBy(paymentId, group, open.get(paymentId) ?? null));
      } catch (error) {
        if (!(error instanceof Unapplied)) throw error;
        unreadable.push(error.unreadable);
      }
    }
    if (unreadable.length > 0) throw new UnreadableStreams(unreadable);
    const isBegun = ({ paymentId, revision }: Period) =>
      areNew && open.get(paymentId)?.revision !== revision;
    await save(client, target, changed.filter(isBegun), '');
    await save(
      client,
      target,
      changed.filter((period) => !isBegun(period)),
      whereOpen,
    );
  },
};

export const historyProjection: Projection = {
  name: 'history',
  streamPrefixes: prefixesFollowedBy('history'),
  laterPrefixes: laterPrefixesOf('history'),
  tables: [periodsTable],
  // Short periods of one page are written once.
  restMs: 250,
};

/** An event that this build cannot read or apply. */
class Unapplied extends Error {
  constructor(readonly unreadable: UnreadableEvent) {
    super(unreadable.message);
  }
}

function grouped(events: readonly RecordedEvent[]) {
  const byPayment = new Map<string, RecordedEvent[]>();
  const unreadable: UnreadableEvent[] = [];
  for (const event of events) {
    const name = streamNameOf(event.streamId);
    if (name?.category !== 'payment' || event.type === skippedEventType) continue;
    if (!uuidForm.test(name.id)) {
      unreadable.push(asUnreadable(event, 'the name of its stream has no UUID'));
      continue;
    }
    byPayment.set(name.id, [...(byPayment.get(name.id) ?? []), event]);
  }
  return { byPayment, unreadable };
}

/** The periods that the events began or changed. Events that the open period has already change nothing. @throws Unapplied */
function changedBy(
  paymentId: string,
  events: readonly RecordedEvent[],
  loaded: Period | null,
): readonly Period[] {
  const changed = new Map<number, Period>();
  let open = loaded;
  for (const recorded of events) {
    const { revision, metadata } = recorded;
    if (open !== null && revision <= open.revision) continue;
    if (open === null && revision !== 0)
      throw new ProjectionBroken(recorded, 'the table lacks the beginning of its stream');
    const event = readEvent(recorded);
    const lastAt: string = open !== null && open.lastAt > metadata.at ? open.lastAt : metadata.at;
    if (!isTransition(event)) {
      // Its first event is no note: that would be unreadable.
      if (open === null || lastAt === open.lastAt) continue;
      open = { ...open, lastAt };
    } else {
      if (open !== null) changed.set(open.revision, { ...open, validTo: lastAt });
      const terms = termsOf(event, open, recorded);
      const status = statusAfter[event.type];
      const times = { validFrom: lastAt, validTo: null, lastAt };
      const createdAt = open?.createdAt ?? metadata.at;
      open = { paymentId, revision, ...terms, status, createdAt, ...times };
    }
    changed.set(open.revision, open);
  }
  return [...changed.values()];
}

type Terms = Pick<
  Period,
  'organizationId' | 'originatorId' | 'contactId' | 'direction' | 'paymentRail'
>;

/** The event's own, or those of the period before. @throws Unapplied */
function termsOf(event: PaymentEvent, open: Period | null, recorded: RecordedEvent): Terms {
  if (event.type === 'PaymentAwaitingConfirmation' || event.type === 'PaymentQueued') {
    const { organizationId, originatorId, direction, paymentRail } = event.data;
    const contactId = event.data.contactId ?? counterpartyIdOf(event.data);
    return { organizationId, originatorId, contactId, direction, paymentRail };
  }
  if (open === null)
    throw new Unapplied(asUnreadable(recorded, 'a payment cannot begin with this event'));
  const { organizationId, originatorId, contactId, direction, paymentRail } = open;
  return { organizationId, originatorId, contactId, direction, paymentRail };
}

/** @throws Unapplied */
function readEvent(recorded: RecordedEvent): PaymentEvent {
  try {
    return domainEventOf<PaymentEvent>(payment, recorded);
  } catch (cause) {
    throw new Unapplied(asUnreadable(recorded, cause));
  }
}

async function loadOpen(
  client: pg.ClientBase,
  target: string,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, Period>> {
  if (paymentIds.length === 0) return new Map();
  const selected = fields.map((field) => `${columnOf(field)} AS "${field}"`).join(', ');
  // Without a name, so that it is planned for the table as it is now: a plan that was made while it was small reads all of it.
  const { rows } = await client.query<Period>({
    text: `SELECT ${selected} FROM ${target} WHERE payment_id = ANY($1::uuid[]) AND valid_to IS NULL`,
    values: [uuidArray(paymentIds)],
    types: isoTimes,
  });
  return new Map(rows.map((period) => [period.paymentId, period]));
}

/** A period that has ended stays as it is: a rebuild may read a page twice. */
const whereOpen = `ON CONFLICT (payment_id, revision) DO UPDATE
        SET valid_to = excluded.valid_to, last_at = excluded.last_at, band = excluded.band
      WHERE stored.valid_to IS NULL`;

/** @param ifThere what happens to a period that is there already; without it, it fails with a unique violation */
async function save(
  client: pg.ClientBase,
  target: string,
  periods: readonly Period[],
  ifThere: '' | typeof whereOpen,
): Promise<void> {
  if (periods.length === 0) return;
  const names = fields.map(columnOf).join(', ');
  const values = fields
    .map((field, index) => `unnest($${index + 1}::${columns[field]}[])`)
    .join(', ');
  await client.query({
    name: `${target}.${ifThere === '' ? 'insert' : 'upsert'}`,
    text: `INSERT INTO ${target} AS stored (${names}, band)
      SELECT ${values}, unnest($${fields.length + 1}::smallint[])
      ${ifThere}`,
    values: [
      ...fields.map((field) => columnValues(columns[field], periods, field)),
      textArray(periods.map((period) => bandOf(period))),
    ],
  });
}
