/**
 * The webhook endpoints of organizations, folded from their streams: as they stood when an event
 * happened, for the fan-out, and as they stand now, for an attempt.
 *
 * What always holds: what is remembered of an organization lacks no event up to `followedTo`. For a
 * reading is remembered from its begin, forgotten when the log tells of an event of its stream, and
 * what is read after that has the event.
 */
import {
  subscribes,
  type EventType,
  type WebhookEndpoint,
  webhookEndpoints,
  type WebhookEndpointsEvent,
  type WebhookEndpointsState,
} from '@pis/domain';
import { type EventStore, type Position, type RecordedEvent, repository } from '@pis/event-store';
import { pause } from './wake-up.js';

export interface EndpointDirectoryOptions {
  /**
   * How old the endpoint of an attempt may be: for so long after a change an attempt may still go to
   * the old address, or to an endpoint just disabled.
   */
  readonly freshForMs: number;
  /** Organizations kept in memory, at most. */
  readonly organizationsMax: number;
  /** How soon the log is followed again after a failure. */
  readonly followAgainMs: number;
  /** Told while the log is followed. */
  readonly onDeleted: (endpointId: string) => void;
  readonly logError: (error: unknown, what: string) => void;
}

interface Snapshot {
  readonly state: WebhookEndpointsState;
  /** Of its last event; '' for an organization without endpoints. */
  readonly position: Position;
  readonly count: number;
}

interface Reading {
  /** Monotonic, when the read began: nothing older than that is missing from it. */
  readonly beganAtMs: number;
  readonly snapshot: Promise<Snapshot>;
}

const deleted: WebhookEndpointsEvent['type'] = 'WebhookEndpointDeleted';
const none: Snapshot = { state: webhookEndpoints.initial, position: '', count: 0 };

export class EndpointDirectory {
  private readonly repository;
  /** The last reading of each organization, the one not used for longest first. */
  private readonly readings = new Map<string, Reading>();
  /** How far the log has been followed; null while it is not. */
  private followedTo: Position | null = null;
  private readonly stopping = new AbortController();
  private following: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: EventStore,
    private readonly options: EndpointDirectoryOptions,
  ) {
    this.repository = repository(store, webhookEndpoints);
  }

  /** Follows the log, so that not every event costs a read. */
  start(): void {
    this.following = this.follow();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.following;
  }

  /**
   * The endpoints that an event goes to: enabled and subscribed at its position. Reads anew unless the
   * log has been followed up to the event: else the first event of an endpoint created just before
   * would be lost.
   * @throws StoreUnavailable
   */
  async receiversOf(
    organizationId: string,
    eventType: EventType,
    position: Position,
  ): Promise<readonly WebhookEndpoint[]> {
    const state =
      (await this.rememberedAt(organizationId, position)) ??
      (await this.readAt(organizationId, position));
    return state.endpoints.filter(
      (endpoint) => endpoint.enabled && subscribes(endpoint.subscribedEvents, eventType),
    );
  }

  /** Null when it is not known for sure, or is of later. */
  private async rememberedAt(
    organizationId: string,
    position: Position,
  ): Promise<WebhookEndpointsState | null> {
    if (this.followedTo === null || this.followedTo < position) return null;
    const snapshot = await this.readings.get(organizationId)?.snapshot.catch(() => null);
    return snapshot && snapshot.position < position ? snapshot.state : null;
  }

  private async readAt(organizationId: string, position: Position): Promise<WebhookEndpointsState> {
    const { events, snapshot } = await this.read(organizationId);
    return snapshot.position < position
      ? snapshot.state
      : this.repository.fold(events.filter((event) => event.position < position)).state;
  }

  /** The endpoint as it stands now (see freshForMs), or null when it was deleted. @throws StoreUnavailable */
  async current(organizationId: string, endpointId: string): Promise<WebhookEndpoint | null> {
    const cached = this.readings.get(organizationId);
    const isFresh =
      cached !== undefined && performance.now() - cached.beganAtMs < this.options.freshForMs;
    const { state } = isFresh ? await cached.snapshot : (await this.read(organizationId)).snapshot;
    return state.endpoints.find((endpoint) => endpoint.endpointId === endpointId) ?? null;
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
      this.followedTo = null;
      await pause(followAgainMs, signal);
    }
  }

  private async followOn(signal: AbortSignal): Promise<void> {
    const after = await this.store.lastPosition();
    // What was read until now may lack what came before this position, and will not be told of it.
    this.readings.clear();
    this.followedTo = after;
    const streamPrefix = this.repository.streamIdOf('');
    const pages = this.store.subscribe({ after, streamPrefixes: [streamPrefix], signal });
    for await (const { events, position } of pages) {
      for (const { streamId, type, data } of events) {
        this.readings.delete(streamId.slice(streamPrefix.length));
        const { endpointId } = data;
        if (type === deleted && typeof endpointId === 'string') this.options.onDeleted(endpointId);
      }
      this.followedTo = position;
    }
  }

  private async read(
    organizationId: string,
  ): Promise<{ events: readonly RecordedEvent[]; snapshot: Snapshot }> {
    const before = this.readings.get(organizationId)?.snapshot.catch(() => none) ?? none;
    const beganAtMs = performance.now();
    const reading = this.store.readStream(this.repository.streamIdOf(organizationId));
    const snapshot = Promise.all([reading, before]).then(([events, known]) =>
      this.snapshotOf(events, known),
    );
    this.remember(organizationId, { beganAtMs, snapshot });
    try {
      const [events, folded] = await Promise.all([reading, snapshot]);
      return { events, snapshot: folded };
    } catch (error) {
      if (this.readings.get(organizationId)?.snapshot === snapshot)
        this.readings.delete(organizationId);
      throw error;
    }
  }

  /** Streams only grow: the same length is the same state, and need not be folded again. */
  private snapshotOf(events: readonly RecordedEvent[], known: Snapshot): Snapshot {
    if (events.length === known.count) return known;
    const { state, lastEvent } = this.repository.fold(events);
    return { state, position: lastEvent?.position ?? '', count: events.length };
  }

  private remember(organizationId: string, reading: Reading): void {
    this.readings.delete(organizationId);
    this.readings.set(organizationId, reading);
    const [oldest] = this.readings.keys();
    if (this.readings.size > this.options.organizationsMax && oldest !== undefined)
      this.readings.delete(oldest);
  }
}
