/**
 * Generates the statement of an originator for a month: the bytes are stored first, then the event is appended.
 *
 * What always holds: a month has one statement, however often and by how many processes it is generated. It begins
 * where the one before it ended, so months that are missing before it are generated first. What the event says of the
 * document is true. A process that dies in between leaves a document that the next try replaces.
 */
import { createHash } from 'node:crypto';
import { type DocumentStore, statementKey, type WrittenDocument } from '@pis/documents';
import {
  compareMonths,
  type Month,
  monthAfter,
  monthAt,
  monthBefore,
  monthName,
  monthOf,
  type Refusal,
  type Statement,
  type StatementCutoff,
  type StatementRecord,
  statement as statements,
} from '@pis/domain';
import { type CommandContext, type EventStore, type Position, repository } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { asSingleton, pause } from '@pis/postgres';
import {
  activityBalance,
  type ActivityCutoff,
  type ActivityOwner,
  aheadOfLog,
  hasReached,
  heldText,
  heldTransferOf,
} from '@pis/read-models';
import type pg from 'pg';
import { v5 as uuidV5 } from 'uuid';
import type { StatementContent } from '../content.js';
import { renderStatement } from '../statement-pdf.js';
import { noSums, withLine } from '../sums.js';
import { pastOrganization, pastOriginator } from './past-states.js';
import { nameOf, statementLines } from './statement-lines.js';

export interface GenerationContext {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly documents: DocumentStore;
  readonly by: CommandContext;
  readonly now: () => Date;
  /** Ends the work. What was begun is begun anew by the next try. */
  readonly signal?: AbortSignal;
}

export interface StatementRequest extends Month {
  readonly originatorId: string;
}

export type StatementGenerationRefusal = Refusal<
  'ORIGINATOR_NOT_FOUND' | 'ORIGINATOR_ERASED' | 'MONTH_NOT_ENDED' | 'MONTH_BEFORE_ORIGINATOR'
>;

export interface GeneratedStatement {
  readonly statement: Statement;
  /** False when the statement was there. */
  readonly isNew: boolean;
}

/** The tables lack something that the statement must have. Nothing is recorded; a later round tries again. */
export class StatementPostponed extends Error {
  override readonly name = 'StatementPostponed';
}

/** Events of the month may be on their way into the log for this long: clocks differ. */
export const monthSettledAfterMs = 10 * 60_000;

const lock = { key: 491_730_522 } as const;
const lockWait = { pollMs: 500, timeoutMs: 600_000 } as const;
/** For the tables that the statement is computed from. */
const projectionLimitMs = 60_000;
const projectionPollMs = 200;

export function statementIdOf({ originatorId, year, month }: StatementRequest): string {
  return uuidV5(monthName({ year, month }), originatorId);
}

/** @throws StatementPostponed, StoreUnavailable, or what the store of documents throws: nothing is recorded then */
export async function generateStatement(
  context: GenerationContext,
  request: StatementRequest,
): Promise<GeneratedStatement | StatementGenerationRefusal> {
  const statementId = statementIdOf(request);
  const before = await load(context, statementId);
  if (before !== null) return { statement: before, isNew: false };
  const done = await asSingleton(
    context.pool,
    { ...lock, name: request.originatorId },
    lockWait,
    async (_client, lost) => {
      const meanwhile = await load(context, statementId);
      if (meanwhile !== null) return { statement: meanwhile, isNew: false };
      const { signal = lost } = context;
      return generate({ ...context, signal: AbortSignal.any([signal, lost]) }, request);
    },
  );
  if (done === null)
    throw new Error(`another process generates statements of ${request.originatorId}`);
  return done;
}

async function load({ store }: GenerationContext, statementId: string): Promise<Statement | null> {
  return (await repository(store, statements).load(statementId)).state;
}

type SignaledContext = GenerationContext & { readonly signal: AbortSignal };

