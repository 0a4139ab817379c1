/**
 * Fee collection: what the monthly job does, for the app and for `pis fees collect`. A lock lets one collector work at
 * a time. It only saves work: two collectors at once make the same streams.
 */
import type { SettlementAccountMissing } from '@pis/commands';
import {
  compareMonths,
  type FeePeriod,
  lastEndedMonth,
  type Month,
  monthAt,
  type Refusal,
} from '@pis/domain';
import { asSingleton, isTransient } from '@pis/postgres';
import {
  assertListsInLog,
  checkClosedThrough,
  FeesUnknown,
  type HeldFees,
  heldText,
  heldUnlistedOrganizations,
  openFeePeriods,
  organizationMonths,
  type OrganizationMonths,
  untilFeesKnown,
} from '@pis/read-models';
import type { CollectionOptions } from './collection-options.js';
import { closeMonths, type MonthClosing } from './month-closing.js';
import { collectPeriod } from './period-collection.js';

export interface FeeCollectionOptions extends CollectionOptions {
  /** Told of what could not be done now, and is tried again by the next round. */
  readonly onFailed: (error: unknown, facts: Readonly<Record<string, unknown>>) => void;
}

export type FeeCollectionRefusal =
  | SettlementAccountMissing
  | Refusal<'MONTH_NOT_BEGUN' | 'MONTH_NOT_ENDED' | 'ORGANIZATION_NOT_FOUND' | 'COLLECTOR_BUSY'>;

export interface RoundReport {
  readonly periodsClosed: number;
  /** Nothing can be collected in production until an operator sets one. */
  readonly settlementAccountMissing: boolean;
}

type MonthEnd = Pick<MonthClosing, 'through' | 'withClosed' | 'upTo' | 'held'>;

const collectorLock = { key: 72_707_503 };
const lockPollMs = 200;
/** More than a round waits for the lists. */
const lockWaitMs = 120_000;
/** Payments that were recorded just before the end of the month are in the log by then, and counted in it. */
const settledAfterMs = 10 * 60_000;
const periodsPerPage = 100;

export class FeeCollection {
  constructor(private readonly options: FeeCollectionOptions) {}

  /**
   * Closes the months that have ended, and takes the next step of each open collection. Null when another collector is
   * at work. @throws FeesUnknown, StoreUnavailable
   */
  async round(signal: AbortSignal): Promise<RoundReport | null> {
    const { pool } = this.options.sources;
    return asSingleton(pool, collectorLock, undefined, async (_client, lost) => {
      const stopped = AbortSignal.any([signal, lost]);
      await assertListsInLog(this.options.sources);
      await checkClosedThrough(this.options.sources);
      const closed = await this.closeAllEnded(stopped);
      // The list may lack those that were closed just now.
      const ofClosed = await this.collectAll(closed, stopped);
      const ofOpen = await this.collectOpen(stopped);
      return { periodsClosed: closed.length, settlementAccountMissing: !ofClosed || !ofOpen };
    });
  }

  /**
   * The same for one month, by hand: closes the month of every originator, and those before it, and begins to collect
   * them. In the sandbox the month may be the current one.
   * @throws FeesUnknown, AggregateError also when some originators are held up or fail, after the others were collected
   * @throws StoreUnavailable
   */
  async collectMonth(
    month: Month,
    organizationId: string | null,
  ): Promise<readonly FeePeriod[] | FeeCollectionRefusal> {
    const { pool } = this.options.sources;
    const wait = { pollMs: lockPollMs, timeoutMs: lockWaitMs };
    const done = await asSingleton(pool, collectorLock, wait, (_client, lost) =>
      this.collectNow(month, organizationId, lost),
    );
    return done ?? { refused: 'COLLECTOR_BUSY' };
  }

