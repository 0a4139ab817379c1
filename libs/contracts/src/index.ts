export * from './topics.js';
export * from './payment-view.js';
export * from './integration-events.js';
