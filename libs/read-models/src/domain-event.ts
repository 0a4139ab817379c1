/** A recorded event as its aggregate knows it, brought to the current schema version. */
import type { RecordedEvent } from '@pis/event-store';

/** The parts of an Aggregate that say which events it has. */
interface Evolving<Event> {
  evolve(state: never, event: Event): unknown;
  readonly schemaVersions: Readonly<Record<string, number>>;
  readonly upcast?: (type: never, schemaVersion: number, data: unknown) => unknown;
}

/** @throws an event of a type or schema version that this build does not know: a newer one wrote it */
export function domainEventOf<Event>(
  { schemaVersions, upcast }: Evolving<Event>,
  { type, data, metadata }: RecordedEvent,
): Event {
  const current = Object.hasOwn(schemaVersions, type) ? schemaVersions[type] : undefined;
  if (current === undefined) throw new Error('unknown type of event');
  if (metadata.schemaVersion > current)
    throw new Error(`schema version ${metadata.schemaVersion}, this build knows ${current}`);
  const upToDate =
    metadata.schemaVersion < current && upcast
      ? upcast(type as never, metadata.schemaVersion, data)
      : data;
  return { type, at: metadata.at, data: upToDate } as Event;
}
