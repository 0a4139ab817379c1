/**
 * The webhook endpoints of one organization at any position of the log. Some states are remembered as
 * points. States between two points are read in pages and remembered too. So events that are handled in
 * the order of the log read each change of endpoints about once.
 */
import type { WebhookEndpointsState } from '@pis/domain';
import type { EventStore, Loaded, Position, RecordedEvent } from '@pis/event-store';

/** The state from an event on, up to the next event of the stream. */
export interface Point {
  readonly state: WebhookEndpointsState;
  /** Of the event. '' and -1 before the first event. */
  readonly position: Position;
  readonly revision: number;
  readonly eventId: string | null;
}

export interface TimelineSource {
  readonly store: EventStore;
  readonly streamId: string;
  fold(
    events: readonly RecordedEvent[],
    onto?: Loaded<WebhookEndpointsState>,
  ): Loaded<WebhookEndpointsState>;
}

/** Events in one page. */
const pageMax = 200;
const pointsMax = 400;
const pointsMin = 8;
/** Each point lists all endpoints. The more endpoints, the fewer points. */
const endpointsInPointsMax = 20_000;

export function pointOf({ state, lastEvent }: Loaded<WebhookEndpointsState>): Point {
  const { position, revision, id } = lastEvent ?? { position: '', revision: -1, id: null };
  return { state, position, revision, eventId: id };
}

export class EndpointTimeline {
  private readonly origin: Point;
  /** In the order of the stream. The first is always the origin. */
  private points: readonly Point[];

  constructor(private readonly source: TimelineSource) {
    this.origin = pointOf(source.fold([]));
    this.points = [this.origin];
  }

  add(point: Point): void {
    this.insert([point], point);
  }

  /** The state at a position, if the points before and after it are remembered. */
  known(position: Position): WebhookEndpointsState | null {
    const { before, after } = this.around(position);
    return after?.revision === before.revision + 1 ? before.state : null;
  }

  /** The state at a position that the stream has been read to. @throws StoreUnavailable, UnreadableEvent */
  async at(position: Position): Promise<WebhookEndpointsState> {
    for (;;) {
      const known = this.known(position);
      if (known !== null) return known;
      const { before } = this.around(position);
      const page = await this.pageAfter(before);
      // This is a different log than the remembered one.
      if (page === null) this.points = [this.origin];
      else if (page.length === 0) return before.state;
      else this.insertPage(before, page, position);
    }
  }

  private around(position: Position): {
    readonly before: Point;
    readonly after: Point | undefined;
  } {
    const index = this.points.findLastIndex((point) => point.position < position);
    return {
      before: this.points[index] ?? this.origin,
      after: this.points[Math.max(0, index) + 1],
    };
  }

  /** Null when the stream does not have the event of the point. */
  private async pageAfter({ revision, eventId }: Point): Promise<readonly RecordedEvent[] | null> {
    const { store, streamId } = this.source;
    const from = Math.max(0, revision);
    const page = await store.readStream(streamId, { from, maxCount: pageMax });
    if (eventId === null) return page;
    return page[0]?.id === eventId ? page.slice(1) : null;
  }

  private insertPage(before: Point, page: readonly RecordedEvent[], position: Position): void {
    const points: Point[] = [before];
    let state = before.state;
    for (const event of page) {
      state = this.source.fold([event], {
        state,
        revision: event.revision - 1,
        lastEvent: null,
      }).state;
      points.push({ state, position: event.position, revision: event.revision, eventId: event.id });
    }
    const wanted = points.findLast((point) => point.position < position) ?? before;
    this.insert(points, wanted);
  }

  /** Keeps of the new points those from `wanted` on, and thins out the rest when there are too many. */
  private insert(added: readonly Point[], wanted: Point): void {
    const endpoints = Math.max(1, wanted.state.endpoints.length);
    const max = Math.min(pointsMax, Math.max(pointsMin, endpointsInPointsMax / endpoints));
    const fresh = added.filter(({ revision }) => revision >= wanted.revision).slice(0, max / 2);
    const revisions = new Set(fresh.map(({ revision }) => revision));
    let others = this.points.filter(({ revision }) => !revisions.has(revision));
    while (others.length + fresh.length > max)
      others = others.filter((point, index) => index % 2 === 0 || point === this.points.at(-1));
    const all = [...others, ...fresh].toSorted((one, other) => one.revision - other.revision);
    this.points = all[0]?.revision === this.origin.revision ? all : [this.origin, ...all];
  }
}
