/**
 * Live updates: one EventSource for all pages. A change makes the queries that show it stale; several at once are
 * one refresh (refresh-pace.ts). A hidden tab closes its connection, since a browser opens only six to a host without HTTP/2, and
 * refreshes when it is shown again. While there is no connection, pages poll.
 */
import type { ApiPath, LiveChange } from '@pis/dashboard/api';
import type { InfiniteData } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { Page } from './api.js';
import { meQuery, queryClient } from './queries.js';
import { RefreshPace } from './refresh-pace.js';

const apiPath: ApiPath = '/dashboard/api';
/** While payments change all the time, pages are read again about once a second. */
const pagesPace = new RefreshPace({ read: refresh, waitMs: 250, pauseMs: 1_000, settleMs: 0 });
/** Deliveries of webhooks, and figures, follow a change a little later. */
const followersPace = new RefreshPace({
  read: refreshFollowers,
  waitMs: 3_000,
  pauseMs: 3_000,
  settleMs: 3_000,
});
const reopenInitialMs = 2_000;
const reopenMaxMs = 60_000;
/** A list with more pages is not read again: its rows are changed in place. */
const pagesReadAgainMax = 2;

let source: EventSource | undefined;
let isConnected = false;
let reopenMs = reopenInitialMs;
let reopening: number | undefined;
const watchers = new Set<() => void>();

/** The interval for a query to poll at: none while changes are told. */
export function usePolling(everyMs: number): number | false {
  const connected = useSyncExternalStore(watch, () => isConnected);
  return connected ? false : everyMs;
}

/** Keeps the connection while somebody is signed in. */
export function useLiveUpdates(): void {
  useEffect(() => {
    const follow = () => (document.hidden ? close() : open());
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      close();
    };
  }, []);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function connected(is: boolean): void {
  if (is === isConnected) return;
  isConnected = is;
  for (const watcher of watchers) watcher();
}

function open(): void {
  if (source !== undefined) return;
  clearTimeout(reopening);
  const opened = new EventSource(`${apiPath}/live`);
  source = opened;
  opened.addEventListener('refresh', () => {
    reopenMs = reopenInitialMs;
    connected(true);
    note('everything');
  });
  opened.addEventListener('payments', ({ data }) => {
    note(JSON.parse(String(data)) as readonly LiveChange[]);
  });
  opened.addEventListener('approvals', () => {
    areApprovals = true;
    pagesPace.ask();
  });
  opened.addEventListener('error', () => {
    connected(false);
    if (opened.readyState !== EventSource.CLOSED) return;
    // Refused. The session may have ended: then this query leads to the sign-in page.
    close();
    void queryClient.invalidateQueries({ queryKey: meQuery.queryKey });
    // After a restart of the server, not all browsers come back at the same moment.
    reopening = window.setTimeout(open, reopenMs * (0.5 + Math.random()));
    reopenMs = Math.min(reopenMs * 2, reopenMaxMs);
  });
}

function close(): void {
  clearTimeout(reopening);
  pagesPace.stop();
  followersPace.stop();
  source?.close();
  source = undefined;
  connected(false);
}

let isEverything = false;
let areApprovals = false;
const changed = new Map<string, LiveChange>();

function note(changes: 'everything' | readonly LiveChange[]): void {
  if (changes === 'everything') isEverything = true;
  else for (const change of changes) changed.set(change.paymentId, change);
  pagesPace.ask();
  followersPace.ask();
}

/** Resolves when all have been read, or could not be. */
async function refresh(): Promise<void> {
  const [all, changes] = [isEverything, [...changed.values()]];
  const withApprovals = all || areApprovals;
  isEverything = false;
  areApprovals = false;
  changed.clear();
  if (changes.length > 0) changeRows(changes);
  await queryClient.invalidateQueries({
    predicate: ({ queryKey: [subject, kind, id], state: { data } }) => {
      if (subject === 'approvals') return withApprovals;
      if (subject !== 'payments') return false;
      if (kind === 'list') return all || pagesIn(data) <= pagesReadAgainMax;
      return kind !== 'one' || all || changes.some(({ paymentId }) => paymentId === id);
    },
  });
}

async function refreshFollowers(): Promise<void> {
  await queryClient.invalidateQueries({
    predicate: ({ queryKey: [subject, kind], state: { data } }) =>
      subject === 'overview' ||
      subject === 'webhooks' ||
      (subject === 'payments' && kind === 'one') ||
      (subject === 'deliveries' && (kind === 'one' || pagesIn(data) <= pagesReadAgainMax)),
  });
}

interface Row {
  readonly paymentId: string;
  readonly status: string;
}
type Rows = InfiniteData<Page<readonly Row[]>>;

function pagesIn(data: unknown): number {
  return (data as Rows | undefined)?.pages.length ?? 0;
}

/** The statuses of rows that are shown, in lists that are too long to be read again. */
function changeRows(changes: readonly LiveChange[]): void {
  const statuses = new Map(changes.map(({ paymentId, status }) => [paymentId, status]));
  queryClient.setQueriesData<Rows>({ queryKey: ['payments', 'list'] }, (rows) => {
    if (rows === undefined || rows.pages.length <= pagesReadAgainMax) return rows;
    const changedPage = (page: Page<readonly Row[]>) =>
      page.data.some(({ paymentId }) => statuses.has(paymentId))
        ? { ...page, data: page.data.map((row) => changedRow(row, statuses)) }
        : page;
    return { ...rows, pages: rows.pages.map(changedPage) };
  });
}

function changedRow(row: Row, statuses: ReadonlyMap<string, string>): Row {
  const status = statuses.get(row.paymentId);
  return status === undefined || status === row.status ? row : { ...row, status };
}
