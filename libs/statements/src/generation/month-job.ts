/**
 * The monthly job: for each organization the months that have ended in its time zone and are not done yet, originator
 * by originator. One process at a time does it. A failure of one statement holds up no other: it is told, and tried
 * again in the next round. While something fails that all of them need, a round ends after a few statements: each would wait for
 * its time limit, and operators would be told of each.
 */
import { DocumentStoreRefused, DocumentStoreUnavailable } from '@pis/documents';
import { compareMonths, lastEndedMonth, type Month, monthAfter, monthAt } from '@pis/domain';
import { type Anchor, anchorAt, hasAnchor, StoreUnavailable } from '@pis/event-store';
import { asSingleton } from '@pis/postgres';
import { type HeldStream, heldText, heldUnlistedOriginators } from '@pis/read-models';
import type pg from 'pg';
import { assertTables, StatementPostponed, TableBehind, untilReached } from './complete-tables.js';
import {
  generateStatement,
  type GenerationContext,
  monthSettledAfterMs,
  type StatementRequest,
} from './generate-statement.js';

export interface JobContext extends GenerationContext {
  /** Called for the first month of an originator that cannot be stated. */
  readonly onFailed: (failure: FailedStatement) => Promise<void>;
  /** Called for whatever else could not be done. The round goes on. */
  readonly onProblem: (error: unknown) => void;
  readonly signal: AbortSignal;
}

export interface FailedStatement extends StatementRequest {
  readonly organizationId: string;
  readonly error: unknown;
}

export interface JobResult {
  readonly generated: number;
  readonly failed: number;
}

const lock = { key: 491_730_521 } as const;
/** Statements in a row that the store of documents has not taken, or that a table was behind for. Others would fail, too. */
const heldUpInARowMax = 3;
/** Originators read at a time. */
const pageMax = 100;
const lowestId = '00000000-0000-0000-0000-000000000000';

interface OrganizationRow {
  readonly organization_id: string;
  readonly time_zone: string;
  readonly created_at: Date;
  readonly done_year: number | null;
  readonly done_month: number | null;
}

interface OriginatorRow {
  readonly originator_id: string;
  readonly created_at: Date;
}

/** One round. Null when another process is at it. @throws StatementPostponed, StoreUnavailable */
export async function generateDueStatements(context: JobContext): Promise<JobResult | null> {
  const { pool, store } = context;
  await assertTables(context);
  await forgetLostRuns(context);
  // Before the lock: usually nothing is due.
  const due = await dueOrganizations(context);
  if (due.length === 0) return { generated: 0, failed: 0 };
  return asSingleton(pool, lock, undefined, async (session, lost) => {
    // An originator that the table lacks would be left out of its month.
    const signal = AbortSignal.any([context.signal, lost]);
    const last = await store.lastPosition();
    await untilReached({ pool, store, signal }, 'directory', last);
    // Once, and not for each originator: one that is behind fails all of them, and each would be told.
    await untilReached({ pool, store, signal }, 'movements', last);
    const unlisted = await heldUnlistedOriginators({ pool, store });
    for (const held of unlisted)
      context.onProblem(new StatementPostponed(heldText(held, 'directory')));
    const round: Round = { generated: 0, failed: 0, heldUpInARow: 0 };
    for (const organization of due) {
      const last = lastMonth(context, organization);
      const own = { ...context, session, signal };
      const isWhole = await organizationMonths(own, organization, last, round);
      if (signal.aborted || isOver(round)) break;
      if (isWhole && !unlisted.some((held) => mayBeOf(held, organization)))
        await noteDone(context, organization, last);
    }
    const { generated, failed } = round;
    return { generated, failed };
  });
}

/** What a round has done. */
interface Round {
  generated: number;
  failed: number;
  heldUpInARow: number;
}

function isOver({ heldUpInARow }: Round): boolean {
  return heldUpInARow >= heldUpInARowMax;
}

function mayBeOf({ owner }: HeldStream, { organization_id: id }: OrganizationRow): boolean {
  return owner === null || owner.organizationId === id;
}

/** The last month of which no event can be on its way into the log. */
function lastMonth({ now }: GenerationContext, { time_zone: zone }: OrganizationRow): Month {
  return lastEndedMonth(zone, new Date(now().getTime() - monthSettledAfterMs));
}

async function dueOrganizations(context: JobContext): Promise<readonly OrganizationRow[]> {
  const { rows } = await context.pool.query<OrganizationRow>(
    `SELECT o.organization_id, o.time_zone, o.created_at, r.done_year, r.done_month
      FROM organizations o LEFT JOIN statement_runs r USING (organization_id)
      ORDER BY o.organization_id`,
  );
  return rows.filter((row) => {
    try {
      return isDue(context, row);
    } catch (error) {
      // A time zone that this runtime does not know holds up no other organization.
      context.onProblem(error);
      return false;
    }
  });
}

function isDue(context: GenerationContext, row: OrganizationRow): boolean {
  const last = lastMonth(context, row);
  const done = doneOf(row);
  if (done !== null) return compareMonths(done, last) < 0;
  return compareMonths(monthAt(row.time_zone, row.created_at), last) <= 0;
}

