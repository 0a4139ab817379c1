/**
 * Figures: how many payments there are of each kind, and how long they took. The overview of the dashboard reads
 * sums, because a million payments take PostgreSQL a second or more to count each time.
 *
 * A payment's row says what its part of the sums is. When the row changes, the difference is added to the sums in
 * the same transaction. So the sums are those of the rows at any time, whatever is read twice.
 */
import {
  isTransition,
  payment,
  type PaymentTransition,
  statusAfter,
  unreachable,
} from '@pis/domain';
import { domainEventOf } from '@pis/event-store';
import type pg from 'pg';
import { laterPrefixesOf, prefixesFollowedBy } from './projected-streams.js';
import {
  type Projection,
  type ReadTable,
  readTable,
  type ReadTableDefinition,
} from './projection.js';

export type FiguresRow = {
  readonly paymentId: string;
  readonly organizationId: string;
  readonly createdAt: string;
  readonly direction: string;
  readonly paymentRail: string;
  readonly status: string;
  /** A text when it was read from the table. */
  readonly amountMinor: number | string;
  readonly queuedAt: string | null;
  readonly completedAt: string | null;
  readonly returnReasonCode: string | null;
  readonly revision: number;
};

/** How much longer a duration is than those of the bucket before. A percentile is wrong by half of that at most. */
const bucketRatio = 1.05;

function bucketOf(durationMs: number): number {
  return Math.floor(Math.log(Math.max(durationMs, 1)) / Math.log(bucketRatio));
}

/** The middle of a bucket. */
export function durationMsOf(bucket: number): number {
  return Math.round(bucketRatio ** (bucket + 0.5));
}

type Fields = Omit<FiguresRow, 'revision'>;

function after(row: FiguresRow | null, event: PaymentTransition): Fields {
  const status = statusAfter[event.type];
  if (event.type === 'PaymentAwaitingConfirmation' || event.type === 'PaymentQueued') {
    const { data, at } = event;
    return {
      paymentId: data.paymentId,
      organizationId: data.organizationId,
      createdAt: row?.createdAt ?? at,
      direction: data.direction,
      paymentRail: data.paymentRail,
      status,
      amountMinor: data.amountMinor,
      queuedAt: event.type === 'PaymentQueued' ? at : null,
      completedAt: null,
      returnReasonCode: null,
    };
  }
  if (row === null) throw new Error('a payment cannot begin with this event');
  switch (event.type) {
    case 'PaymentCompleted':
      return { ...row, status, completedAt: event.at };
    case 'PaymentReturned':
      return { ...row, status, returnReasonCode: event.data.returnReasonCode };
    case 'PaymentProcessing':
    case 'PaymentFailed':
    case 'PaymentFailedInFlight':
    case 'PaymentBlocked':
    case 'PaymentCanceled':
      return { ...row, status };
    default:
      return unreachable(event);
  }
}

const figuresTable: ReadTableDefinition<FiguresRow> = {
  name: 'payment_figures',
  key: 'paymentId',
  ownsStream: true,
  columns: {
    paymentId: 'uuid',
    organizationId: 'uuid',
    createdAt: 'timestamptz(3)',
    direction: 'text',
    paymentRail: 'text',
    status: 'text',
    amountMinor: 'bigint',
    queuedAt: 'timestamptz(3)',
    completedAt: 'timestamptz(3)',
    returnReasonCode: 'text',
    revision: 'integer',
  },
  category: 'payment',
  // Every row is loaded, also for a first event that is read twice: the difference must be exact.
  begins: () => false,
  evolve(row, recorded) {
    const event = domainEventOf(payment, recorded);
    if (isTransition(event)) return after(row, event);
    if (row === null) throw new Error('a payment cannot begin with this event');
    return row;
  },
};

const sums = ['payment_days', 'payment_durations'] as const;
type Sum = (typeof sums)[number];

/** By the values of the key, as JSON. */
class Differences {
  private readonly of = new Map<string, { payments: number; amountMinor: number }>();

  add(key: readonly (string | number)[], payments: number, amountMinor: number): void {
    const name = JSON.stringify(key);
    const sum = this.of.get(name) ?? { payments: 0, amountMinor: 0 };
    this.of.set(name, {
      payments: sum.payments + payments,
      amountMinor: sum.amountMinor + amountMinor,
    });
  }

