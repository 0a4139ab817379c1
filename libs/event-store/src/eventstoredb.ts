/** EventStoreDB through its official client, and the checks that an operator makes before using it. */
export * from './eventstoredb/eventstoredb-event-store.js';
export * from './eventstoredb/set-up.js';