function doneOf({ done_year: year, done_month: month }: OrganizationRow): Month | null {
  return year === null || month === null ? null : { year, month };
}

/** @returns whether every originator has its months up to the last one */
async function organizationMonths(
  context: JobContext,
  organization: OrganizationRow,
  last: Month,
  round: Round,
): Promise<boolean> {
  const { organization_id: organizationId, time_zone: zone } = organization;
  const done = doneOf(organization);
  let isWhole = true;
  for await (const { originator_id: originatorId, created_at: createdAt } of originatorsOf(
    context.pool,
    organizationId,
  )) {
    const created = monthAt(zone, createdAt);
    const open = done === null ? created : monthAfter(done);
    let month = compareMonths(open, created) < 0 ? created : open;
    for (; compareMonths(month, last) <= 0; month = monthAfter(month)) {
      if (context.signal.aborted || isOver(round)) return false;
      // Later months would begin with this one again.
      if (!(await isStated(context, { organizationId, originatorId, ...month }, round))) {
        isWhole = false;
        break;
      }
    }
  }
  return isWhole;
}

async function isStated(
  context: JobContext,
  subject: Omit<FailedStatement, 'error'>,
  round: Round,
): Promise<boolean> {
  try {
    const made = await generateStatement(context, subject);
    if (!('refused' in made)) {
      if (made.isNew) {
        round.generated += 1;
        round.heldUpInARow = 0;
      }
      return true;
    }
    if (made.refused === 'ORIGINATOR_NOT_FOUND')
      context.onProblem(new Error(`the originator ${subject.originatorId} is not in the log`));
    // The list may have another time zone than the log, for a moment: the month has not ended yet.
    return made.refused === 'ORIGINATOR_ERASED' || made.refused === 'MONTH_BEFORE_ORIGINATOR';
  } catch (error) {
    if (context.signal.aborted) return false;
    // Nothing can be done for the others either.
    if (error instanceof StoreUnavailable) throw error;
    round.failed += 1;
    if (isOfAll(error)) round.heldUpInARow += 1;
    try {
      await context.onFailed({ ...subject, error });
    } catch (untold) {
      context.onProblem(untold);
    }
    return false;
  }
}

function isOfAll(error: unknown): boolean {
  const reasons = [DocumentStoreUnavailable, DocumentStoreRefused, TableBehind];
  return reasons.some((reason) => error instanceof reason);
}

async function* originatorsOf(
  pool: pg.Pool,
  organizationId: string,
): AsyncGenerator<OriginatorRow> {
  for (let after = lowestId; ; ) {
    const { rows } = await pool.query<OriginatorRow>(
      `SELECT originator_id, created_at FROM originators
        WHERE organization_id = $1 AND originator_id > $2 AND erased_at IS NULL
        ORDER BY originator_id LIMIT ${pageMax}`,
      [organizationId, after],
    );
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageMax) return;
    after = last.originator_id;
  }
}

/** The originators of all organizations. */
export async function* allOriginators(pool: pg.Pool): AsyncGenerator<string> {
  const { rows } = await pool.query<{ organization_id: string }>(
    'SELECT organization_id FROM organizations ORDER BY organization_id',
  );
  for (const { organization_id: organizationId } of rows)
    for await (const { originator_id } of originatorsOf(pool, organizationId)) yield originator_id;
}

/**
 * The months of an organization up to this one need no look any more. Noted with the last event of the log, so that it
 * is forgotten when the log was restored from an older backup.
 */
async function noteDone(
  { pool, store }: JobContext,
  { organization_id }: OrganizationRow,
  { year, month }: Month,
): Promise<void> {
  const anchor = await anchorAt(store, await store.lastPosition());
  if (anchor === null) return;
  const { position, eventId, streamId, revision } = anchor;
  await pool.query(
    `INSERT INTO statement_runs
        (organization_id, done_year, done_month, position, event_id, stream_id, revision)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (organization_id) DO UPDATE
        SET done_year = EXCLUDED.done_year, done_month = EXCLUDED.done_month,
          position = EXCLUDED.position, event_id = EXCLUDED.event_id,
          stream_id = EXCLUDED.stream_id, revision = EXCLUDED.revision`,
    [organization_id, year, month, position, eventId, streamId, revision],
  );
}

/** Forgets which months were done if the log lacks the latest event that they were noted with. */
async function forgetLostRuns({ pool, store }: JobContext): Promise<void> {
  const { rows } = await pool.query<Anchor | Record<keyof Anchor, null>>(
    `SELECT position, event_id AS "eventId", stream_id AS "streamId", revision
      FROM statement_runs ORDER BY position DESC NULLS FIRST LIMIT 1`,
  );
  const [latest] = rows;
  if (latest === undefined) return;
  // An earlier release has noted none.
  if (latest.eventId !== null && (await hasAnchor(store, latest))) return;
  await pool.query('DELETE FROM statement_runs');
}
