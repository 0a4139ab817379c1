/**
 * A live `$all` subscription gathered into pages. The buffer between the server and the consumer is
 * one page; when it is full, gRPC's flow control holds the server back.
 *
 * The server filters by stream name and sends a checkpoint now and then while nothing matches; a
 * position may therefore lag by up to checkpointEvents events that do not match.
 */
import {
  type AllStreamSubscription,
  type EventStoreDBClient,
  type Position as LogPosition,
  streamNameFilter,
} from '@eventstore/db-client';
import {
  type LogPage,
  type Position,
  type RecordedEvent,
  StoreUnavailable,
  type SubscribeOptions,
} from '../port.js';
import { Bell, backoffMs, pause } from '../wake-up.js';
import { classified } from './errors.js';
import { logPosition, ourStreams, positionText, recorded } from './recorded.js';

export interface LiveSubscriptionLimits {
  readonly pageMax: number;
  /** A checkpoint at least every so many events that do not match. */
  readonly checkpointEvents: number;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
}

/** For waits that only a bell ends. */
const hourMs = 3_600_000;

/** Survives a lost connection: begins again after the last page that was yielded. */
export async function* liveSubscription(
  client: () => EventStoreDBClient,
  limits: LiveSubscriptionLimits,
  { signal, ...options }: SubscribeOptions,
): AsyncGenerator<LogPage, void, undefined> {
  let after = options.after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const page of pagesUntilCut(client(), limits, { ...options, after, signal })) {
        failures = 0;
        after = page.position;
        yield page;
      }
    } catch (error) {
      const known = classified(error);
      if (!(known instanceof StoreUnavailable)) throw known;
    }
    await pause(backoffMs(failures++, limits.retryInitialMs, limits.retryMaxMs), signal);
  }
}

/** One connection's worth. Ends with the signal or with the stream; throws when the stream breaks. */
async function* pagesUntilCut(
  client: EventStoreDBClient,
  limits: LiveSubscriptionLimits,
  { after, streamPrefixes, pageMax = limits.pageMax, signal }: SubscribeOptions,
): AsyncGenerator<LogPage, void, undefined> {
  const bell = new Bell();
  let checkpoint: Position = after;
  let ended = false;
  let failure: unknown = null;

  const filter = {
    checkpointInterval: 1,
    maxSearchWindow: limits.checkpointEvents,
    checkpointReached: (_subscription: AllStreamSubscription, at: LogPosition) => {
      checkpoint = positionText(at);
      bell.ring();
    },
  };
  const subscription = client.subscribeToAll(
    {
      fromPosition: logPosition(after),
      filter:
        streamPrefixes === undefined
          ? streamNameFilter({ ...filter, regex: ourStreams })
          : streamNameFilter({ ...filter, prefixes: [...streamPrefixes] }),
    },
    { highWaterMark: pageMax },
  );
  subscription
    .on('readable', () => bell.ring())
    .on('error', (error) => {
      failure = error;
      bell.ring();
    })
    .on('end', () => {
      ended = true;
      bell.ring();
    });
  let position = after;
  try {
    while (!signal.aborted) {
      const { rung } = bell;
      const { events, drained } = takeBuffered(subscription, position, pageMax);
      const last = events.at(-1);
      const reached = last?.position ?? position;
      // Events sent before the checkpoint were buffered before it: it counts once all are taken.
      const read = drained && checkpoint > reached ? checkpoint : reached;
      if (read !== position) {
        position = read;
        yield { events, position };
      } else if (failure !== null) {
        throw failure;
      } else if (ended) {
        return;
      } else {
        await bell.wait(rung, hourMs, signal);
      }
    }
  } finally {
    await subscription.unsubscribe().catch(() => undefined);
  }
}

function takeBuffered(
  subscription: AllStreamSubscription,
  after: Position,
  max: number,
): { readonly events: RecordedEvent[]; readonly drained: boolean } {
  const events: RecordedEvent[] = [];
  while (events.length < max) {
    const resolved: Parameters<typeof recorded>[0] | null = subscription.read();
    if (resolved === null) return { events, drained: true };
    const event = recorded(resolved);
    // The server sends each event once and in order; a consumer's checkpoint depends on it.
    if (event !== null && event.position > after) events.push(event);
  }
  return { events, drained: false };
}
