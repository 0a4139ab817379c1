/** Use cases over the event store, for every app that writes. No HTTP: a refusal is a value. */
export * from './demo-organization.js';
export * from './operator-actions.js';
export * from './payment-stream.js';
export * from './provisioning.js';
