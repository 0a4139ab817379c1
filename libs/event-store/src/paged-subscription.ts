/** A subscription made of page reads, with a wake-up when the log may have grown. */
import { type Bell, backoffMs, pause } from '@pis/postgres';
import {
  EventsLost,
  type LogPage,
  type ReadLogOptions,
  StoreUnavailable,
  type SubscribeOptions,
} from './port.js';

export interface SubscribedPage extends LogPage {
  /** The log had nothing after it when it was read. */
  readonly isLast: boolean;
}

export interface PagedSubscription {
  /** @throws EventsLost if the log has another event at `after` than `afterEventId` */
  readonly readLog: (options: ReadLogOptions) => Promise<SubscribedPage>;
  /** Rings at the latest when an event can be read that could not be before. */
  readonly bell: Bell;
  /** The longest wait without a wake-up, read before each wait. */
  readonly pollIntervalMs: () => number;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  /** How often the connection to the log was lost and is back. Each time is reported, also if no read failed meanwhile. */
  readonly losses?: () => number;
}

/**
 * Yields everything after `after`, without end. Never skips: a page begins where the last one that was
 * yielded ended, and the store hands out positions in the order of commit.
 */
export async function* pagedSubscription(
  {
    readLog,
    bell,
    pollIntervalMs,
    retryInitialMs,
    retryMaxMs,
    losses = () => 0,
  }: PagedSubscription,
  { signal, onConnection, ...options }: SubscribeOptions,
): AsyncGenerator<LogPage, void, undefined> {
  let { after, afterEventId } = options;
  let failures = 0;
  let isConnected = false;
  let reportedLosses = losses();
  while (!signal.aborted) {
    const { rung } = bell;
    if (losses() !== reportedLosses) {
      if (isConnected) onConnection?.(new StoreUnavailable('the connection to the log was lost'));
      isConnected = false;
      reportedLosses = losses();
    }
    let page: SubscribedPage;
    try {
      page = await readLog({ ...options, after, afterEventId });
      failures = 0;
      if (!isConnected) onConnection?.(null);
      isConnected = true;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || error instanceof EventsLost) throw error;
      isConnected = false;
      onConnection?.(error);
      await pause(backoffMs(failures++, retryInitialMs, retryMaxMs), signal);
      continue;
    }
    if (signal.aborted) return;
    const { isLast, ...shown } = page;
    const isNew = shown.position !== after;
    afterEventId = shown.eventId ?? (isNew ? undefined : afterEventId);
    after = shown.position;
    if (isNew) yield shown;
    // An event that came after the page was read has rung the bell.
    if (isLast) await bell.wait(rung, pollIntervalMs(), signal);
  }
}
