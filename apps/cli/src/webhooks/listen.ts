/**
 * `pis webhooks listen`: the events of an organization as they happen, each sent on to a developer's
 * own server. They come through the pull feed, so that no tunnel is needed.
 *
 * What always holds: the position in the feed advances only when a whole page was sent, and each event is
 * sent once. The API may be unavailable for any time. A failing server is reported, and the event is not
 * retried: a developer wants to see the next event, and can send one again by hand.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { forward, type Forwarded, type ForwardTarget } from './forward.js';
import { ApiAway, type FeedEvent, type FeedPage, PublicApi } from './public-api.js';

export interface ListenDeps {
  readonly api: PublicApi;
  readonly target: ForwardTarget;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** The position is known: from now on no event is missed. */
  readonly onListening: () => void;
  readonly onEvent: (event: FeedEvent, result: Forwarded) => void;
  /** The API became unavailable, or is back. */
  readonly onNotice: (text: string) => void;
}

const pollEveryMs = 500;
const retryFirstMs = 500;
const retryMaxMs = 5_000;
/** Even if Retry-After asks for more. */
const retryAfterMaxMs = 60_000;

/**
 * Resolves when the signal aborts.
 * @throws CommandFailed when the API refuses for good: a key that is not valid any more, for instance
 */
export async function listen(deps: ListenDeps): Promise<void> {
  const { api, signal, onListening } = deps;
  let cursor = await patiently(deps, () => api.newestCursor(signal));
  if (cursor === null) return;
  onListening();
  while (!signal.aborted) {
    const place: string = cursor;
    const page: FeedPage | null = await patiently(deps, () => api.eventsAfter(place, signal));
    if (page === null) return;
    for (const event of page.events) {
      const result = await forward(deps.target, event, signal);
      // Not sent, or unknown whether it was: nobody reads the output any more.
      if (signal.aborted) return;
      deps.onEvent(event, result);
    }
    cursor = page.nextCursor;
    if (!PublicApi.isFull(page)) await pause(pollEveryMs, signal);
  }
}

/** Asks until there is an answer; null when the signal came first. */
async function patiently<Answer>(
  { signal, onNotice }: ListenDeps,
  ask: () => Promise<Answer>,
): Promise<Answer | null> {
  for (let failures = 0; !signal.aborted; failures += 1)
    try {
      const answer = await ask();
      if (failures > 0) onNotice('the API is back');
      return answer;
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof ApiAway)) throw error;
      // Reported once: repeated messages would hide the events.
      if (failures === 0) onNotice(`${error.message}; waiting for it`);
      const ownMs = Math.min(retryFirstMs * 2 ** failures, retryMaxMs);
      const askedMs = Math.min(error.retryAfterMs ?? 0, retryAfterMaxMs);
      await pause(Math.max(ownMs, askedMs), signal);
    }
  return null;
}

/** Ends early, without an error, when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
