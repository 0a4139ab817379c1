/**
 * Takes in what the bank reports and records it in the payments. Taking in comes first: a page and the
 * checkpoint behind it are written together, so nothing of the feed is lost or skipped. What is kept is
 * then recorded payment by payment, until the payment's stream says the same.
 *
 * Several executors do this at once: each page is taken in by one of them, each payment is worked on by
 * one of them at a time. No transaction is open while the bank or the event store is asked.
 */
import { type BankConnection, notificationsMax } from '@pis/bank-rails';
import type { PaymentStream } from '@pis/commands';
import type { Logger } from '@pis/service-kit';
import type pg from 'pg';
import { NotificationRecorder, type Recording } from './notification-recorder.js';
import { type FeedPlace, NotificationTable } from './notification-table.js';

export interface BankFeedOptions {
  readonly payments: PaymentStream;
  readonly bank: BankConnection;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  /** Told when the bank has reported something. */
  readonly onReports?: () => void;
}

const pageMax = 200;
/** Pages of what is not recorded yet that are looked through at a time. */
const unrecordedPagesMax = 20;

export class BankFeed {
  private readonly table: NotificationTable;
  private readonly recorder: NotificationRecorder;

  constructor(private readonly options: BankFeedOptions) {
    this.table = new NotificationTable(options.pool);
    this.recorder = new NotificationRecorder(options.payments, options.logger);
  }

  /**
   * One page, and one batch of what is due. 0 when there may be more at once, null when not.
   * @throws BankUnavailable, BankRefused, StoreUnavailable, connection errors: what is kept stays kept
   */
  async round(): Promise<number | null> {
    const place = await this.table.place();
    const taken = await this.takeIn(place).catch((error: unknown) => ({ failure: error }));
    // A bank that is away holds up nothing that is here already.
    const wasTaken = !('failure' in taken) && taken.count > 0;
    if (wasTaken) this.options.onReports?.();
    const isFull = (place.isDue || wasTaken) && (await this.recordDue());
    if ('failure' in taken) throw taken.failure;
    return isFull || taken.isFull ? 0 : null;
  }

  /**
   * Tells of a transfer whether the bank has reported something that is not recorded yet. True of every
   * transfer when more waits than is looked through.
   * @throws BankUnavailable, BankRefused, connection errors
   */
  async unrecorded(): Promise<(reference: string) => boolean> {
    const { cursor, references, isAll } = await this.table.expected();
    if (!isAll) return () => true;
    const reported = new Set(references);
    let after = cursor;
    for (let pages = 0; pages < unrecordedPagesMax; pages += 1) {
      const page = await this.options.bank.notifications({ after, max: notificationsMax });
      for (const { reference } of page.notifications) reported.add(reference);
      if (page.notifications.length === 0 || page.cursor === after)
        return (reference) => reported.has(reference);
      after = page.cursor;
    }
    return () => true;
  }

  private async takeIn({
    cursor: after,
    isBackedUp,
  }: FeedPlace): Promise<{ readonly count: number; readonly isFull: boolean }> {
    // The event store is away or slow: the feed keeps the rest.
    if (isBackedUp) return { count: 0, isFull: false };
    const page = await this.options.bank.notifications({ after, max: pageMax });
    const count = page.notifications.length;
    if (count === 0) return { count, isFull: false };
    await this.table.keep(page, after);
    return { count, isFull: count === pageMax && page.cursor !== after };
  }

  /**
   * Payments side by side. Says whether there may be more to record at once: more that is new, or that
   * was tried before while such tries succeed.
   * @throws what is away, when it kept every payment from being recorded
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
