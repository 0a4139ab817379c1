/** Test helpers of the event store: the suite that every adapter passes, and a stand-in server for one of them. */
export * from './testing/eventstoredb-stand-in.js';
export * from './testing/event-store-conformance.js';
export * from './testing/cluster-faults.js';
export * from './testing/server-faults.js';
export * from './testing/counting-store.js';
