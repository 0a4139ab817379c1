/**
 * The event store: the port, its adapters, and the repository that decides and appends through it. The
 * adapters for EventStoreDB have entries of their own, `@pis/event-store/eventstoredb` and
 * `@pis/event-store/kurrent`: a process that does not use them must not load their clients.
 */
export * from './port.js';
export * from './anchor.js';
export { eventsAsOf } from './as-of.js';
export * from './command-context.js';
export * from './conflicts.js';
export * from './event-count.js';
export * from './event-hash.js';
export * from './memory/memory-event-store.js';
export { emptyLogPartitions, prepareLogPartitions } from './postgres/log-partitions.js';
export * from './postgres/postgres-event-store.js';
export * from './readable.js';
export * from './repository.js';
export * from './sealed-address.js';
export * from './sealed-store.js';
export * from './stream-states.js';
export * from './eventstoredb/connection-string.js';
export { namespaceDefault, namespaceForm } from './eventstoredb/namespace.js';
export * from './shared-log/shared-log.js';
export * from './time-limit.js';
