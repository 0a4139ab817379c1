/**
 * The bank's notifications that are not recorded in their payments yet, and the position that the feed has
 * been read to. Both are written in one transaction, so no notification is lost or skipped. The checkpoint
 * moves only from the cursor at which the page was read: when several executors read the same page, one of
 * them stores it. Executors share the work by reference. Each reference is leased to one executor for a
 * time.
 *
 * No transaction here waits for anything but PostgreSQL. PostgreSQL's clock alone decides what is due.
 */
import { randomUUID } from 'node:crypto';
import { type BankNotification, type BankNotificationPage, feedBeginning } from '@pis/bank-rails';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import {
  addSql,
  claimSql,
  deleteSql,
  expectedSql,
  forgetSql,
  keepSql,
  leasedSql,
  notificationsSql,
  placeSql,
  releaseSql,
  unmatchedSql,
} from './notification-statements.js';
import { endRows } from './pending-statements.js';

/** The work for one reference: its notifications in the order of the feed. */
export interface Turn {
  readonly reference: string;
  readonly tries: number;
  readonly notifications: readonly BankNotification[];
}

export interface Claim {
  readonly lease: string;
  readonly turns: readonly Turn[];
  /** There may be more that has not been tried yet, or that was tried before. */
  readonly isFull: boolean;
  readonly isRetryFull: boolean;
}

/** A notification that was not recorded, and why. */
export interface Unmatched {
  readonly sequence: string;
  readonly reason: string;
  /** The payment's status excludes it for good. Later notifications of the payment do not wait for it. */
  readonly contradicts: boolean;
}

/** The outcome of a turn. */
export interface Outcome {
  readonly reference: string;
  /** Of a payment that needs no timer any more; otherwise null. */
  readonly paymentId: string | null;
  readonly recorded: readonly string[];
  readonly unmatched: readonly Unmatched[];
  /** `tried`: retry by age. `held`: the same, and some may still fit. `away`: a dependency is unavailable. */
  readonly ended: 'tried' | 'held' | 'away';
}

export interface FeedPlace {
  readonly cursor: string;
  /** The feed is not read further until fewer references are untried. */
  readonly isBackedUp: boolean;
  readonly isDue: boolean;
  /** When the next one is due that is not due now, milliseconds; null without one. */
  readonly nextDueInMs: number | null;
}

/** References of one claim that are tried for the first time. */
const newMax = 200;
/** References of one claim that are retried. This bounds the cost of a round, however many are waiting. */
const retriedMax = 50;
/** Notifications of one reference that are tried in one turn. */
const perTurnMax = 100;
/** The feed is not read further while more references than this are untried. */
const backlogMax = 2_000;
/** The longest time that a claim lasts. Then another executor takes over a dead executor's notifications. */
const leaseMs = 30_000;
/** The pause between tries is the notification's age, within these limits. */
const retryMinMs = 1_000;
const retryMaxMs = 3_600_000;
/** After this it is retried only on request, or when the bank reports something new. */
const retryForMs = 72 * 3_600_000;
/** The pause after a try that failed because the event store or PostgreSQL was unavailable. */
const awayPauseMs = 1_000;
/** How long an unrecorded notification counts as about to be recorded. */
const expectedForMs = 60_000;
const expectedMax = 10_000;
/** Characters kept of a text of the bank or of an error. More than any reference of ours has. */
const textMax = 200;

export class NotificationTable {
  constructor(
    private readonly pool: pg.Pool,
    /** The name of the connection: each has its own feed. */
    private readonly feed: string,
  ) {}

  async place(): Promise<FeedPlace> {
    const { rows } = await this.pool.query<FeedPlace>({
      name: 'rail-feed-place',
      text: placeSql,
      values: [this.feed, feedBeginning, backlogMax],
    });
    return rows[0] ?? { cursor: feedBeginning, isBackedUp: false, isDue: false, nextDueInMs: null };
  }

  /**
   * Stores a page that was read at `after`. Does nothing when another executor has stored it already.
   * Notifications that are already stored do not change.
   */
  async keep(page: BankNotificationPage, after: string): Promise<void> {
    const { notifications } = page;
    await this.pool.query({
      name: 'rail-notifications-keep',
      text: keepSql,
      values: [
        this.feed,
        after,
        page.cursor,
        feedBeginning,
        notifications.map(({ sequence }) => sequence),
        notifications.map(({ reference }) => keepable(reference)),
        notifications.map(({ type }) => type),
        notifications.map(({ returnReasonCode }) => returnReasonCode),
        notifications.map(({ at }) => at),
        notifications.map(detailOf),
      ],
    });
  }

  /** Stores a notification that did not come through the feed. Does nothing when it is stored already. */
  async add(notification: BankNotification): Promise<void> {
    const { sequence, reference, type, returnReasonCode, at } = notification;
    await this.pool.query(addSql, [
      this.feed,
      sequence,
      keepable(reference),
      ...[type, returnReasonCode, at, detailOf(notification)],
    ]);
  }

