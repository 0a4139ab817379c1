/**
 * Processes replays page by page, from the index of events. Each event is folded from its stream into the
 * envelope that was, or would have been, sent at the time.
 *
 * What always holds:
 *
 * - Only one page of an endpoint's replays is due at a time, so a replay of a million events never holds up
 *   a new event.
 * - Organizations take turns, one page each, however many replays one of them has.
 * - A replay begins only when the index has reached the end of the log at the request, so nothing is missing.
 */
import type { WebhookIntegrationEvent } from '@pis/contracts';
import type { WebhookEndpoint } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import type { WakeUp } from '@pis/postgres';
import {
  type EventsQuery,
  hasReached,
  type IndexedEventRef,
  type TimePlace,
} from '@pis/read-models';
import { pastWebhookEvents } from '@pis/integration';
import { Repeating } from '@pis/service-kit';
import type pg from 'pg';
import {
  deliveryIdOf,
  type ReplayRecord,
  type RevivedDelivery,
  type ReplayPage,
  type ReplayTable,
} from '@pis/webhook-deliveries';
import { paymentEnvelope } from '@pis/webhooks';
import { paymentIdIn } from './fan-out.js';

export interface ReplayLimits {
  /** The most events of an endpoint's replays that are due at a time. */
  readonly dueMax: number;
  /** When this many events of an endpoint's replays wait for a retry, no more are added. */
  readonly waitingMax: number;
  /** The most events of the index that are read for a page. */
  readonly scanMax: number;
  /** Longer than a page takes. */
  readonly leaseMs: number;
  /** The pause between two pages. */
  readonly pageEveryMs: number;
  /** The longest pause while replays are running that cannot be taken yet, and that after a failure. */
  readonly pollMs: number;
  /** How long a replay waits for the index, for retries, or for an endpoint that takes nothing, before it looks again. */
  readonly waitMs: number;
  /** How long a replay waits for its endpoint to be enabled before it looks again. */
  readonly disabledRecheckMs: number;
  readonly pruneEveryMs: number;
  /** The most ended replays that one statement deletes. */
  readonly pruneMax: number;
}

export interface ReplayDeps {
  readonly table: Pick<
    ReplayTable,
    'lease' | 'hasRunning' | 'backlog' | 'postpone' | 'cancel' | 'advance' | 'prune'
  >;
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly events: EventsQuery;
  /** The endpoint as it stands now, or null when it was deleted. */
  readonly endpointOf: (
    organizationId: string,
    endpointId: string,
  ) => Promise<WebhookEndpoint | null>;
  /** Deliveries of the endpoint were made due. */
  readonly notify: (endpointId: string) => void;
  readonly now: () => Date;
  /** Rung when a replay was requested. */
  readonly wakeUp: WakeUp;
  /** The retry window of an event. */
  readonly windowMsOf: (eventType: string) => number;
  /** How long an ended replay can be read. */
  readonly keptMs: number;
  /** @param about the replay, if the error concerns one */
  readonly logError: (
    error: unknown,
    what: string,
    about?: { readonly replayId: string; readonly endpointId: string },
  ) => void;
  readonly limits: ReplayLimits;
}

export class ReplayWorker {
  private readonly repeating: Repeating;
  /** Monotonic. */
  private prunedAtMs = -Infinity;
  /** Of replays whose endpoint has not taken half a page yet, by their ID: how long they wait, and until when (monotonic). */
  private readonly waits = new Map<string, { readonly ms: number; readonly endsAtMs: number }>();

  constructor(private readonly deps: ReplayDeps) {
    const { table, wakeUp, limits, logError } = deps;
    this.repeating = new Repeating({
      round: async () => {
        const hadWork = await this.step();
        await this.prune();
        if (hadWork) return limits.pageEveryMs;
        return (await table.hasRunning()) ? this.runningMs() : wakeUp.idleMs();
      },
      failed(error) {
        logError(error, 'a replay waits');
        return limits.pollMs;
      },
      bell: wakeUp.bell,
    });
  }

  start(): void {
    this.repeating.start();
  }

  /** Resolves when the current page is written. */
  async stop(): Promise<void> {
    await this.repeating.stop();
  }

  /** One page of the replay whose turn it is. @returns whether any replay is running here */
  private async step(): Promise<boolean> {
    const { table, limits, now } = this.deps;
    const replay = await table.lease(now(), this.fromNow(limits.leaseMs));
    if (replay === null) return false;
    // The lease is returned after a failure too. If that fails, the lease ends by itself.
    const waitMs = await this.goOn(replay).catch((error: unknown) => {
      const { id: replayId, endpointId } = replay;
      this.deps.logError(error, 'a page of a replay could not be sent yet', {
        replayId,
        endpointId,
      });
      return limits.waitMs;
    });
    if (waitMs !== null) await table.postpone(replay, this.fromNow(waitMs));
    return true;
  }