  private async collectNow(
    month: Month,
    organizationId: string | null,
    lost: AbortSignal,
  ): Promise<readonly FeePeriod[] | FeeCollectionRefusal> {
    const { sources, environment, now } = this.options;
    await assertListsInLog(sources);
    const known = await this.knownPosition(lost);
    const organizations = await organizationMonths(sources.pool, organizationId);
    if (organizationId !== null && organizations.length === 0)
      return { refused: 'ORGANIZATION_NOT_FOUND' };
    for (const { timeZone } of organizations) {
      if (compareMonths(month, monthAt(timeZone, now())) > 0) return { refused: 'MONTH_NOT_BEGUN' };
      const hasEnded = compareMonths(month, lastEndedMonth(timeZone, now())) <= 0;
      if (!hasEnded && environment !== 'sandbox') return { refused: 'MONTH_NOT_ENDED' };
    }
    const collected: FeePeriod[] = [];
    let missing: SettlementAccountMissing | null = null;
    const failures: unknown[] = [];
    const trying = { failures, lost };
    const end = { through: month, withClosed: true, ...known };
    for (const organization of organizations) {
      const facts = { organizationId: organization.organizationId };
      const closed = await this.orFailed(trying, facts, () => this.close(organization, end, lost));
      for (const { feePeriodId } of closed ?? []) {
        const after = await this.orFailed(trying, { feePeriodId }, () =>
          collectPeriod(this.options, feePeriodId),
        );
        if (after === null) continue;
        if ('refused' in after) missing = after;
        else if (compareMonths(after, month) === 0) collected.push(after);
      }
    }
    // Also of organizations that are in no list because their streams are held back.
    const held = known.held.filter(
      ({ owner }) => organizationId === null || owner.organizationId === organizationId,
    );
    if (held.length > 0)
      failures.push(new FeesUnknown(held.map((each) => heldText(each)).join(', ')));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'some fees were not collected');
    return missing ?? collected;
  }

  /** One organization or period holds up no other: null, and the failure is kept. @throws what would befall all of them */
  private async orFailed<Result>(
    { failures, lost }: { readonly failures: unknown[]; readonly lost: AbortSignal },
    facts: Readonly<Record<string, unknown>>,
    work: () => Promise<Result>,
  ): Promise<Result | null> {
    try {
      return await work();
    } catch (error) {
      if (lost.aborted || isTransient(error)) throw error;
      this.options.onFailed(error, facts);
      failures.push(error);
      return null;
    }
  }

  /** @returns the IDs of the periods that were closed */
  private async closeAllEnded(stopped: AbortSignal): Promise<readonly string[]> {
    const organizations = await organizationMonths(this.options.sources.pool);
    const settled = new Date(this.options.now().getTime() - settledAfterMs);
    const ended = organizations.flatMap((organization) => this.endedOf(organization, settled));
    if (ended.length === 0) {
      for (const held of await heldUnlistedOrganizations(this.options.sources))
        this.reportHeld(held);
      return [];
    }
    const closed: string[] = [];
    try {
      // One position for all: closing an organization adds events that the lists do not have at once.
      const known = await this.knownPosition(stopped);
      this.reportUnlisted(known.held, organizations);
      for (const { organization, through } of ended) {
        if (stopped.aborted) break;
        closed.push(
          ...(await this.closeEnded(
            organization,
            { through, withClosed: false, ...known },
            stopped,
          )),
        );
      }
    } catch (error) {
      // What was closed before is collected meanwhile.
      if (!stopped.aborted) this.options.onFailed(error, {});
    }
    return closed;
  }

  /** An organization that is held back from its first event is in no list, so nothing is closed for it. */
  private reportUnlisted(
    held: readonly HeldFees[],
    organizations: readonly OrganizationMonths[],
  ): void {
    const listed = new Set(organizations.map(({ organizationId }) => organizationId));
    for (const each of held) if (!listed.has(each.owner.organizationId)) this.reportHeld(each);
  }

  private reportHeld(held: HeldFees): void {
    this.options.onFailed(new FeesUnknown(heldText(held)), { ...held.owner });
  }

  /** The last month that has ended, unless it is closed. */
  private endedOf(organization: OrganizationMonths, settled: Date) {
    const { timeZone, closedThrough, organizationId } = organization;
    try {
      const through = lastEndedMonth(timeZone, settled);
      const isClosed = closedThrough !== null && compareMonths(through, closedThrough) <= 0;
      return isClosed ? [] : [{ organization, through }];
    } catch (error) {
      // A time zone that this runtime does not know holds up no other organization.
      this.options.onFailed(error, { organizationId });
      return [];
    }
  }

  private async closeEnded(
    organization: OrganizationMonths,
    end: MonthEnd,
    stopped: AbortSignal,
  ): Promise<readonly string[]> {
    try {
      const closed = await this.close(organization, end, stopped);
      return closed.map(({ feePeriodId }) => feePeriodId);
    } catch (error) {
      // One organization holds up no other.
      this.options.onFailed(error, { organizationId: organization.organizationId });
      return [];
    }
  }

  private async close(
    organization: OrganizationMonths,
    end: MonthEnd,
    stopped: AbortSignal,
  ): Promise<readonly FeePeriod[]> {
    const { sources, by } = this.options;
    const closing = { sources, organization, ...end, now: this.options.now(), stopped, by };
    for (const held of end.held)
      if (held.owner.organizationId === organization.organizationId) this.reportHeld(held);
    const closed: FeePeriod[] = [];
    for await (const period of closeMonths(closing)) closed.push(period);
    return closed;
  }

  /** @returns false when there is no settlement account */
  private async collectOpen(stopped: AbortSignal): Promise<boolean> {
    const { sources, now } = this.options;
    // Without an account one page of periods is tried each round, however many are due. The others are only followed.
    let canStart = true;
    for (let after: string | null = null; !stopped.aborted; ) {
      const limit = periodsPerPage;
      const page = await openFeePeriods(sources.pool, now(), { after, limit, canStart });
      if (!(await this.collectAll(page, stopped))) canStart = false;
      if (page.length < limit) break;
      after = page.at(-1) ?? null;
    }
    return canStart;
  }

  /**
   * A period that cannot be collected now holds up no other: money may have moved in those.
   * @returns false when there is no settlement account
   */
  private async collectAll(ids: readonly string[], stopped: AbortSignal): Promise<boolean> {
    let hasAccount = true;
    for (const feePeriodId of ids) {
      if (stopped.aborted) break;
      try {
        if ('refused' in (await collectPeriod(this.options, feePeriodId))) hasAccount = false;
      } catch (error) {
        this.options.onFailed(error, { feePeriodId });
      }
    }
    return hasAccount;
  }

  /**
   * The end of the log, once the lists have reached it, and what they hold back. @throws FeesUnknown, StoreUnavailable
   */
  private async knownPosition(stopped: AbortSignal): Promise<Pick<MonthEnd, 'upTo' | 'held'>> {
    const { sources } = this.options;
    const upTo = await sources.store.lastPosition();
    return { upTo, held: await untilFeesKnown(sources, upTo, stopped) };
  }
}
