/** What is needed to close fee periods and to collect them: time zones, originators, sums, and what is left to do. */
import {
  type FeeCutoff,
  type FeeSums,
  type Month,
  type StreamPrefix,
  streamPrefixOf,
} from '@pis/domain';
import { type Anchor, anchorAt, type EventStore, hasAnchor, type Position } from '@pis/event-store';
import { pause } from '@pis/postgres';
import type pg from 'pg';
import { type HeldOwner, heldStreams, heldText } from './held-streams.js';
import { orUnavailable, patientReadOrUnavailable } from './or-unavailable.js';
import type { ProjectionName } from './projected-streams.js';
import { aheadOfLog, hasReached } from './projection-reach.js';

export interface FeeSources {
  readonly pool: pg.Pool;
  readonly store: EventStore;
}

/** A list lacks events. No month may be closed by it now. Try again later. */
export class FeesUnknown extends Error {
  override readonly name = 'FeesUnknown';
}

/** The lists that a month is closed by, and whose streams they need in full. */
const needed = [
  ['directory', 'organization'],
  ['directory', 'originator'],
  ['payments', 'payment'],
  ['movements', 'payment'],
  ['fees', 'feePeriod'],
] as const satisfies readonly (readonly [ProjectionName, string])[];

/**
 * Throws when a list has events that the log does not have: the log was restored from an older backup, or is another
 * one. Such a list would collect fees of payments that the log does not know.
 * @throws FeesUnknown, StoreUnavailable
 */
export async function assertListsInLog(sources: FeeSources): Promise<void> {
  const lists = [...new Set(needed.map(([projection]) => projection))];
  const ahead = await aheadOfLog(sources, lists);
  if (ahead !== null)
    throw new FeesUnknown(`the projection ${ahead} has events that the log does not have`);
}

const listsWaitMs = 60_000;
const listsPollMs = 200;

/** A stream in quarantine whose owner is known: no month of that owner may be closed. */
export interface HeldFees {
  readonly streamId: string;
  readonly owner: HeldOwner;
}

/**
 * Once this resolves, sums up to the position are final for everybody but the owners of the streams that it returns.
 * Under constant traffic the lists are nearly always a little behind, so they get time to reach the position.
 * @throws FeesUnknown when a list is still behind after a minute, or when the signal ends the wait; and when a list
 *   holds a stream back in quarantine that may belong to anybody
 * @throws StoreUnavailable
 */
export async function untilFeesKnown(
  sources: FeeSources,
  upTo: Position,
  signal: AbortSignal,
): Promise<readonly HeldFees[]> {
  const limit = AbortSignal.any([AbortSignal.timeout(listsWaitMs), signal]);
  for (;;) {
    const behind = await listBehind(sources, upTo);
    if (behind === null) break;
    if (limit.aborted) throw new FeesUnknown(behind);
    await pause(listsPollMs, limit);
  }
  // After the positions were reached: a stream is held back before the checkpoint passes it.
  const held: HeldFees[] = [];
  for await (const stream of heldStreams(sources, needed)) {
    const { streamId, owner } = stream;
    if (owner === null) throw new FeesUnknown(heldText(stream));
    held.push({ streamId, owner });
  }
  return held;
}

/** Organizations that no list has, because their streams are held back from the first event on. @throws StoreUnavailable */
export async function heldUnlistedOrganizations(sources: FeeSources): Promise<readonly HeldFees[]> {
  const held: HeldFees[] = [];
  const needed = [['directory', 'organization']] as const;
  for await (const { streamId, owner } of heldStreams(sources, needed, true))
    if (owner !== null) held.push({ streamId, owner });
  return held;
}

async function listBehind(sources: FeeSources, upTo: Position): Promise<string | null> {
  for (const [projection, category] of needed) {
    const prefix: StreamPrefix = streamPrefixOf(category);
    if (!(await hasReached(sources, projection, upTo, [prefix])))
      return `the projection ${projection} lacks events of ${prefix}*`;
  }
  return null;
}

export interface OrganizationMonths {
  readonly organizationId: string;
  readonly timeZone: string;
  /** The last month of which every originator's period was closed; null before the first. */
  readonly closedThrough: Month | null;
}

/** All organizations, or one. @throws StoreUnavailable */
export async function organizationMonths(
  pool: pg.Pool,
  organizationId: string | null = null,
): Promise<readonly OrganizationMonths[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<{
      organizationId: string;
      timeZone: string;
      year: number | null;
      month: number | null;
    }>({
      name: 'fees.organizations',
      text: `SELECT organization_id AS "organizationId", time_zone AS "timeZone", year, month
        FROM organizations LEFT JOIN fee_months USING (organization_id)
        WHERE $1::uuid IS NULL OR organization_id = $1 ORDER BY organization_id`,
      values: [organizationId],
    }),
  );
  return rows.map(({ year, month, ...organization }) => ({
    ...organization,
    closedThrough: year === null || month === null ? null : { year, month },
  }));
}

/**
 * It only saves work: periods that are closed are found closed. It is saved with the last event of the log, so that it
 * is forgotten when the log was restored from an older backup. @throws StoreUnavailable
 */
