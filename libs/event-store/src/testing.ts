/** Test helpers of the event store: the suite every adapter passes, and a server for one of them. */
export * from './testing/eventstoredb-stand-in.js';
export * from './testing/event-store-conformance.js';
export * from './testing/cluster-faults.js';
export * from './testing/server-faults.js';
export * from './testing/counting-store.js';
