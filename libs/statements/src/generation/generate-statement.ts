/**
 * Generates the statement of an originator for a month: the bytes are stored first, then the event is appended.
 *
 * What always holds: a month has one statement, however often and by how many processes it is generated. It begins
 * where the one before it ended, so months that are missing before it are generated first. What the event says of the
 * document is true. A process that dies in between leaves a document that is removed once the statement is recorded.
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
import { type CommandContext, type EventStore, repository } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { asSingleton, withLock } from '@pis/postgres';
import { activityBalance, type ActivityCutoff } from '@pis/read-models';
import type pg from 'pg';
import { v5 as uuidV5 } from 'uuid';
import type { StatementContent } from '../content.js';
import { renderStatement } from '../statement-pdf.js';
import { noSums, withLine } from '../sums.js';
import {
  assertComplete,
  assertContinues,
  assertTables,
  StatementPostponed,
} from './complete-tables.js';
import { pastOrganization, pastOriginator } from './past-states.js';
import { beginAttempt, forgetAttempt, removeOtherAttempts } from './statement-attempts.js';
import { nameOf, statementLines } from './statement-lines.js';

export interface GenerationContext {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly documents: DocumentStore;
  readonly by: CommandContext;
  readonly now: () => Date;
  /** Ends the work. What was begun is begun anew by the next try. */
  readonly signal?: AbortSignal;
  /** The session of a job, which takes the originator's lock too. Absent: a session of the pool takes it. */
  readonly session?: pg.ClientBase;
  /** Called when the documents of broken attempts cannot be removed. Absent: that is thrown. */
  readonly onProblem?: (error: unknown) => void;
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

/** Events of the month may be on their way into the log for this long: clocks differ. */
export const monthSettledAfterMs = 10 * 60_000;

const lock = { key: 491_730_522 } as const;
const lockWait = { pollMs: 500, timeoutMs: 600_000 } as const;

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
  if (before !== null) {
    await tidied(context, before);
    return { statement: before, isNew: false };
  }
  const done = await underLock(context, request.originatorId, async (signal) => {
    const meanwhile = await load(context, statementId);
    if (meanwhile !== null) return { statement: meanwhile, isNew: false };
    return generate({ ...context, signal }, request);
  });
  if (done === null)
    throw new Error(`another process generates statements of ${request.originatorId}`);
  return done;
}

/** @param work its signal is aborted when the lock is lost. @returns null when another process has the lock */
async function underLock<Result>(
  { pool, session, signal = new AbortController().signal }: GenerationContext,
  originatorId: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | null> {
  const own = { ...lock, name: originatorId };
  // The signal of a job covers the loss of its session.
  if (session !== undefined) return withLock(session, own, lockWait, () => work(signal));
  return asSingleton(pool, own, lockWait, (_client, lost) => work(AbortSignal.any([signal, lost])));
}

/**
 * The statement is whole without this.
 * @param own what this process has stored, perhaps after the recorded attempt has removed it
 */
async function tidied(
  context: GenerationContext,
  statement: Statement,
  own?: string,
): Promise<void> {
  try {
    if (own !== undefined && own !== statement.documentId)
      await context.documents.remove(statementKey({ ...statement, documentId: own }));
    await removeOtherAttempts(context, statement);
  } catch (error) {
    if (context.onProblem === undefined) throw error;
    context.onProblem(error);
  }
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
  const end = next?.after ?? { to: to.toISOString(), through, endsRejected: true };
  if (created >= new Date(end.to)) return { refused: 'MONTH_BEFORE_ORIGINATOR' };

  await assertTables(context);
  await assertComplete(context, { organizationId, originatorId }, through);
  const { before, months } = await missingMonths(context, request, monthAt(timeZone, created));
  let last = before;
  for (const missing of months) {
    const isLast = missing === months.at(-1);
    const own = { to: monthOf(timeZone, missing.year, missing.month).to.toISOString() };
    const cutoff = cutoffOf(isLast ? end : { ...end, ...own });
    const subject = {
      statementId: statementIdOf({ originatorId, ...missing }),
      ...{ organizationId, originatorId, timeZone, ...cutoff, after: last && cutoffOf(last) },
      ...{ periodYear: missing.year, periodMonth: missing.month },
    };
    last = await generateAlone(context, subject, last);
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

function cutoffOf({ to, through, endsRejected = false }: StatementCutoff): StatementCutoff {
  return { to, through, endsRejected };
}

/** One month, without a look at the others. */
async function generateAlone(
  context: SignaledContext,
  subject: Subject,
  before: Statement | null,
): Promise<Statement> {
  const { now, by, signal } = context;
  const { statementId, after } = subject;
  if (after !== null && (after.to >= subject.to || after.through > subject.through))
    throw new Error(`the statement ${statementId} would end before the one before it`);
  if (before !== null && after !== null)
    assertContinues(
      await activityBalance(context.pool, subject, instantOf(after)),
      before.figures.closing,
    );
  const documentId = await beginAttempt(context.pool, statementId);
  const made = await unlessRecorded(context, { ...subject, documentId }, documentId);
  if ('statementId' in made) return made;
  const { written, figures } = made;
  signal.throwIfAborted();
  const recorded = await repository(context.store, statements).create(
    statementId,
    {
      type: 'RecordStatement',
      at: now().toISOString(),
      data: { ...subject, documentId, ...written, figures },
    },
    by,
  );
  // Refused: another process recorded it since that look, with a document of its own.
  const statement = 'refused' in recorded ? await load(context, statementId) : recorded.state;
  if (statement === null)
    throw new Error(`the statement ${statementId} was refused and is not there`);
  await tidied(context, statement, documentId);
  return statement;
}

/** @returns the recorded statement if another process recorded it, after we lost the lock */
async function unlessRecorded(
  context: SignaledContext,
  subject: Subject,
  documentId: string,
): Promise<MadeDocument | Statement> {
  const { statementId } = subject;
  try {
    return await writeDocument(context, subject, async () => {
      if ((await load(context, statementId)) !== null)
        throw new Error('another process has recorded the statement');
    });
  } catch (error) {
    // It may have removed what we had stored.
    const recorded = await load(context, statementId);
    if (recorded === null) {
      await forgetAttempt(context.pool, statementId, documentId);
      throw error;
    }
    await tidied(context, recorded, documentId);
    return recorded;
  }
}

/**
 * Computes the document of a recorded statement again, and stores it.
 * @throws StatementPostponed while the tables are not those of the log, and what the stores throw
 * @throws StatementDiffers, and the stored document stays as it is
 */
export async function restoreDocument(
  context: GenerationContext,
  statement: Statement,
): Promise<void> {
  const { signal = new AbortController().signal } = context;
  await assertTables(context);
  await assertComplete({ ...context, signal }, statement, statement.through);
  await writeDocument(context, statement, (sha256) => {
    if (sha256 !== statement.sha256) throw new StatementDiffers(statement.statementId);
  });
}

/** What is computed now is not what was recorded. */
export class StatementDiffers extends Error {
  override readonly name = 'StatementDiffers';
  constructor(statementId: string) {
    super(
      `the statement ${statementId} is not what was recorded: a person on it was erased since, or this release draws it differently`,
    );
  }
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

function instantOf({ to, through, endsRejected = false }: StatementCutoff): ActivityCutoff {
  return { to: new Date(to), through, endsRejected };
}