async function generate(
  context: SignaledContext,
  request: StatementRequest,
): Promise<GeneratedStatement | StatementGenerationRefusal> {
  const { store, now } = context;
  const { originatorId, year, month } = request;
  const through = await store.lastPosition();
  const originator = await pastOriginator(store, originatorId, through);
  if (originator === null) return { refused: 'ORIGINATOR_NOT_FOUND' };
  if (originator.erasure === 'erased') return { refused: 'ORIGINATOR_ERASED' };
  // A request that is not confirmed can still be withdrawn, so it does not hold up the statement.
  if (originator.erasure === 'confirmed')
    throw new StatementPostponed(`the originator ${originatorId} is being erased`);
  const { organizationId } = originator;
  const organization = await pastOrganization(store, organizationId, through);
  if (organization === null) return { refused: 'ORIGINATOR_NOT_FOUND' };
  const { timeZone } = organization.state;
  const { to } = monthOf(timeZone, year, month);
  if (now().getTime() < to.getTime() + monthSettledAfterMs) return { refused: 'MONTH_NOT_ENDED' };
  const created = new Date(originator.createdAt);
  const next = await load(context, statementIdOf({ originatorId, ...monthAfter(request) }));
  // The zone has changed since: the first statement has this month's days, too.
  if (next?.after === null) return { refused: 'MONTH_BEFORE_ORIGINATOR' };
  // An earlier release left out a month that failed: it ends where the statement after it begins.
  const end = next?.after ?? { to: to.toISOString(), through };
  if (created >= new Date(end.to)) return { refused: 'MONTH_BEFORE_ORIGINATOR' };

  await assertTablesInLog(context);
  await assertComplete(context, { organizationId, originatorId }, through);
  const { before, months } = await missingMonths(context, request, monthAt(timeZone, created));
  let last = before;
  for (const missing of months) {
    const isLast = missing === months.at(-1);
    const own = { to: monthOf(timeZone, missing.year, missing.month).to.toISOString() };
    const cutoff = isLast ? end : { ...own, through: end.through };
    const subject = {
      statementId: statementIdOf({ originatorId, ...missing }),
      ...{ organizationId, originatorId, timeZone, ...cutoff, after: last && cutoffOf(last) },
      ...{ periodYear: missing.year, periodMonth: missing.month },
    };
    last = await generateAlone(context, subject);
  }
  if (last === null) throw new Error('a month is missing after all');
  return { statement: last, isNew: true };
}

/** Up to the one requested, oldest first, and the statement before them: null when they begin with the originator. */
async function missingMonths(
  context: GenerationContext,
  { originatorId, year, month }: StatementRequest,
  first: Month,
): Promise<{ readonly before: Statement | null; readonly months: readonly Month[] }> {
  const months: Month[] = [{ year, month }];
  for (let at = monthBefore({ year, month }); ; at = monthBefore(at)) {
    // Also of the month before the first: a change of the zone moves the first one.
    const before = await load(context, statementIdOf({ originatorId, ...at }));
    if (before !== null || compareMonths(at, first) < 0) return { before, months };
    months.unshift(at);
  }
}

function cutoffOf({ to, through }: StatementCutoff): StatementCutoff {
  return { to, through };
}

/** One month, without a look at the others. */
async function generateAlone(context: SignaledContext, subject: Subject): Promise<Statement> {
  const { now, by, signal } = context;
  const { statementId, after } = subject;
  if (after !== null && (after.to >= subject.to || after.through > subject.through))
    throw new Error(`the statement ${statementId} would end before the one before it`);
  const made = await unlessRecorded(context, subject);
  if ('statementId' in made) return made;
  const { written, figures } = made;
  signal.throwIfAborted();
  const recorded = await repository(context.store, statements).create(
    statementId,
    {
      type: 'RecordStatement',
      at: now().toISOString(),
      data: { ...subject, ...written, figures },
    },
    by,
  );
  if (!('refused' in recorded) && recorded.state !== null) return recorded.state;
  // Another process recorded it since that look: the document must be the one that is recorded.
  const statement = await load(context, statementId);
  if (statement === null)
    throw new Error(`the statement ${statementId} was refused and is not there`);
  await restoreDocument(context, statement);
  return statement;
}

/** @returns the recorded statement if another process recorded it, after we lost the lock. Its document stays then */
async function unlessRecorded(
  context: SignaledContext,
  subject: Subject,
): Promise<MadeDocument | Statement> {
  let recorded: Statement | null = null;
  try {
    return await writeDocument(context, subject, async () => {
      recorded = await load(context, subject.statementId);
      if (recorded !== null) throw new Error('another process has recorded the statement');
    });
  } catch (error) {
    if (recorded !== null) return recorded;
    throw error;
  }
}

/**
 * Computes the document of a recorded statement again, and stores it.
 * @throws Error when the bytes differ from the recorded ones: a person on it was erased since. The stored document
 * stays as it was then
 */
export async function restoreDocument(
  context: GenerationContext,
  statement: Statement,
): Promise<void> {
  await writeDocument(context, statement, (sha256) => {
    if (sha256 !== statement.sha256)
      throw new Error(`the statement ${statement.statementId} is not what was recorded`);
  });
}

