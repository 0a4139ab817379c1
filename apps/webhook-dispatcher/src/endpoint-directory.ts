/**
 * The webhook endpoints of organizations, folded from their streams: as they stood when an event
 * happened, for the fan-out, and as they stand now, for an attempt.
 */
import {
  subscribes,
  type EventType,
  type WebhookEndpoint,
  webhookEndpoints,
  type WebhookEndpointsState,
} from '@pis/domain';
import { type EventStore, type RecordedEvent, repository } from '@pis/event-store';

export interface EndpointDirectoryOptions {
  /**
   * How old the endpoint of an attempt may be: for so long after a change an attempt may still go to
   * the old address, or to an endpoint just disabled.
   */
  readonly freshForMs: number;
  /** Organizations kept in memory, at most. */
  readonly organizationsMax: number;
}

interface Snapshot {
  readonly state: WebhookEndpointsState;
  /** Of its last event; '' for an organization without endpoints. */
  readonly position: string;
  readonly count: number;
}

interface Reading {
  /** Monotonic, when the read began: nothing older than that is missing from it. */
  readonly beganAtMs: number;
  readonly snapshot: Promise<Snapshot>;
}

const none: Snapshot = { state: webhookEndpoints.initial, position: '', count: 0 };

export class EndpointDirectory {
  private readonly repository;
  /** The last reading of each organization, the one not used for longest first. */
  private readonly readings = new Map<string, Reading>();

  constructor(
    private readonly store: EventStore,
    private readonly options: EndpointDirectoryOptions,
  ) {
    this.repository = repository(store, webhookEndpoints);
  }

  /**
   * The endpoints that an event goes to: enabled and subscribed at its position. Always reads anew:
   * a cache would lose the first event of an endpoint created just before.
   * @throws StoreUnavailable
   */
  async receiversOf(
    organizationId: string,
    eventType: EventType,
    position: string,
  ): Promise<readonly WebhookEndpoint[]> {
    const { events, snapshot } = await this.read(organizationId);
    const { state } =
      snapshot.position < position
        ? snapshot
        : this.repository.fold(events.filter((event) => event.position < position));
    return state.endpoints.filter(
      (endpoint) => endpoint.enabled && subscribes(endpoint.subscribedEvents, eventType),
    );
  }

  /** The endpoint as it stands now (see freshForMs), or null when it was deleted. @throws StoreUnavailable */
  async current(organizationId: string, endpointId: string): Promise<WebhookEndpoint | null> {
    const cached = this.readings.get(organizationId);
    const isFresh =
      cached !== undefined && performance.now() - cached.beganAtMs < this.options.freshForMs;
    const { state } = isFresh ? await cached.snapshot : (await this.read(organizationId)).snapshot;
    return state.endpoints.find((endpoint) => endpoint.endpointId === endpointId) ?? null;
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
