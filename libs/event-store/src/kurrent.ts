/** EventStoreDB through the successor of its client. */
export * from './kurrent/kurrent-event-store.js';
