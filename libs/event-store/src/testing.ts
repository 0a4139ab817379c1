/** Test helpers of the event store: the suite that every adapter passes, and a stand-in server for one of them. */
// Both clients register their messages under the same global names, and the last one wins. The stand-in can
// only send those of the official client, so the other one must not be loaded after it in the same process.
import '@kurrent/kurrentdb-client';
export * from './testing/eventstoredb-stand-in.js';
export * from './testing/event-store-conformance.js';
export * from './testing/cluster-faults.js';
export * from './testing/server-faults.js';
export * from './testing/counting-store.js';
export * from './testing/memory-sealing.js';
export * from './testing/short-sighted-store.js';
export * from './testing/small-partitions.js';
export * from './testing/lost-events.js';
