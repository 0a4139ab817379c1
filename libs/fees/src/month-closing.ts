/**
 * Closes the months of originators: the sums of their fees become events. Each period adds what the one before it has
 * not counted, so an originator's months are closed in order, none left out.
 */
import {
  compareMonths,
  type FeeCutoff,
  type FeePeriod,
  feePeriod as feePeriods,
  feesDueMinor,
  type Month,
  monthAfter,
  monthAt,
  monthOf,
} from '@pis/domain';
import { type CommandContext, type Position, repository } from '@pis/event-store';
import {
  type FeeSources,
  feeSums,
  FeesUnknown,
  type HeldFees,
  type OrganizationMonths,
  originatorMonths,
  type OriginatorMonths,
  saveClosedThrough,
} from '@pis/read-models';
import { feePeriodIdOf } from './fee-ids.js';

export interface MonthClosing {
  readonly sources: FeeSources;
  readonly organization: Pick<OrganizationMonths, 'organizationId' | 'timeZone'>;
  /** Months up to this one are closed. */
  readonly through: Month;
  /** What the log had later counts in the next period. The lists have reached it: `untilFeesKnown`. */
  readonly upTo: Position;
  /** No month of these owners is closed: the lists lack something of theirs. */
  readonly held: readonly HeldFees[];
  readonly now: Date;
  /** Whether periods of the month `through` count that were closed before. */
  readonly withClosed: boolean;
  /** Ends the work between two originators. */
  readonly stopped: AbortSignal;
  readonly by: CommandContext;
}

const originatorsPerPage = 200;

/**
 * Yields each period that was closed now, and with `withClosed` each one of the month `through`. A month that has not ended is closed only
 * for originators with fees; what follows in it counts in the next one.
 * @throws FeesUnknown, StoreUnavailable
 */
export async function* closeMonths(closing: MonthClosing): AsyncGenerator<FeePeriod> {
  const { sources, organization, through, now, stopped } = closing;
  const { organizationId, timeZone } = organization;
  const held = closing.held.filter(({ owner }) => owner.organizationId === organizationId);
  if (held.some(({ owner }) => owner.originatorId === null)) return;
  const heldOriginators = new Set(held.map(({ owner }) => owner.originatorId));
  for (let after: string | null = null; ; ) {
    const page: readonly OriginatorMonths[] = await originatorMonths(sources.pool, organizationId, {
      after,
      limit: originatorsPerPage,
    });
    for (const originator of page) {
      if (stopped.aborted) return;
      if (heldOriginators.has(originator.originatorId)) continue;
      yield* closeOriginator(closing, originator);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < originatorsPerPage) break;
    after = last.originatorId;
  }
  // An originator that is held back may also be missing in the list.
  if (held.length === 0 && monthOf(timeZone, through.year, through.month).to <= now)
    await saveClosedThrough(sources, organizationId, through);
}

async function* closeOriginator(
  closing: MonthClosing,
  originator: OriginatorMonths,
): AsyncGenerator<FeePeriod> {
  const { sources, organization, through, upTo, now } = closing;
  const { organizationId, timeZone } = organization;
  const { originatorId } = originator;
  const periods = repository(sources.store, feePeriods);
  const load = async (month: Month) =>
    (await periods.load(feePeriodIdOf(originatorId, month))).state;
  let { before, month } = await start(originator, timeZone, load);
  if (closing.withClosed && compareMonths(through, month) < 0) {
    const closed = await load(through);
    if (closed !== null) yield closed;
    return;
  }
  for (; compareMonths(month, through) <= 0; month = monthAfter(month)) {
    const { to } = monthOf(timeZone, month.year, month.month);
    const cutoff: FeeCutoff = { to: to.toISOString(), upTo };
    let closed = await load(month);
    if (closed === null) {
      // Another collector has read further: its sums are final already.
      if (before !== null && before.upTo > upTo) throw new FeesUnknown('the log has grown');
      const sums = await feeSums(sources.pool, { organizationId, originatorId }, cutoff, before);
      if (to > now && feesDueMinor(sums) === 0) return;
      const feePeriodId = feePeriodIdOf(originatorId, month);
      const data = {
        ...{ feePeriodId, organizationId, originatorId, ...month, timeZone },
        ...{ ...cutoff, after: before, ...sums },
      };
      const command = { type: 'CloseFeePeriod', at: now.toISOString(), data } as const;
      await periods.create(feePeriodId, command, closing.by);
      // Whoever closed it: the sums of the stream count.
      closed = await load(month);
      if (closed === null) throw new Error('a period that was closed is missing');
      yield closed;
    } else if (closing.withClosed && compareMonths(month, through) === 0) yield closed;
    before = { to: closed.to, upTo: closed.upTo };
  }
}

/** The first month to look at, and the cutoff of the period before it. */
async function start(
  { lastClosed, createdAt }: OriginatorMonths,
  timeZone: string,
  load: (month: Month) => Promise<FeePeriod | null>,
): Promise<{ readonly before: FeeCutoff | null; readonly month: Month }> {
  // The list may lack periods that were closed just now. After a restore of the log it may have more.
  const last = lastClosed && (await load(lastClosed));
  return last === null
    ? { before: null, month: monthAt(timeZone, createdAt) }
    : { before: last.after, month: { year: last.year, month: last.month } };
}
