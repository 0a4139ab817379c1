/** Reads the activity of originators: for statements. */
import type { Position } from '@pis/event-store';
import type pg from 'pg';
import { type HeldSources, type HeldStream, heldStreams, mayConcern } from './held-streams.js';
import { orUnavailable, patientReadOrUnavailable } from './or-unavailable.js';

export interface ActivityOwner {
  readonly organizationId: string;
  readonly originatorId: string;
}

/** What is dated before `to`, up to a position of the log. The answers never change. */
export interface ActivityCutoff {
  readonly to: Date;
  readonly through: Position;
  /** Whether a payment that the bank rejected late is no longer in progress. */
  readonly endsRejected: boolean;
}

/** What is in a cutoff and not in the one `after` which it follows. Null: the first one. */
export interface ActivityWindow extends ActivityCutoff {
  readonly after: ActivityCutoff | null;
}

export interface ActivitySum {
  readonly count: number;
  readonly amountMinor: number;
}

/** What was open at one moment. */
export interface ActivityBalance {
  readonly inProgressIn: ActivitySum;
  readonly inProgressOut: ActivitySum;
  readonly feesDueMinor: number;
}

/** A payment that changed its status, or was rejected late, in the period without moving money in it. */
export interface StillPayment {
  readonly paymentId: string;
  /** The last such change of the period. */
  readonly at: Date;
}

/** Of the first page: all payments are found and sorted before it. */
const sortMaxMs = 3_600_000;

interface BalanceRow {
  readonly is_inbound: boolean;
  readonly open: string;
  readonly amount: string;
  readonly charged: string;
}

/** At a cutoff. @throws StoreUnavailable */
export async function activityBalance(
  pool: pg.Pool,
  { organizationId, originatorId }: ActivityOwner,
  { to, through, endsRejected }: ActivityCutoff,
): Promise<ActivityBalance> {
  const values = [organizationId, originatorId, to, through];
  const { rows } = await patientReadOrUnavailable(pool, (db) =>
    db.query<BalanceRow>(
      `SELECT is_inbound, sum(change) AS open, sum(change * amount_minor) AS amount,
          sum(charged_minor) AS charged
        FROM (SELECT is_inbound, amount_minor, charged_minor,
            CASE WHEN is_rejected_late AND $5 AND NOT ${isCompleted(inCutoff)} THEN -1
              ELSE in_progress_change END AS change
          FROM payment_activity a
          WHERE organization_id = $1 AND originator_id = $2 AND ${inCutoff('a')}) counted
        GROUP BY is_inbound`,
      [...values, endsRejected],
    ),
  );
  const { rows: collections } = await patientReadOrUnavailable(pool, (db) =>
    db.query<{ collected: string | null }>(
      `SELECT sum(CASE kind WHEN 'collection' THEN amount_minor ELSE -amount_minor END) AS collected
        FROM movements
        WHERE organization_id = $1 AND originator_id = $2 AND at < $3 AND position <= $4
          AND kind IN ('collection', 'collection_return')`,
      values,
    ),
  );
  const sum = (isInbound: boolean): ActivitySum => {
    const row = rows.find(({ is_inbound }) => is_inbound === isInbound);
    return { count: Number(row?.open ?? 0), amountMinor: Number(row?.amount ?? 0) };
  };
  const charged = rows.reduce((total, row) => total + Number(row.charged), 0);
  return {
    inProgressIn: sum(true),
    inProgressOut: sum(false),
    feesDueMinor: charged - Number(collections[0]?.collected ?? 0),
  };
}

/**
 * Whether an earlier release wrote rows, and so left out late rejections. A rebuild of the projection `movements` adds
 * them.
 * @throws StoreUnavailable
 */
export async function lacksLateRejections(pool: pg.Pool): Promise<boolean> {
  const { rows } = await orUnavailable(() =>
    pool.query('SELECT FROM payment_activity WHERE is_rejected_late IS NULL LIMIT 1'),
  );
  return rows.length > 0;
}

/**
 * Page after page, by (at, paymentId). The database sorts, on its disk if need be.
 * @throws StoreUnavailable
 */
export async function* stillPayments(
  pool: pg.Pool,
  { organizationId, originatorId }: ActivityOwner,
  { to, through, after, endsRejected }: ActivityWindow,
  pageMax: number,
): AsyncGenerator<readonly StillPayment[], void, undefined> {
  const client = await orUnavailable(() => pool.connect());
  let isDone = false;
  try {
    await client.query('BEGIN READ ONLY; SET LOCAL statement_timeout = 0');
    await client.query(
      `DECLARE still NO SCROLL CURSOR FOR
        SELECT payment_id AS "paymentId", max(at) AS at FROM payment_activity a
        WHERE organization_id = $1 AND originator_id = $2 AND NOT moves_money AND ${inCutoff('a')}
          AND (${isNew('a')} OR (is_rejected_late AND $8))
          AND (is_rejected_late IS NOT TRUE OR ($7 AND NOT ${isCompleted(inCutoff)}))
          AND NOT ${isCompleted(inWindow)}
        GROUP BY payment_id ORDER BY max(at), payment_id`,
      [
        ...[organizationId, originatorId, to, through],
        ...[after?.to ?? null, after?.through ?? null, endsRejected],
        // Earlier statements do not have what was rejected then.
        after !== null && !after.endsRejected,
      ],
    );
    const fetch = { text: `FETCH ${pageMax} FROM still`, query_timeout: sortMaxMs };
    for (;;) {
      const { rows } = await client.query<StillPayment>(fetch);
      if (rows.length > 0) yield rows;
      if (rows.length < pageMax) break;
    }
    await client.query('COMMIT');
    isDone = true;
  } finally {
    // A session in the middle of a transaction is thrown away.
    client.release(!isDone);
  }
}

function inCutoff(table: string): string {
  return `${table}.at < $3 AND ${table}.position <= $4`;
}

function isNew(table: string): string {
  return `($5::timestamptz IS NULL OR ${table}.at >= $5 OR ${table}.position > $6::text)`;
}

function inWindow(table: string): string {
  return `${inCutoff(table)} AND ${isNew(table)}`;
}

/** Whether the payment of the row `a` moved its money. The return of a payment ends nothing that is in progress. */
function isCompleted(isWithin: (table: string) => string): string {
  return `EXISTS (SELECT FROM payment_activity m
    WHERE m.payment_id = a.payment_id AND m.moves_money AND m.in_progress_change = -1
      AND ${isWithin('m')})`;
}

/**
 * A transfer that the tables hold back in quarantine, and that may be one of the originator: it is, or nobody can say
 * whose it is. Null: once the tables have reached a position, they have everything of the originator up to there.
 * @throws StoreUnavailable
 */
export async function heldTransferOf(
  sources: HeldSources,
  originator: ActivityOwner,
): Promise<HeldStream | null> {
  const transfers = [
    ['movements', 'payment'],
    ['movements', 'collection'],
  ] as const;
  for await (const held of heldStreams(sources, transfers))
    if (mayConcern(held.owner, originator)) return held;
  return null;
}

/** Originators whose streams the directory holds back from their beginning, so that its list lacks them. */
export async function heldUnlistedOriginators(
  sources: HeldSources,
): Promise<readonly HeldStream[]> {
  const held: HeldStream[] = [];
  for await (const stream of heldStreams(sources, [['directory', 'originator']], true))
    held.push(stream);
  return held;
}