export async function saveClosedThrough(
  { pool, store }: FeeSources,
  organizationId: string,
  { year, month }: Month,
): Promise<void> {
  const anchor = await anchorAt(store, await store.lastPosition());
  if (anchor === null) return;
  const { position, eventId, streamId, revision } = anchor;
  await orUnavailable(() =>
    pool.query({
      name: 'fees.closedThrough',
      text: `INSERT INTO fee_months AS stored
          (organization_id, year, month, position, event_id, stream_id, revision)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (organization_id) DO UPDATE SET year = excluded.year, month = excluded.month,
          position = excluded.position, event_id = excluded.event_id,
          stream_id = excluded.stream_id, revision = excluded.revision
        WHERE (stored.year, stored.month) < (excluded.year, excluded.month)`,
      values: [organizationId, year, month, position, eventId, streamId, revision],
    }),
  );
}

/** Forgets which months were closed if the log lacks the latest event that they were saved with. @throws StoreUnavailable */
export async function checkClosedThrough({ pool, store }: FeeSources): Promise<void> {
  const { rows } = await orUnavailable(() =>
    pool.query<Anchor | Record<keyof Anchor, null>>({
      name: 'fees.latestClosed',
      text: `SELECT position, event_id AS "eventId", stream_id AS "streamId", revision
        FROM fee_months ORDER BY position DESC NULLS FIRST LIMIT 1`,
    }),
  );
  const [latest] = rows;
  if (latest === undefined) return;
  // An earlier release has saved none.
  if (latest.eventId !== null && (await hasAnchor(store, latest))) return;
  await orUnavailable(() => pool.query('DELETE FROM fee_months'));
}

export interface OriginatorMonths {
  readonly originatorId: string;
  readonly createdAt: Date;
  /** The last month that the list of periods has. */
  readonly lastClosed: Month | null;
}

/** A page of the originators of an organization, erased ones too, by ID. @throws StoreUnavailable */
export async function originatorMonths(
  pool: pg.Pool,
  organizationId: string,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly OriginatorMonths[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<{
      originatorId: string;
      createdAt: Date;
      year: number | null;
      month: number | null;
    }>({
      name: 'fees.originators',
      text: `SELECT originator_id AS "originatorId", created_at AS "createdAt", last.year, last.month
        FROM originators
        LEFT JOIN LATERAL (
          SELECT year, month FROM fee_periods
          WHERE fee_periods.organization_id = originators.organization_id
            AND fee_periods.originator_id = originators.originator_id
          ORDER BY year DESC, month DESC LIMIT 1) last ON true
        WHERE originators.organization_id = $1 AND originator_id > coalesce($2::uuid, $3)
        ORDER BY originator_id LIMIT $4`,
      values: [organizationId, after, lowestId, limit],
    }),
  );
  return rows.map(({ year, month, ...originator }) => ({
    ...originator,
    lastClosed: year === null || month === null ? null : { year, month },
  }));
}

const lowestId = '00000000-0000-0000-0000-000000000000';

/**
 * The fees of an originator up to a cutoff that are not in the cutoff of the period before. A payment counts its
 * discountFee and flatFee when it is completed, and its returnFee when it is returned.
 * @throws FeesUnknown, StoreUnavailable
 */
export async function feeSums(
  pool: pg.Pool,
  { organizationId, originatorId }: { readonly organizationId: string; originatorId: string },
  cutoff: FeeCutoff,
  before: FeeCutoff | null,
): Promise<FeeSums> {
  const { rows } = await patientReadOrUnavailable(pool, (db) =>
    db.query<Record<keyof FeeSums | 'unknown', string>>({
      name: 'fees.sums',
      text: `SELECT
          coalesce(sum(discount) FILTER (WHERE kind = 'transfer'), 0) AS "discountFeeMinor",
          coalesce(sum(flat) FILTER (WHERE kind = 'transfer'), 0) AS "flatFeeMinor",
          coalesce(sum(return_fee) FILTER (WHERE kind = 'return'), 0) AS "returnFeeMinor",
          count(*) FILTER (WHERE kind = 'transfer') AS "paymentsCompleted",
          count(*) FILTER (WHERE kind = 'return') AS "paymentsReturned",
          count(*) FILTER (WHERE discount IS NULL) AS unknown
        FROM (
          SELECT movements.kind, (item->>'discountFee')::numeric AS discount,
            (item->>'flatFee')::numeric AS flat, (item->>'returnFee')::numeric AS return_fee
          FROM movements LEFT JOIN payments USING (payment_id)
          WHERE movements.organization_id = $1 AND movements.originator_id = $2
            AND movements.kind IN ('transfer', 'return')
            AND at < $3 AND position <= $4
            AND ($5::timestamptz IS NULL OR at >= $5 OR position > $6)) counted`,
      values: [
        organizationId,
        originatorId,
        cutoff.to,
        cutoff.upTo,
        before?.to ?? null,
        before?.upTo ?? null,
      ],
    }),
  );
  const { unknown, ...sums } = rows[0] ?? { unknown: '1' };
  if (unknown !== '0') throw new FeesUnknown(`a payment of originator ${originatorId} is missing`);
  return Object.fromEntries(
    Object.entries(sums).map(([field, sum]) => [field, exact(sum)]),
  ) as unknown as FeeSums;
}

