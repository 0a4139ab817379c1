/** Helpers of the conformance suite: a store under test, events to append, a subscriber to watch. */
import { randomUUID } from 'node:crypto';
import {
  type EventStore,
  type EventToAppend,
  type ExpectedRevision,
  type LogPage,
  type RecordedEvent,
  StoreUnavailable,
  type SubscribeOptions,
} from '../port.js';

export interface StoreUnderTest {
  readonly store: EventStore;
  /** Another store on the same log, with its own connections, like another process. */
  another(): EventStore;
  /** Breaks every connection of these stores, like a network or an operator. Null without connections. */
  readonly cutConnections: (() => Promise<void>) | null;
  /** Whether the log was empty at the start: a real server's is not. */
  readonly fresh: boolean;
  /** Closes the stores and removes the log. */
  end(): Promise<void>;
}

/** The time limit of a test that waits for servers on a busy machine. */
export const testTimeoutMs = 60_000;

/** An identifier that no other test and no earlier run has used. */
export const unique = () => randomUUID().replaceAll('-', '');

export function eventToAppend(
  data: EventToAppend['data'] = {},
  type = 'SomethingHappened',
): EventToAppend {
  return {
    id: randomUUID(),
    type,
    data,
    metadata: {
      at: '2026-03-01T12:00:00.000Z',
      schemaVersion: 1,
      actor: 'system:test',
      requestId: null,
      correlationId: randomUUID(),
      causationId: null,
      traceparent: null,
      previousHash: null,
    },
  };
}

/** Like a careful caller: repeats with the same IDs while the outcome is unknown. */
export async function appendForSure(
  store: EventStore,
  streamId: string,
  expected: ExpectedRevision,
  events: readonly EventToAppend[],
) {
  for (let tries = 1; ; tries++) {
    try {
      return await store.append(streamId, expected, events);
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || tries >= 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

export interface Follower {
  readonly events: readonly RecordedEvent[];
  readonly pages: readonly LogPage[];
  /** Rejects with the error of the subscription. */
  readonly ended: Promise<void>;
  /** Ends the subscription. Rejects with its error. */
  stop(): Promise<void>;
}

/** Subscribes and keeps all events. */
export function follow(store: EventStore, options: Omit<SubscribeOptions, 'signal'>): Follower {
  const ending = new AbortController();
  const events: RecordedEvent[] = [];
  const pages: LogPage[] = [];
  const run = async () => {
    for await (const page of store.subscribe({ ...options, signal: ending.signal })) {
      pages.push(page);
      events.push(...page.events);
    }
  };
  const ended = run();
  // Perhaps handled later. Until then a failure must not count as unhandled.
  ended.catch(() => undefined);
  return {
    events,
    pages,
    ended,
    stop: async () => {
      ending.abort();
      await ended;
    },
  };
}

/** Positions strictly rise, and each stream's revisions have no gap. */
export function expectInOrder(events: readonly RecordedEvent[]): void {
  const revisions = new Map<string, number>();
  let position = '';
  for (const event of events) {
    expect(event.position > position).toBe(true);
    position = event.position;
    const before = revisions.get(event.streamId);
    if (before !== undefined) expect(event.revision).toBe(before + 1);
    revisions.set(event.streamId, event.revision);
  }
}
