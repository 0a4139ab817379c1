/** Use cases over the event store, for every app that writes. No HTTP: a refusal is a value. */
export * from './demo-organization.js';
export * from './operator-actions.js';
export * from './payment-creation.js';
export * from './payment-id.js';
export * from './payment-stream.js';
export * from './provisioning.js';
export type { InvalidRequest, OwnWrites, UseCaseOptions } from './use-case.js';
