/**
 * The webhook endpoints of organizations, folded from their streams: as they stood when an event
 * happened, for the fan-out, and as they stand now, for an attempt.
 *
 * What always holds: a remembered reading of an organization lacks no event up to `followedTo`. A reading
 * is remembered when it begins, and forgotten when the log brings an event of its stream. A later reading
 * includes that event.
 *
 * So neither the fan-out of an event nor an attempt reads a stream, unless endpoints have changed or the
 * organization is new here. The whole log is followed, so an event that comes from a broker comes here as
 * soon. For attempts the log is asked where it ends, at most once in `freshForMs` for all organizations.
 *
 * A client can make its stream arbitrarily long. So no event costs a fold of the whole stream: the state
 * advances by the new events of the stream, and former states come from a timeline.
 */
import {
  subscribes,
  type EventType,
  type WebhookEndpoint,
  webhookEndpoints,
  type WebhookEndpointsEvent,
  type WebhookEndpointsState,
} from '@pis/domain';
import { endOf, type EventStore, type Position, repository, StreamStates } from '@pis/event-store';
import { EndpointTimeline, type Point, pointOf } from './endpoint-timeline.js';
import { Bell, pause } from '@pis/postgres';

export interface EndpointDirectoryOptions {
  /**
   * How old the endpoint of an attempt may be. For this long after a change an attempt may still go to the
   * old address, or to an endpoint that was just disabled.
   */
  readonly freshForMs: number;
  /** The most organizations kept in memory. */
  readonly organizationsMax: number;
  /** How soon the log is followed again after a failure. */
  readonly followAgainMs: number;
  /** How long the followed log may take to come to an event. After that the stream is read. */
  readonly followWaitMs: number;
  /** Called for each deletion, while the log is followed. */
  readonly onDeleted: (endpointId: string) => void;
  /** Called for each change that sets `enabled`, while the log is followed. `current` then knows the change. */
  readonly onEnabled: (endpointId: string) => void;
  readonly logError: (error: unknown, what: string) => void;
  /** Where states and snapshots of long streams are kept. Only in memory when absent. */
  readonly states?: StreamStates;
}

interface Reading {
  /** Monotonic time when the reading began. It lacks nothing older. */
  readonly beganAtMs: number;
  /** The state and the last event of the stream. */
  readonly snapshot: Promise<Point>;
}

const deleted: WebhookEndpointsEvent['type'] = 'WebhookEndpointDeleted';
const updated: WebhookEndpointsEvent['type'] = 'WebhookEndpointUpdated';

