/** What is known of the server's state, and how long it counts as fresh. */
import type { Me } from '@pis/dashboard/api';
import {
  infiniteQueryOptions,
  notifyManager,
  QueryCache,
  QueryClient,
  type QueryKey,
  queryOptions,
} from '@tanstack/react-query';
import { ApiFailure, call, callPage, type Page } from './api.js';

const staleMs = 5_000;
const retriesMax = 2;

// Before the next event: the second of two clicks meets a button that is busy.
notifyManager.setScheduler(queueMicrotask);

/** Without a network a request fails at once. It must not wait in silence and change something much later. */
const networkMode = 'always';

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteEndOfSession }),
  defaultOptions: {
    queries: {
      networkMode,
      refetchOnReconnect: true,
      staleTime: staleMs,
      // A refusal stays one. Only a server that cannot answer is asked again.
      retry: (failures, error) =>
        failures < retriesMax &&
        error instanceof ApiFailure &&
        (error.status === 0 || error.status >= 500),
    },
    mutations: { networkMode, onError: noteEndOfSession },
  },
});

const meKey = ['me'] as const;

/** Null when nobody is signed in. */
export const meQuery = queryOptions({
  queryKey: meKey,
  queryFn: async ({ signal }): Promise<Me | null> => {
    const me = await call('session', { signal });
    // Another tab of the browser may have changed who is signed in.
    const known = queryClient.getQueryData<Me | null>(meKey) ?? null;
    if (known !== null && known.userId !== me?.userId) forget();
    if (known !== null && me === null) hasEnded = true;
    return me;
  },
});

/** The organization's logo changes seldom: it is loaded once for each page load. */
export const logoQuery = queryOptions({
  queryKey: ['organization', 'logo'],
  queryFn: ({ signal }) => call('getLogo', { signal }),
  staleTime: Infinity,
});

let hasEnded = false;

/** Whether the last session of this page has ended, other than by its user. */
export function sessionHasEnded(): boolean {
  return hasEnded;
}

export function signedIn(me: Me): void {
  become(me);
}

/** Nothing of the session's user stays in memory. */
export function signedOut(): void {
  become(null);
}

function become(me: Me | null, isEnd = false): void {
  forget();
  hasEnded = isEnd;
  queryClient.setQueryData(meQuery.queryKey, me);
}

/** Also the answers to changes: some hold secrets that are shown once. */
function forget(): void {
  // The query of the user itself stays: pages watch it.
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== meKey[0] });
  queryClient.getMutationCache().clear();
}

function noteEndOfSession(error: Error): void {
  if (error instanceof ApiFailure && error.status === 401) become(null, true);
}

interface PageQuery {
  readonly limit: string;
  readonly cursor?: string;
}

/** A list that is loaded page by page. */
export function pagesQuery<Data>(
  queryKey: QueryKey,
  limit: string,
  load: (query: PageQuery, signal: AbortSignal) => Promise<Page<Data>>,
) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageAt(limit, pageParam), signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

function pageAt(limit: string, cursor: string | null): PageQuery {
  return { limit, ...(cursor === null ? {} : { cursor }) };
}

const choicesPageMax = '100';
/** More would be no choice but a search. */
const choicesMax = 500;

/** The first originators, to choose from. */
export const originatorChoices = queryOptions({
  queryKey: ['originators', 'choices'],
  queryFn: ({ signal }) =>
    firstPages((cursor) =>
      callPage('listOriginators', { query: pageAt(choicesPageMax, cursor), signal }),
    ),
});

async function firstPages<Item>(
  load: (cursor: string | null) => Promise<Page<readonly Item[]>>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  let cursor: string | null = null;
  do {
    const page = await load(cursor);
    all.push(...page.data);
    cursor = page.nextCursor;
  } while (cursor !== null && all.length < choicesMax);
  return all;
}
