/**
 * The index of integration events: one row per event with its organization and its position in the log. The
 * content is not stored here. It is computed from the stream, as for the broker.
 *
 * Rows are only added, in the order of the log and page by page, so that a reader who has seen a
 * position never misses one before it, except what an older release has passed over (passed-over.ts).
 */
import {
  type Category,
  isTransition,
  payment,
  type PaymentEvent,
  paymentEventTypeOf,
  statement,
  type StatementEvent,
  statusAfter,
  streamNameOf,
  streamPrefixOf,
} from '@pis/domain';
import { domainEventOf, type RecordedEvent, UnreadableEvent } from '@pis/event-store';
import { textArray, uuidArray } from '@pis/postgres';
import type pg from 'pg';
import { laterPrefixesOf, prefixesFollowedBy } from './projected-streams.js';
import {
  asUnreadable,
  insertName,
  type Projection,
  ProjectionBroken,
  type ReadTable,
  restOfLists,
  skippedEventType,
  unlessThere,
  UnreadableStreams,
  uuidForm,
} from './projection.js';

const paymentPrefix = streamPrefixOf('payment');

interface IndexedEvent {
  readonly recorded: RecordedEvent;
  readonly organizationId: string;
  readonly eventType: string;
}

const integrationEventsTable: ReadTable = {
  name: 'integration_events',
  async write(client, target, events, areNew = false) {
    const known = events.filter(({ streamId }) => readerOf(streamId) !== null);
    if (known.length === 0) return;
    await insert(client, target, await indexed(client, target, known), areNew);
  },
};

/** The first event of a stream names the organization; it is in this page or in the table. */
async function indexed(
  client: pg.ClientBase,
  target: string,
  events: readonly RecordedEvent[],
): Promise<readonly IndexedEvent[]> {
  const read = readable(events.filter(({ type }) => type !== skippedEventType));
  const owners = new Map<string, string>();
  for (const { recorded, owner } of read) if (owner !== null) owners.set(recorded.streamId, owner);
  const missing = new Set(
    read.map(({ recorded }) => recorded.streamId).filter((streamId) => !owners.has(streamId)),
  );
  for (const [streamId, owner] of await loadOwners(client, target, [...missing]))
    owners.set(streamId, owner);

  return read.map(({ recorded, eventType }) => {
    const organizationId = owners.get(recorded.streamId);
    if (organizationId === undefined)
      throw new ProjectionBroken(recorded, 'the index lacks the beginning of its stream');
    return { recorded, organizationId, eventType };
  });
}

interface ReadEvent {
  readonly recorded: RecordedEvent;
  /** Of a stream's first event. */
  readonly owner: string | null;
  readonly eventType: string;
}

/** What the index says of an event. Null for one that is not public. */
type Reader = (recorded: RecordedEvent) => Omit<ReadEvent, 'recorded'> | null;

const readers = {
  payment(recorded) {
    const event = domainEventOf<PaymentEvent>(payment, recorded);
    const owner = recorded.revision === 0 ? ownerIn(recorded, event) : null;
    // A note is no public event.
    if (!isTransition(event)) return null;
    return { owner, eventType: paymentEventTypeOf(statusAfter[event.type]) };
  },
  statement(recorded) {
    const event = domainEventOf<StatementEvent>(statement, recorded);
    return { owner: event.data.organizationId, eventType: 'statement.generated' };
  },
} as const satisfies Partial<Record<Category, Reader>>;

/** Null for streams without webhooks. */
function readerOf(streamId: string): Reader | null {
  const category = streamNameOf(streamId)?.category;
  return category === 'payment' || category === 'statement' ? readers[category] : null;
}

function idIn(streamId: string): string {
  return streamNameOf(streamId)?.id ?? '';
}

/** @throws UnreadableStreams */
function readable(events: readonly RecordedEvent[]): readonly ReadEvent[] {
  const unreadable = new Map<string, UnreadableEvent>();
  const read = events.flatMap((recorded): ReadEvent[] => {
    if (unreadable.has(recorded.streamId)) return [];
    try {
      const event = readerOf(recorded.streamId)?.(recorded) ?? null;
      if (!uuidForm.test(idIn(recorded.streamId)))
        throw new UnreadableEvent(recorded, 'the name of its stream has no UUID');
      return event === null ? [] : [{ recorded, ...event }];
    } catch (cause) {
      unreadable.set(recorded.streamId, asUnreadable(recorded, cause));
      return [];
    }
  });
  if (unreadable.size > 0) throw new UnreadableStreams([...unreadable.values()]);
  return read;
}

function ownerIn(recorded: RecordedEvent, event: PaymentEvent): string {
  if (event.type === 'PaymentQueued' || event.type === 'PaymentAwaitingConfirmation')
    return event.data.organizationId;
  throw new UnreadableEvent(recorded, 'a payment cannot begin with this event');
}

async function loadOwners(
  client: pg.ClientBase,
  target: string,
  streamIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (streamIds.length === 0) return new Map();
  const { rows } = await client.query<{ stream_id: string; organization_id: string }>({
    name: `${target}.owners`,
    text: `SELECT stream_id, organization_id FROM ${target}
      WHERE stream_id = ANY($1::text[]) AND revision = 0`,
    values: [textArray(streamIds)],
  });
  return new Map(rows.map((row) => [row.stream_id, row.organization_id]));
}

/** An existing event stays unchanged: a rebuild may read a page twice. */
async function insert(
  client: pg.ClientBase,
  target: string,
  events: readonly IndexedEvent[],
  areNew: boolean,
): Promise<void> {
  await client.query({
    name: insertName(target, areNew),
    text: `INSERT INTO ${target} (organization_id, position, event_id, event_type, stream_id, revision,
        payment_id, occurred_at)
      SELECT unnest($1::uuid[]), unnest($2::text[]), unnest($3::uuid[]), unnest($4::text[]),
        unnest($5::text[]), unnest($6::integer[]), unnest($7::uuid[]),
        unnest($8::timestamptz[])
      ${unlessThere(areNew, 'organization_id, position')}`,
    values: [
      uuidArray(events.map(({ organizationId }) => organizationId)),
      textArray(events.map(({ recorded }) => recorded.position)),
      uuidArray(events.map(({ recorded }) => recorded.id)),
      textArray(events.map(({ eventType }) => eventType)),
      textArray(events.map(({ recorded }) => recorded.streamId)),
      textArray(events.map(({ recorded }) => recorded.revision)),
      uuidArray(
        events.map(({ recorded: { streamId } }) =>
          streamId.startsWith(paymentPrefix) ? idIn(streamId) : null,
        ),
      ),
      textArray(events.map(({ recorded }) => recorded.metadata.at)),
    ],
  });
}

export const eventsProjection: Projection = {
  name: 'events',
  streamPrefixes: prefixesFollowedBy('events'),
  laterPrefixes: laterPrefixesOf('events'),
  tables: [integrationEventsTable],
  ...restOfLists,
};
