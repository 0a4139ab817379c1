/**
 * Reads the bank's notifications and records them in the payments. A page is stored first, in one
 * transaction with the checkpoint behind it, so no notification is lost or skipped. The stored
 * notifications are then recorded payment by payment, until the payment's stream agrees with them.
 *
 * Several executors do this at once. One executor stores a page, and one executor at a time works on a
 * payment. No transaction is open during a call to the bank or the event store.
 */
import { type BankNotificationPage, notificationsMax } from '@pis/bank-rails';
import type pg from 'pg';
import type { Bank } from './banks.js';
import {
  NotificationRecorder,
  type NotificationRecorderOptions,
  type Recording,
} from './notification-recorder.js';
import { type FeedPlace, NotificationTable } from './notification-table.js';

export interface BankFeedOptions extends NotificationRecorderOptions {
  readonly bank: Bank;
  readonly pool: pg.Pool;
  /** Called when the bank has reported something. */
  readonly onReports?: () => void;
}

const pageMax = 200;
/** Pages of unrecorded notifications that are searched at a time. */
const unrecordedPagesMax = 20;

/** What is due, and was not recorded, may be leased to an executor that has died. */
const dueAgainMs = 5_000;

/** A scan ends after this, with what it has read. */
const scanMaxMs = 60_000;

export type IsReported = (reference: string) => boolean;

/** The executor stops. */
export class ScanStopped extends Error {
  override readonly name = 'ScanStopped';
  constructor() {
    super("the bank's feed was not read to its end: the executor stops");
  }
}

export class BankFeed {
  private readonly table: NotificationTable;
  private readonly recorder: NotificationRecorder;
  private readonly stopping = new AbortController();
  private scanning: Promise<IsReported> | null = null;

  constructor(private readonly options: BankFeedOptions) {
    this.table = new NotificationTable(options.pool, options.bank.name);
    this.recorder = new NotificationRecorder(options);
  }

  /**
   * One page, and one batch of due notifications. Returns the milliseconds until there may be more, null when that is not
   * known.
   * @throws BankUnavailable, BankRefused, StoreUnavailable, connection errors: stored notifications stay stored
   */
  async round(): Promise<number | null> {
    const place = await this.table.place();
    const taken = await this.takeIn(place).catch((error: unknown) => ({ failure: error }));
    // While the bank is unavailable, stored notifications are still recorded.
    const wasTaken = !('failure' in taken) && taken.count > 0;
    if (wasTaken) this.options.onReports?.();
    const isFull = (place.isDue || wasTaken) && (await this.recordDue());
    if ('failure' in taken) throw taken.failure;
    if (isFull || taken.isFull) return 0;
    return place.isDue ? dueAgainMs : place.nextDueInMs;
  }

  /**
   * Whether the bank has reported something on a transfer that is not recorded yet. True for every transfer
   * when more notifications are waiting than are searched. Where the bank's feed cannot be read, for whatever
   * reason, only what was read counts: deadlines must pass. One scan runs at a time, and all who ask share it: a
   * slow bank must not get more requests the slower it is.
   * @throws connection errors of PostgreSQL; ScanStopped after `stop`: what was read shows no deadline as missed
   */
  unrecorded(): Promise<IsReported> {
    this.scanning ??= this.scan().finally(() => {
      this.scanning = null;
    });
    return this.scanning;
  }

  /** Ends a scan that is under way. */
  stop(): void {
    this.stopping.abort();
  }

  private async scan(): Promise<IsReported> {
    const ending = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(scanMaxMs)]);
    const { cursor, references, isAll } = await this.table.expected();
    if (!isAll) return () => true;
    const reported = new Set(references);
    const isReported = (reference: string) => reported.has(reference);
    let after = cursor;
    let isSilent = false;
    for (let pages = 0; pages < unrecordedPagesMax; pages += 1) {
      const page = await this.pageAfter(after, ending);
      if (this.stopping.signal.aborted) throw new ScanStopped();
      const notifications = page?.notifications ?? [];
      for (const { reference } of notifications) reported.add(reference);
      // The connection may not call for what was read here.
      if (notifications.length > 0) this.options.onReports?.();
      if (page === null || page.cursor === after) return isReported;
      isSilent = page.notifications.length === 0;
      after = page.cursor;
    }
    // A feed that moves on and says nothing must not postpone deadlines forever.
    return isSilent ? isReported : () => true;
  }

  /** Null when it cannot be read, or not in time. The round of the feed says why. */
  private async pageAfter(
    after: string,
    ending: AbortSignal,
  ): Promise<BankNotificationPage | null> {
    if (ending.aborted) return null;
    const { connection } = this.options.bank.named;
    const ended = Promise.withResolvers<null>();
    const end = () => ended.resolve(null);
    ending.addEventListener('abort', end, { once: true });
    try {
      const page = connection.notifications({ after, max: notificationsMax });
      return await Promise.race([page, ended.promise]);
    } catch {
      return null;
    } finally {
      ending.removeEventListener('abort', end);
    }
  }

  private async takeIn({
    cursor: after,
    isBackedUp,
  }: FeedPlace): Promise<{ readonly count: number; readonly isFull: boolean }> {
    // The event store is unavailable or slow: the feed keeps the rest.
    if (isBackedUp) return { count: 0, isFull: false };
    const page = await this.options.bank.named.connection.notifications({ after, max: pageMax });
    const count = page.notifications.length;
    // A page may say nothing and yet lead on to those behind it.
    if (count === 0 && page.cursor === after) return { count, isFull: false };
    await this.table.keep(page, after);
    const { mayHaveMore = count === pageMax } = page;
    return { count, isFull: mayHaveMore && page.cursor !== after };
  }

  /**
   * Works on payments side by side. Returns whether there may be more to record at once: new notifications,
   * or retries while retries succeed.
   * @throws the error of an unavailable dependency, when it kept every payment from being recorded
   */
  private async recordDue(): Promise<boolean> {
    const { lease, turns, isFull, isRetryFull } = await this.table.claim();
    if (turns.length === 0) return false;
    const recordings = await Promise.all(turns.map((turn) => this.recorder.record(turn)));
    await this.table.settle(lease, recordings);
    if (recordings.every(isAway)) throw recordings[0]?.cause;
    return isFull || (isRetryFull && recordings.some(({ recorded }) => recorded.length > 0));
  }
}

function isAway({ ended }: Recording): boolean {
  return ended === 'away';
}