function exact(sum: string): number {
  const value = Number(sum);
  if (!Number.isSafeInteger(value)) throw new RangeError(`a sum is too large: ${sum}`);
  return value;
}

/**
 * A page of the IDs of periods that something is to be done about: it is due, its collection has come to another
 * status than the period knows or may have been rejected late, an earlier collection was settled after all, or staff
 * have to be told of it. By ID. Without
 * `canStart`, periods whose next step starts a collection are left out.
 * @throws StoreUnavailable
 */
export async function openFeePeriods(
  pool: pg.Pool,
  now: Date,
  {
    after,
    limit,
    canStart,
  }: { readonly after: string | null; readonly limit: number; readonly canStart: boolean },
): Promise<readonly string[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<{ id: string }>({
      name: 'fees.open',
      text: openPeriodsSql,
      values: [now, after, lowestId, limit, canStart],
    }),
  );
  return rows.map(({ id }) => id);
}

/** Each branch reads its own page by ID from an index of what is open. */
const openPeriodsSql = `
  WITH page AS (SELECT coalesce($2::uuid, $3) AS after)
  SELECT DISTINCT id FROM (
    (SELECT fee_period_id AS id FROM fee_periods, page
      WHERE $5 AND status = 'DUE' AND fee_period_id > after ORDER BY fee_period_id LIMIT $4)
    UNION ALL
    (SELECT fee_period_id FROM fee_periods, page
      WHERE $5 AND status = 'RETRYING' AND next_attempt_at <= $1 AND fee_period_id > after
      ORDER BY fee_period_id LIMIT $4)
    UNION ALL
    (SELECT fee_period_id FROM page, fee_periods LEFT JOIN fee_collections USING (collection_id)
      WHERE fee_periods.status = 'COLLECTING' AND fee_period_id > after
        AND coalesce(fee_collections.status, 'NONE') IN
          ('NONE', 'COMPLETED', 'RETURNED', 'FAILED', 'BLOCKED', 'FAILED_IN_FLIGHT')
      ORDER BY fee_period_id LIMIT $4)
    UNION ALL
    (SELECT fee_period_id FROM fee_periods, page
      WHERE status = 'GIVEN_UP' AND next_attempt_at IS NOT NULL AND fee_period_id > after
      ORDER BY fee_period_id LIMIT $4)
    UNION ALL
    (SELECT fee_period_id FROM page, fee_collections JOIN fee_periods USING (collection_id)
      WHERE fee_collections.status = 'RETURNED' AND fee_periods.status = 'COLLECTED'
        AND fee_period_id > after ORDER BY fee_period_id LIMIT $4)
    UNION ALL
    -- Settled, and not what its period counts on: one of these is its period. Once each: a page that has one twice would
    -- be short, and the last.
    (SELECT DISTINCT fee_periods.fee_period_id
      FROM page, fee_collections settled JOIN fee_periods USING (organization_id, originator_id)
      WHERE settled.was_in_flight AND settled.status = 'COMPLETED' AND fee_periods.status <> 'FREE'
        AND fee_periods.fee_period_id > after AND NOT EXISTS
          (SELECT FROM fee_periods own
            WHERE own.collection_id = settled.collection_id AND own.status <> 'GIVEN_UP')
      ORDER BY fee_periods.fee_period_id LIMIT $4)) open
  ORDER BY id LIMIT $4`;

export interface FeePeriodCounts {
  readonly due: number;
  readonly retrying: number;
  readonly collecting: number;
  readonly givenUp: number;
  /** Of which staff were told in the last week that both of two collections were settled. */
  readonly debitedTwice: number;
}

/** The highest count. A larger number is reported as this one. */
export const feePeriodCountMax = 10_000;

const debitedTwiceWithin = '7 days';

/** Periods whose fees are not collected, by status, and those that were debited twice. @throws StoreUnavailable */
export async function countFeePeriods(pool: pg.Pool, now: Date): Promise<FeePeriodCounts> {
  const countedIf = (condition: string) => `(SELECT count(*)::int FROM (
      SELECT FROM fee_periods WHERE ${condition} LIMIT ${feePeriodCountMax}) n)`;
  const counted = (status: string) => countedIf(`status = '${status}'`);
  const debitedTwice = `debited_twice_at > $1::timestamptz - interval '${debitedTwiceWithin}'`;
  const { rows } = await orUnavailable(() =>
    pool.query<FeePeriodCounts>({
      name: 'fees.counts',
      text: `SELECT ${counted('DUE')} AS due, ${counted('RETRYING')} AS retrying,
        ${counted('COLLECTING')} AS collecting, ${counted('GIVEN_UP')} AS "givenUp",
        ${countedIf(debitedTwice)} AS "debitedTwice"`,
      values: [now],
    }),
  );
  const [counts] = rows;
  if (counts === undefined) throw new Error('the fee periods were not counted');
  return counts;
}