type Subject = Omit<StatementRecord, 'sha256' | 'sizeBytes' | 'figures'>;
interface MadeDocument {
  readonly written: WrittenDocument;
  readonly figures: StatementRecord['figures'];
}

/** Called with the hash of all bytes, before they take the place of the stored document. A throw prevents that. */
type DocumentCheck = (sha256: string) => Promise<void> | void;

async function writeDocument(
  context: GenerationContext,
  subject: Subject,
  check: DocumentCheck,
): Promise<MadeDocument> {
  const content = await contentOf(context, subject);
  const owner = ownerOf.originator(subject.originatorId);
  const bytes = checked(renderStatement(content), check);
  const written = await context.documents.write(statementKey(subject), owner, bytes);
  return { written, figures: { opening: content.opening, ...content.totals() } };
}

async function* checked(
  bytes: AsyncIterable<Uint8Array>,
  check: DocumentCheck,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const part of bytes) {
    hash.update(part);
    yield part;
  }
  await check(hash.digest('hex'));
}

/** What a statement says, from the log up to its cutoff. The same cutoffs give the same content. */
export async function contentOf(
  { store, pool, signal = new AbortController().signal }: ContentContext,
  subject: Subject,
): Promise<StatementContent> {
  const { statementId, organizationId, originatorId, timeZone, through } = subject;
  const { periodYear, periodMonth } = subject;
  const organization = await pastOrganization(store, organizationId, through);
  const originator = await pastOriginator(store, originatorId, through);
  if (organization === null || originator === null)
    throw new Error(`the parties of the statement ${statementId} are not in the log`);
  const owner = { organizationId, originatorId };
  const window = { ...instantOf(subject), after: subject.after && instantOf(subject.after) };
  const opening =
    window.after === null ? nothing : await activityBalance(pool, owner, window.after);
  const closing = await activityBalance(pool, owner, window);
  let sums = noSums;
  async function* lines() {
    for await (const line of statementLines({ store, pool, owner, window, signal })) {
      sums = withLine(sums, line);
      yield line;
    }
  }
  return {
    ...{ statementId, originatorId, timeZone, periodYear, periodMonth },
    organizationName: organization.state.name,
    logo: organization.logo,
    originatorName: nameOf(originator) ?? originatorId,
    periodEnd: window.to,
    opening,
    lines: lines(),
    totals: () => ({ ...sums, closing }),
  };
}

type ContentContext = Pick<GenerationContext, 'store' | 'pool' | 'signal'>;

const none = { count: 0, amountMinor: 0 };
/** Before the first statement. */
const nothing = { inProgressIn: none, inProgressOut: none, feesDueMinor: 0 };

function instantOf({ to, through }: StatementCutoff): ActivityCutoff {
  return { to: new Date(to), through };
}

/**
 * A log that was restored from an older backup lacks events that the tables have until they are rebuilt. They would be
 * on this statement, and once more when they are recorded again.
 * @throws StatementPostponed
 */
export async function assertTablesInLog(
  context: Pick<GenerationContext, 'store' | 'pool'>,
): Promise<void> {
  const projection = await aheadOfLog(context, ['directory', 'movements']);
  if (projection !== null)
    throw new StatementPostponed(
      `the projection ${projection} has events that the log does not have: rebuild it`,
    );
}

/**
 * Once this resolves, the tables have everything of the originator up to the position.
 * @throws StatementPostponed
 */
async function assertComplete(
  { store, pool, signal }: SignaledContext,
  originator: ActivityOwner,
  through: Position,
): Promise<void> {
  await untilReached({ store, pool, signal }, 'movements', through);
  // After the position was reached: a stream is held back before the checkpoint passes it.
  const held = await heldTransferOf({ store, pool }, originator);
  if (held !== null) throw new StatementPostponed(heldText(held, 'movements'));
}

/** Waits until a projection has applied the log up to a position. @throws StatementPostponed after a minute */
export async function untilReached(
  { store, pool, signal }: Pick<SignaledContext, 'store' | 'pool' | 'signal'>,
  projection: 'directory' | 'movements',
  position: Position,
): Promise<void> {
  const limit = AbortSignal.timeout(projectionLimitMs);
  while (!(await hasReached({ store, pool }, projection, position))) {
    if (limit.aborted) throw new StatementPostponed(`the projection ${projection} is behind`);
    signal.throwIfAborted();
    await pause(projectionPollMs, AbortSignal.any([limit, signal]));
  }
}
