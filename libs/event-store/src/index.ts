/** The event store: the port, its adapters, and the repository that decides and appends through it. */
export * from './port.js';
export * from './anchor.js';
export { appendEventsMax } from './proposed-append.js';
export * from './command-context.js';
export * from './conflicts.js';
export * from './event-hash.js';
export * from './memory/memory-event-store.js';
export * from './postgres/postgres-event-store.js';
export * from './readable.js';
export * from './repository.js';
export * from './stream-states.js';
export * from './eventstoredb/connection-string.js';
export { namespaceDefault, namespaceForm } from './eventstoredb/namespace.js';
export { unreadableSchemaVersion } from './eventstoredb/unreadable.js';
export * from './eventstoredb/eventstoredb-event-store.js';
export * from './eventstoredb/set-up.js';
export * from './kurrent/kurrent-event-store.js';
export * from './time-limit.js';