  /** Leases due references, the longest due first, except those that another executor works on. */
  async claim(): Promise<Claim> {
    const lease = randomUUID();
    const claimed = await this.pool.query<{ reference: string; tries: number }>({
      name: 'rail-notifications-claim',
      text: claimSql,
      values: [newMax, retriedMax, lease, leaseMs, this.feed],
    });
    if (claimed.rows.length === 0) return { lease, turns: [], isFull: false, isRetryFull: false };
    const { rows } = await this.pool.query<NotificationRow>({
      name: 'rail-notifications-of',
      text: notificationsSql,
      values: [claimed.rows.map(({ reference }) => reference), perTurnMax, this.feed],
    });
    const byReference = Map.groupBy(rows, ({ reference }) => reference);
    const untried = claimed.rows.filter(({ tries }) => tries === 0).length;
    return {
      lease,
      turns: claimed.rows.map(({ reference, tries }) => ({
        reference,
        tries,
        notifications: (byReference.get(reference) ?? []).map(notificationOf),
      })),
      isFull: untried === newMax,
      isRetryFull: claimed.rows.length - untried === retriedMax,
    };
  }

  /**
   * Records the outcome of a claim and ends its lease. References whose lease has passed to another
   * executor are left to that executor: recording them again changes nothing.
   */
  async settle(lease: string, outcomes: readonly Outcome[]): Promise<void> {
    const ended = await inTransaction(this.pool, async (client) => {
      // Locks rows in the order of the references, like every other writer. It is a statement of its own,
      // so that the next ones see what was stored until now.
      const { rows } = await client.query<{ reference: string }>(leasedSql, [
        lease,
        outcomes.map(({ reference }) => reference),
        this.feed,
      ]);
      const leased = new Set(rows.map(({ reference }) => reference));
      const mine = outcomes.filter(({ reference }) => leased.has(reference));
      if (mine.length === 0) return [];
      const recorded = mine.filter((outcome) => outcome.recorded.length > 0);
      await client.query(deleteSql, [this.feed, recorded.flatMap((outcome) => outcome.recorded)]);
      const unmatched = mine.flatMap((outcome) => outcome.unmatched);
      if (unmatched.length > 0)
        await client.query(unmatchedSql, [
          this.feed,
          unmatched.map(({ sequence }) => sequence),
          unmatched.map(({ reason }) => keepable(reason)),
          unmatched.map(({ contradicts }) => contradicts),
        ]);
      const references = mine.map(({ reference }) => reference);
      const { rowCount: forgotten } = await client.query(forgetSql, [references, this.feed]);
      if (forgotten !== mine.length)
        await client.query(releaseSql, [
          references,
          mine.map(({ ended }) => ended),
          retryMinMs,
          retryMaxMs,
          retryForMs,
          awayPauseMs,
          this.feed,
        ]);
      return recorded.flatMap(({ paymentId }) => paymentId ?? []);
    });
    // Separate, so that it never waits for another writer's rows while ours are locked. An extra row does no harm.
    if (ended.length > 0) await endRows(this.pool, ended);
  }

  /** The checkpoint of the feed, and the references with notifications that are about to be recorded. */
  async expected(): Promise<{ cursor: string; references: readonly string[]; isAll: boolean }> {
    const { rows } = await this.pool.query<{ cursor: string; references: string[] }>({
      name: 'rail-notifications-expected',
      text: expectedSql,
      values: [this.feed, feedBeginning, expectedForMs, expectedMax],
    });
    const { cursor = feedBeginning, references = [] } = rows[0] ?? {};
    return { cursor, references, isAll: references.length < expectedMax };
  }
}

interface NotificationRow {
  readonly sequence: string;
  readonly reference: string;
  readonly type: BankNotification['type'];
  readonly return_reason_code: string | null;
  readonly at: Date;
  readonly detail: Partial<Detail> | null;
}

/** What only some types of notifications have. */
type Detail = Pick<
  BankNotification,
  | 'rejection'
  | 'correction'
  | 'returnReference'
  | 'returnedAmount'
  | 'sentAmountMinor'
  | 'recordedAt'
>;

/** A replacer: PostgreSQL's jsonb refuses NUL and halves of surrogate pairs. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd').toWellFormed() : value;
}

function detailOf(notification: Detail): string | null {
  const { rejection, correction, returnReference, returnedAmount } = notification;
  const { sentAmountMinor, recordedAt } = notification;
  const detail = {
    ...{ rejection, correction, returnReference, returnedAmount },
    ...{ sentAmountMinor, recordedAt },
  };
  const given = Object.entries(detail).filter(([, value]) => value != null);
  return given.length === 0 ? null : JSON.stringify(Object.fromEntries(given), storable);
}

function notificationOf(row: NotificationRow): BankNotification {
  const { sequence, reference, type, return_reason_code: returnReasonCode, at } = row;
  const { rejection = null, correction = null } = row.detail ?? {};
  const { returnReference = null, returnedAmount = null } = row.detail ?? {};
  // Older releases store none.
  const { sentAmountMinor = null, recordedAt = null } = row.detail ?? {};
  return {
    ...{ sequence, reference, type, returnReasonCode, returnReference, returnedAmount },
    ...{ sentAmountMinor, recordedAt, rejection, correction, at: at.toISOString() },
  };
}

/** As a text that PostgreSQL and an index can store: the bank may have sent anything. */
function keepable(text: string): string {
  return text.slice(0, textMax).replaceAll('\0', '\ufffd').toWellFormed();
}
