/**
 * What this build can read: each event type of an aggregate, up to the schema version that it knows.
 *
 * What always holds: an event that a newer release wrote is refused, by every reader alike. A command
 * is never decided, and no view is computed, from a history that is understood only in part.
 */
import type { RecordedEvent } from './port.js';

/** The parts of an Aggregate that say which events it has. */
interface Evolving<Event> {
  evolve(state: never, event: Event): unknown;
  readonly schemaVersions: Readonly<Record<string, number>>;
  readonly upcast?: (type: never, schemaVersion: number, data: unknown) => unknown;
}

/** This build cannot read the event: a newer release or another system wrote it, or its data is malformed. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
  constructor(
    readonly event: RecordedEvent,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    const { position, streamId, type } = event;
    super(`event at ${position} of stream ${streamId}: ${type}: ${reason}`, options);
  }
}

/**
 * A recorded event as its aggregate knows it, brought to the current schema version.
 * @throws UnreadableEvent when the type is unknown, the schema version is newer than this build's, or its
 *   personal data was not opened
 */
export function domainEventOf<Event>(aggregate: Evolving<Event>, recorded: RecordedEvent): Event {
  const { schemaVersions, upcast } = aggregate;
  const { type, data, metadata } = recorded;
  const current = Object.hasOwn(schemaVersions, type) ? schemaVersions[type] : undefined;
  if (current === undefined) throw new UnreadableEvent(recorded, 'unknown type of event');
  const written: unknown = metadata?.schemaVersion;
  if (typeof written !== 'number')
    throw new UnreadableEvent(recorded, 'its metadata has no schema version');
  if (written > current)
    throw new UnreadableEvent(recorded, `schema version ${written}, this build knows ${current}`);
  if (recorded.unopened !== undefined) throw new UnreadableEvent(recorded, recorded.unopened);
  const upToDate = written < current && upcast ? upcast(type as never, written, data) : data;
  return { type, at: metadata.at, data: upToDate } as Event;
}
