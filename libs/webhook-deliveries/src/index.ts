/** The tables of webhook deliveries: what is pending, what was finished, attempts, replays, failing endpoints. */
export * from './delivery.js';
export * from './delivery-table.js';
export type { StatementName } from './delivery-statements.js';
export * from './delivery-log.js';
export * from './delivery-pages.js';
export * from './delivery-views.js';
export * from './event-deliveries.js';
export * from './delivery-revival.js';
export * from './recent-outcomes.js';
export * from './replay-requests.js';
export * from './endpoint-failures.js';
export * from './endpoint-health.js';
export * from './backlog.js';
export * from './replay-table.js';
export {
  fanOutsKnownSince,
  type PartitionLimits,
  Partitions,
  type PartitionsOptions,
} from './partitions.js';
export * from './body-audit.js';
export * from './body-erasure.js';
export * from './body-hashes.js';
