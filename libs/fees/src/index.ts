/** Fees of a month: closing and collecting them. */
export * from './fee-collection.js';
export { feePeriodIdOf } from './fee-ids.js';
export * from './reopened-period.js';
export * from './unrecorded-collections.js';