export class EndpointDirectory {
  private readonly repository;
  /** The last reading of each organization, the least recently used first. */
  private readonly readings = new Map<string, Reading>();
  /** Former states of each organization, in the same order. */
  private readonly timelines = new Map<string, EndpointTimeline>();
  /** How far the log has been followed. Null while it is not followed. */
  private followedTo: Position | null = null;
  /** Rings when `followedTo` has changed. */
  private readonly followed = new Bell();
  /** Whether the followed log was waited for in vain. Nobody waits for it then before it brings something. */
  private isLate = false;
  /** Monotonic time: what the log had then has been followed. */
  private followedSinceMs = -Infinity;
  private catchingUp: Promise<void> | null = null;
  private readonly stopping = new AbortController();
  private following: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: EventStore,
    private readonly options: EndpointDirectoryOptions,
  ) {
    const { states = new StreamStates() } = options;
    this.repository = repository(store, webhookEndpoints, { states });
  }

  /** Follows the log, so that an event costs a read only after a change. */
  start(): void {
    this.following = this.follow();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.following;
  }

  /**
   * The endpoints that an event goes to: those enabled and subscribed at its position. Uses a remembered
   * reading only if the log has been followed up to the event. Otherwise the first event of an endpoint
   * created just before it would be lost.
   * @throws StoreUnavailable
   */
  async receiversOf(
    organizationId: string,
    eventType: EventType,
    position: Position,
  ): Promise<readonly WebhookEndpoint[]> {
    const state =
      this.timelines.get(organizationId)?.known(position) ??
      (await this.rememberedAt(organizationId, position)) ??
      (await this.readAt(organizationId, position));
    return state.endpoints.filter(
      (endpoint) => endpoint.enabled && subscribes(endpoint.subscribedEvents, eventType),
    );
  }

  /** Null when the state at this position is not known for sure. */
  private async rememberedAt(
    organizationId: string,
    position: Position,
  ): Promise<WebhookEndpointsState | null> {
    if (!this.readings.has(organizationId) || !(await this.follows(position))) return null;
    const snapshot = await this.readings.get(organizationId)?.snapshot.catch(() => null);
    return snapshot && snapshot.position < position ? snapshot.state : null;
  }

  /** Whether the log has been followed up to this position. Waits for it, but not for long. */
  private async follows(position: Position): Promise<boolean> {
    const { signal } = this.stopping;
    const deadlineMs = performance.now() + this.options.followWaitMs;
    for (;;) {
      const { rung } = this.followed;
      if (this.followedTo === null || signal.aborted) return false;
      if (this.followedTo >= position) return true;
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) this.isLate = true;
      if (this.isLate) return false;
      await this.followed.wait(rung, leftMs, signal);
    }
  }

  private async readAt(organizationId: string, position: Position): Promise<WebhookEndpointsState> {
    const current = await this.read(organizationId);
    if (current.position < position) return current.state;
    return this.timelineOf(organizationId).at(position);
  }

  /** The endpoint as it is now (see freshForMs), or null when it was deleted. @throws StoreUnavailable */
  async current(organizationId: string, endpointId: string): Promise<WebhookEndpoint | null> {
    const freshSinceMs = performance.now() - this.options.freshForMs;
    if (this.readings.has(organizationId) && !this.isFresh(organizationId, freshSinceMs))
      await this.catchUp();
    const remembered = this.isFresh(organizationId, freshSinceMs)
      ? this.readings.get(organizationId)?.snapshot
      : undefined;
    const { state } = await (remembered ?? this.read(organizationId));
    return state.endpoints.find((endpoint) => endpoint.endpointId === endpointId) ?? null;
  }

  /** Whether the remembered reading lacks nothing that happened before this monotonic time. */
  private isFresh(organizationId: string, sinceMs: number): boolean {
    const reading = this.readings.get(organizationId);
    return reading !== undefined && Math.max(reading.beganAtMs, this.followedSinceMs) >= sinceMs;
  }

  /** Asks the log where it ends and waits until it is followed up to there. One at a time, for all. */
  private catchUp(): Promise<void> {
    this.catchingUp ??= this.followToEnd().finally(() => (this.catchingUp = null));
    return this.catchingUp;
  }

  private async followToEnd(): Promise<void> {
    if (this.followedTo === null || this.isLate) return;
    const beganAtMs = performance.now();
    const end = await this.store.lastPosition();
    if (await this.follows(end)) this.followedSinceMs = beganAtMs;
  }

  private async follow(): Promise<void> {
    const { followAgainMs, logError } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.followOn(signal);
      } catch (error) {
        if (!signal.aborted) logError(error, 'changes of endpoints are not followed');
      }
      this.followTo(null);
      await pause(followAgainMs, signal);
    }
  }

  private async followOn(signal: AbortSignal): Promise<void> {
    const end = await endOf(this.store);
    // Earlier readings may lack events before this position, and the subscription does not bring those.
    this.readings.clear();
    this.timelines.clear();
    this.followTo(end.after);
    const streamPrefix = this.repository.streamIdOf('');
    // All streams, though one kind is wanted. EventStoreDB tells how far a filtered subscription has come only
    // once for every 32 events that do not match. The last ones before a rest are never passed, and deliveries
    // of such events would wait for followWaitMs. A window of one event would cost a message for each event
    // all the same, and catching up would go event by event.
    const pages = this.store.subscribe({ ...end, signal });
    for await (const { events, position } of pages) {
      for (const { streamId, type, data } of events) {
        if (!streamId.startsWith(streamPrefix)) continue;
        this.readings.delete(streamId.slice(streamPrefix.length));
        const { endpointId, changes } = data;
        if (typeof endpointId !== 'string') continue;
        if (type === deleted) this.options.onDeleted(endpointId);
        if (type === updated && enables(changes)) this.options.onEnabled(endpointId);
      }
      this.followTo(position);
    }
  }

  private followTo(position: Position | null): void {
    this.followedTo = position;
    this.isLate = false;
    this.followed.ring();
  }

  private async read(organizationId: string): Promise<Point> {
    const beganAtMs = performance.now();
    const snapshot = this.repository.load(organizationId).then(pointOf);
    this.remember(organizationId, { beganAtMs, snapshot });
    try {
      const point = await snapshot;
      this.timelineOf(organizationId).add(point);
      return point;
    } catch (error) {
      if (this.readings.get(organizationId)?.snapshot === snapshot)
        this.readings.delete(organizationId);
      throw error;
    }
  }

  private timelineOf(organizationId: string): EndpointTimeline {
    const { fold, streamIdOf } = this.repository;
    const timeline =
      this.timelines.get(organizationId) ??
      new EndpointTimeline({ store: this.store, streamId: streamIdOf(organizationId), fold });
    this.keep(this.timelines, organizationId, timeline);
    return timeline;
  }

  private remember(organizationId: string, reading: Reading): void {
    this.keep(this.readings, organizationId, reading);
  }

  /** Evicts the least recently used entry beyond organizationsMax. */
  private keep<Value>(map: Map<string, Value>, organizationId: string, value: Value): void {
    map.delete(organizationId);
    map.set(organizationId, value);
    const [oldest] = map.keys();
    if (map.size > this.options.organizationsMax && oldest !== undefined) map.delete(oldest);
  }
}

function enables(changes: unknown): boolean {
  return (
    typeof changes === 'object' &&
    changes !== null &&
    'enabled' in changes &&
    changes.enabled === true
  );
}