  /** In the order of the keys. */
  entries() {
    return [...this.of]
      .filter(([, { payments, amountMinor }]) => payments !== 0 || amountMinor !== 0)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, sum]) => ({ key: JSON.parse(key) as (string | number)[], ...sum }));
  }
}

type Change = { readonly before: FiguresRow | null; readonly after: FiguresRow };

async function addDifferences(
  client: pg.ClientBase,
  target: string,
  changes: readonly Change[],
): Promise<void> {
  const [days, durations] = [new Differences(), new Differences()];
  for (const { before, after } of changes) {
    if (before !== null) count(before, -1, days, durations);
    count(after, 1, days, durations);
  }
  const tableOf = (sum: Sum) => target.replace(figuresTable.name, sum);
  await saveDays(client, tableOf('payment_days'), days);
  await saveDurations(client, tableOf('payment_durations'), durations);
}

/** @param sign 1 to add the payment's part, -1 to take it away */
function count(row: FiguresRow, sign: 1 | -1, days: Differences, durations: Differences): void {
  const { organizationId, status, direction, paymentRail, queuedAt, completedAt } = row;
  const day = row.createdAt.slice(0, 'YYYY-MM-DD'.length);
  const code = row.returnReasonCode ?? '';
  const amountMinor = sign * Number(row.amountMinor);
  days.add([organizationId, status, day, direction, paymentRail, code], sign, amountMinor);
  if (queuedAt === null || completedAt === null) return;
  const bucket = bucketOf(Date.parse(completedAt) - Date.parse(queuedAt));
  durations.add([organizationId, day, paymentRail, bucket], sign, 0);
}

async function saveDays(client: pg.ClientBase, target: string, days: Differences): Promise<void> {
  const changed = days.entries();
  if (changed.length === 0) return;
  const column = (index: number) => changed.map(({ key }) => key[index]);
  await client.query({
    name: `${target}.add`,
    text: `INSERT INTO ${target} AS stored (organization_id, status, day, direction, payment_rail,
        return_reason_code, payments, amount_minor)
      SELECT unnest($1::uuid[]), unnest($2::text[]), unnest($3::date[]), unnest($4::text[]),
        unnest($5::text[]), unnest($6::text[]), unnest($7::bigint[]), unnest($8::bigint[])
      ON CONFLICT (organization_id, status, day, direction, payment_rail, return_reason_code)
      DO UPDATE SET payments = stored.payments + excluded.payments,
        amount_minor = stored.amount_minor + excluded.amount_minor`,
    values: [
      ...[0, 1, 2, 3, 4, 5].map(column),
      changed.map(({ payments }) => payments),
      changed.map(({ amountMinor }) => amountMinor),
    ],
  });
}

async function saveDurations(
  client: pg.ClientBase,
  target: string,
  durations: Differences,
): Promise<void> {
  const changed = durations.entries();
  if (changed.length === 0) return;
  const column = (index: number) => changed.map(({ key }) => key[index]);
  await client.query({
    name: `${target}.add`,
    text: `INSERT INTO ${target} AS stored (organization_id, day, payment_rail, bucket, payments)
      SELECT unnest($1::uuid[]), unnest($2::date[]), unnest($3::text[]), unnest($4::integer[]),
        unnest($5::bigint[])
      ON CONFLICT (organization_id, day, payment_rail, bucket)
      DO UPDATE SET payments = stored.payments + excluded.payments`,
    values: [...[0, 1, 2, 3].map(column), changed.map(({ payments }) => payments)],
  });
}

/** Written together with the rows. The projection has them so that a rebuild replaces them, too. */
const sumTables: readonly ReadTable[] = sums.map((name) => ({
  name,
  write: () => Promise.resolve(),
}));

export const figuresProjection: Projection = {
  name: 'figures',
  streamPrefixes: prefixesFollowedBy('figures'),
  laterPrefixes: laterPrefixesOf('figures'),
  tables: [readTable(figuresTable, addDifferences), ...sumTables],
  // Nobody waits for figures. Most payments complete in that time, and their row is written once.
  restMs: 1_500,
};
