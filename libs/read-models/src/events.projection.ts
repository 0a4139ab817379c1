/**
 * The index of integration events: one row an event, whose organization it is and where it stands in
 * the log. What it said is not here: it is computed from the stream, as it was for the broker.
 *
 * Rows are only added, in the order of the log and page by page, so that a reader who has seen a
 * position never misses one before it.
 */
import { payment, type PaymentEvent, paymentEventTypeOf, statusAfter } from '@pis/domain';
import { domainEventOf, type RecordedEvent } from '@pis/event-store';
import type pg from 'pg';
import { type Projection, ProjectionBroken, type ReadTable } from './projection.js';

const streamPrefix = `${payment.category}-`;

interface IndexedEvent {
  readonly recorded: RecordedEvent;
  readonly organizationId: string;
  readonly eventType: string;
}

const integrationEventsTable: ReadTable = {
  name: 'integration_events',
  async write(client, target, events) {
    const ofPayments = events.filter(({ streamId }) => streamId.startsWith(streamPrefix));
    if (ofPayments.length === 0) return;
    await insert(client, target, await indexed(client, target, ofPayments));
  },
};

/** The first event of a stream names the organization; it is in this page or in the table. */
async function indexed(
  client: pg.ClientBase,
  target: string,
  events: readonly RecordedEvent[],
): Promise<readonly IndexedEvent[]> {
  const domainEvents = events.map((recorded) => ({ recorded, event: known(recorded) }));
  const owners = new Map<string, string>();
  for (const { recorded, event } of domainEvents)
    if (recorded.revision === 0) owners.set(recorded.streamId, ownerIn(recorded, event));
  const missing = new Set(
    events.map(({ streamId }) => streamId).filter((streamId) => !owners.has(streamId)),
  );
  for (const [streamId, owner] of await loadOwners(client, target, [...missing]))
    owners.set(streamId, owner);

  return domainEvents.map(({ recorded, event }) => {
    const organizationId = owners.get(recorded.streamId);
    if (organizationId === undefined) throw broken(recorded, 'its stream has no beginning here');
    return { recorded, organizationId, eventType: paymentEventTypeOf(statusAfter[event.type]) };
  });
}

function known(recorded: RecordedEvent): PaymentEvent {
  try {
    return domainEventOf<PaymentEvent>(payment, recorded);
  } catch (cause) {
    throw broken(recorded, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function ownerIn(recorded: RecordedEvent, event: PaymentEvent): string {
  if (event.type === 'PaymentQueued' || event.type === 'PaymentAwaitingConfirmation')
    return event.data.organizationId;
  throw broken(recorded, 'a payment cannot begin with it');
}

function broken(
  { streamId, position, type }: RecordedEvent,
  reason: string,
  cause?: unknown,
): ProjectionBroken {
  return new ProjectionBroken(streamId, position, `${type}: ${reason}`, { cause });
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
    values: [streamIds],
  });
  return new Map(rows.map((row) => [row.stream_id, row.organization_id]));
}

/** An event that is there already is left: a rebuild may read a page twice. */
async function insert(
  client: pg.ClientBase,
  target: string,
  events: readonly IndexedEvent[],
): Promise<void> {
  await client.query({
    name: `${target}.insert`,
    text: `INSERT INTO ${target} (organization_id, position, event_id, event_type, stream_id, revision,
        payment_id, occurred_at)
      SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::integer[],
        $7::uuid[], $8::timestamptz[])
      ON CONFLICT (organization_id, position) DO NOTHING`,
    values: [
      events.map(({ organizationId }) => organizationId),
      events.map(({ recorded }) => recorded.position),
      events.map(({ recorded }) => recorded.id),
      events.map(({ eventType }) => eventType),
      events.map(({ recorded }) => recorded.streamId),
      events.map(({ recorded }) => recorded.revision),
      events.map(({ recorded }) => recorded.streamId.slice(streamPrefix.length)),
      events.map(({ recorded }) => recorded.metadata.at),
    ],
  });
}

export const eventsProjection: Projection = {
  name: 'events',
  streamPrefixes: [streamPrefix],
  tables: [integrationEventsTable],
};
