/**
 * Hashes of webhook bodies as the log gives them.
 *
 * What always holds: an altered log does not end the audit. An event that is gone, or cannot be read, is an answer with
 * its place. Only a store or a database that does not answer is an error.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type EventStore, type RecordedEvent } from '@pis/event-store';
import { type PastEvent, pastEventsIn } from '@pis/integration';
import { isTransient } from '@pis/postgres';
import { bodyHashOf, type HashedEvent } from '@pis/webhook-deliveries';
import { paymentEnvelope } from '@pis/webhooks';
import type pg from 'pg';

/** The hash in hex, or why there is none and the revision where that was seen. */
export type LoggedBody =
  | { readonly hash: string }
  | { readonly problem: string; readonly revision: number };

type BodyRef = Pick<HashedEvent, 'streamId' | 'revision' | 'position' | 'eventId'>;

const settlePollMs = 100;
const absent = 'the log has no event for this webhook body';
const cannotBeComputed = 'the webhook body cannot be computed';

export class LoggedBodies {
  private settleUntilMs: number | null = null;

  /** @param settleMaxMs how long all calls together wait for a replica of the store that lags behind the index */
  constructor(
    private readonly store: EventStore,
    private readonly pool: pg.Pool,
    private readonly settleMaxMs: number,
  ) {}

  /** By event ID, one for each ref. @throws StoreUnavailable, connection errors of PostgreSQL */
  async hashesOf(refs: readonly BodyRef[]): Promise<ReadonlyMap<string, LoggedBody>> {
    const found = await this.read(refs);
    const missing = refs.filter(({ eventId }) => !found.has(eventId));
    if (missing.length === 0) return found;
    await this.settle(missing);
    const foundLater = await this.read(missing);
    return new Map(
      refs.map(({ eventId, revision }) => [
        eventId,
        found.get(eventId) ?? foundLater.get(eventId) ?? { problem: absent, revision },
      ]),
    );
  }

  /** Without the events that their streams do not have. */
  private async read(refs: readonly BodyRef[]): Promise<ReadonlyMap<string, LoggedBody>> {
    const found = new Map<string, LoggedBody>();
    const refsOf = Map.groupBy(refs, ({ streamId }) => streamId);
    const streams = await streamsOf(this.store, [...refsOf.keys()]);
    for (const [index, wanted] of [...refsOf.values()].entries()) {
      const stream = streams[index] ?? null;
      if (stream === null) {
        const problem = `${cannotBeComputed}: the stream cannot be read`;
        for (const { eventId, revision } of wanted) found.set(eventId, { problem, revision });
        continue;
      }
      const ids = new Set(wanted.map(({ eventId }) => eventId));
      const events = await pastEventsIn(this.pool, stream, ids);
      for (const { eventId, revision } of wanted) {
        const past = events.get(eventId);
        if (past !== undefined) found.set(eventId, bodyOf(past, revision));
      }
    }
    return found;
  }

  /** Until the store has the log up to the last of the refs. */
  private async settle(refs: readonly BodyRef[]): Promise<void> {
    this.settleUntilMs ??= performance.now() + this.settleMaxMs;
    const end = refs.reduce((last, { position }) => (position > last ? position : last), '');
    while (performance.now() < this.settleUntilMs && (await this.store.lastPosition()) < end)
      await delay(settlePollMs);
  }
}

/** @param revision of the event itself */
function bodyOf(past: PastEvent, revision: number): LoggedBody {
  const problem = `${cannotBeComputed}: the log has an event that cannot be read`;
  if ('error' in past) return { problem, revision: past.failedAt.revision };
  try {
    return { hash: bodyHashOf(paymentEnvelope(past.event)) };
  } catch {
    return { problem, revision };
  }
}

/** In the order of the IDs; null for a stream that the store refuses to read. @throws StoreUnavailable */
async function streamsOf(
  store: EventStore,
  streamIds: readonly string[],
): Promise<readonly (readonly RecordedEvent[] | null)[]> {
  try {
    return await store.readStreams(streamIds);
  } catch (error) {
    if (isTransient(error)) throw error;
    if (streamIds.length <= 1) return [null];
    const half = Math.ceil(streamIds.length / 2);
    return [
      ...(await streamsOf(store, streamIds.slice(0, half))),
      ...(await streamsOf(store, streamIds.slice(half))),
    ];
  }
}