  /** @returns how long the replay must wait. Null when it continued or has ended */
  private async goOn(replay: ReplayRecord): Promise<number | null> {
    const { table, store, pool, endpointOf, limits, now } = this.deps;
    const endpoint = await endpointOf(replay.organizationId, replay.endpointId);
    if (endpoint === null) {
      await table.cancel(replay, now());
      return null;
    }
    if (!endpoint.enabled) return limits.disabledRecheckMs;
    const isIndexed = await hasReached({ pool, store }, 'events', replay.throughPosition);
    if (!isIndexed) return limits.waitMs;
    const max = { due: limits.dueMax, waiting: limits.waitingMax };
    const { due, waiting } = await table.backlog(replay.endpointId, now(), max);
    if (waiting >= limits.waitingMax) return limits.waitMs;
    // A transaction is worth it from half a page on.
    if (due * 2 > limits.dueMax) return this.nextWait(replay);
    this.waits.delete(replay.id);

    const page = await this.pageOf(replay, limits.dueMax - due);
    await table.advance(replay, page, now());
    if (page.deliveries.length > 0) this.deps.notify(replay.endpointId);
    return null;
  }

  /**
   * Twice as long each time: an endpoint that hangs or fails may take hours for half a page. A fast one does not notice,
   * because it has the other half meanwhile.
   */
  private nextWait({ id }: ReplayRecord): number {
    const { pageEveryMs, waitMs, leaseMs } = this.deps.limits;
    const nowMs = performance.now();
    // Those that another dispatcher has since, or that have ended.
    for (const [waiting, { endsAtMs }] of this.waits)
      if (nowMs - endsAtMs > leaseMs) this.waits.delete(waiting);
    const former = this.waits.get(id);
    const ms = former === undefined ? pageEveryMs : Math.min(2 * former.ms, waitMs);
    this.waits.set(id, { ms, endsAtMs: nowMs + ms });
    return ms;
  }

  /** Until the first of these replays goes on, or another one that is running may be taken. */
  private runningMs(): number {
    const { pollMs } = this.deps.limits;
    const nowMs = performance.now();
    let ms = pollMs;
    for (const { endsAtMs } of this.waits.values())
      if (endsAtMs > nowMs) ms = Math.min(ms, Math.ceil(endsAtMs - nowMs) + 1);
    return ms;
  }

  private async pageOf(replay: ReplayRecord, room: number): Promise<ReplayPage> {
    const { events, store, pool, limits } = this.deps;
    const { organizationId, fromAt, toAt, eventTypes, nextPosition } = replay;
    const after = placeOf(nextPosition);
    const range = { from: fromAt.toISOString(), to: toAt.toISOString(), after };
    const refs = await events.between(organizationId, range, limits.scanMax);
    const wanted = refs.filter(({ eventType }) => eventTypes?.includes(eventType) ?? true);
    const taken = wanted.slice(0, room);
    const isWhole = taken.length === wanted.length;
    const last = isWhole ? refs.at(-1) : taken.at(-1);
    const envelopes = await pastWebhookEvents(store, pool, taken);
    return {
      deliveries: envelopes.map((event) => this.deliveryOf(replay, event)),
      nextPosition: last === undefined ? nextPosition : textOf(last),
      isLast: isWhole && refs.length < limits.scanMax,
      notBefore: this.fromNow(limits.pageEveryMs),
    };
  }

  private deliveryOf(
    { organizationId, endpointId }: ReplayRecord,
    event: WebhookIntegrationEvent,
  ): RevivedDelivery {
    const { eventId, eventType } = event;
    return {
      id: deliveryIdOf(eventId, endpointId),
      organizationId,
      endpointId,
      eventId,
      eventType,
      paymentId: paymentIdIn(event),
      occurredAt: new Date(event.occurredAt),
      body: JSON.stringify(paymentEnvelope(event)),
      windowEndsAt: this.fromNow(this.deps.windowMsOf(eventType)),
    };
  }

  private async prune(): Promise<void> {
    const { table, keptMs, limits } = this.deps;
    const nowMs = performance.now();
    if (nowMs - this.prunedAtMs < limits.pruneEveryMs) return;
    const pruned = await table.prune(this.fromNow(-keptMs), limits.pruneMax);
    // There may be more, for the next round.
    if (pruned < limits.pruneMax) this.prunedAtMs = nowMs;
  }

  private fromNow(ms: number): Date {
    return new Date(this.deps.now().getTime() + ms);
  }
}

function textOf({ occurredAt, position }: IndexedEventRef): string {
  return `${occurredAt}/${position}`;
}

function placeOf(text: string): TimePlace | null {
  const [occurredAt = '', position = ''] = text.split('/');
  return occurredAt === '' ? null : { occurredAt, position };
}
