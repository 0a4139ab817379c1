/** The parties and payments of a statement, as they were when its period ended. */
import {
  type Organization,
  organization,
  type Originator,
  originator,
  type Payment,
  payment,
  streamIdOf,
} from '@pis/domain';
import {
  type EventStore,
  foldOf,
  type Position,
  type RecordedEvent,
  streamPageMax,
} from '@pis/event-store';

/** The first instant after the period, and the position up to which the log counts. */
export interface Moment {
  readonly before: Date;
  readonly through: Position;
}

/** The events of a stream that count, oldest first. */
function untilThen(
  events: readonly RecordedEvent[],
  { before, through }: Moment,
): readonly RecordedEvent[] {
  const last = events.findLastIndex(
    ({ position, metadata }) => position <= through && new Date(metadata.at) < before,
  );
  return events.slice(0, last + 1);
}

/** A collection has the events of a payment. */
const foldPayment = foldOf(payment);

/**
 * Payments and collections by the names of their streams, in one read.
 * @throws Error when one had no event then
 */
export async function pastPayments(
  store: EventStore,
  streamIds: readonly string[],
  moment: Moment,
): Promise<ReadonlyMap<string, Payment>> {
  const unique = [...new Set(streamIds)];
  const streams = await store.readStreams(unique);
  return new Map(
    streams.map((events, index) => {
      const streamId = unique[index] ?? '';
      const { state } = foldPayment(untilThen(events, moment));
      if (state === null) throw new Error(`${streamId} had no event when the period ended`);
      return [streamId, state];
    }),
  );
}

export interface PastOrganization {
  readonly state: Organization;
  /** PNG. */
  readonly logo: Uint8Array | null;
}

/** Null when it did not exist up to that position. */
export async function pastOrganization(
  store: EventStore,
  organizationId: string,
  through: Position,
): Promise<PastOrganization | null> {
  const fold = foldOf(organization);
  let loaded = fold([]);
  let logo: string | null = null;
  for await (const events of pagesOf(store, streamIdOf('organization', organizationId), through)) {
    loaded = fold(events, loaded);
    for (const event of events) logo = logoAfter(event, logo);
  }
  const { state } = loaded;
  return state && { state, logo: logo === null ? null : Buffer.from(logo, 'base64') };
}

/** The state of an organization is kept in memory, so it lacks the bytes of the logo. */
function logoAfter({ type, data }: RecordedEvent, before: string | null): string | null {
  if (type !== 'OrganizationBrandingSet') return before;
  const { logo } = data as { readonly logo?: { readonly png: string } | null };
  return logo === undefined ? before : (logo?.png ?? null);
}

/** Null when it did not exist up to that position. */
export async function pastOriginator(
  store: EventStore,
  originatorId: string,
  through: Position,
): Promise<Originator | null> {
  const fold = foldOf(originator);
  let loaded = fold([]);
  for await (const events of pagesOf(store, streamIdOf('originator', originatorId), through))
    loaded = fold(events, loaded);
  return loaded.state;
}

async function* pagesOf(
  store: EventStore,
  streamId: string,
  through: Position,
): AsyncGenerator<readonly RecordedEvent[]> {
  for (let from = 0; ; ) {
    const page = await store.readStream(streamId, { from, maxCount: streamPageMax });
    const counted = page.filter(({ position }) => position <= through);
    if (counted.length > 0) yield counted;
    if (counted.length < streamPageMax) return;
    from += page.length;
  }
}
