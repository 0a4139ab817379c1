/** Read models: SQL migrations, projections and their runner, queries. */
export { orUnavailable } from './or-unavailable.js';
export * from './migrate.js';
export { type Projection, ProjectionBroken, type ReadTable } from './projection.js';
export { paymentsProjection } from './payments.projection.js';
export { directoryProjection } from './directory.projection.js';
export { eventsProjection } from './events.projection.js';
export { feesProjection } from './fees.projection.js';
export * from './fees.js';
export * from './fee-period-list.js';
export { monthlyWorkLateSeconds } from './monthly-work.js';
export { figuresProjection } from './figures.projection.js';
export {
  type Figures,
  figuresQuery,
  type FiguresQuery,
  type RailFigures,
} from './figures-query.js';
export { historyProjection } from './history.projection.js';
export { paymentPeriods, type PaymentPeriods } from './payment-periods.js';
export { movementsProjection } from './movements.projection.js';
export * from './movements.js';
export { HeldAsOf } from './held-as-of.js';
export { aheadOfLog, hasReached, isCompleteAsOf, projectionReach } from './projection-reach.js';
export * from './activity.js';
export {
  type HeldOwner,
  type HeldStream,
  firstHeldStreamOf,
  heldStreamsOf,
  heldText,
  type NeededStreams,
} from './held-streams.js';
export * from './projection-runner.js';
export { projectionProgress, type ProjectionProgress } from './projection-progress.js';
export {
  rebuildProjection,
  type RebuildOptions,
  type RebuildPhase,
  type RebuildProgress,
  type RebuildReport,
  RebuildUnderWay,
} from './rebuild.js';
export { compareReadModels, type ComparisonOptions, type ComparisonReport } from './comparison.js';
export type { ReadModelDifference } from './table-differences.js';
export type { ProjectionName } from './projected-streams.js';
export * from './projections.js';
export {
  claimErasure,
  type ErasureWork,
  isRewritten,
  type Party,
  prolongErasure,
  repeatErasures,
  saveErasure,
} from './erased-parties.js';
export * from './party-erasures.js';
export { paymentOwners } from './payment-owners.js';
export { PaymentLinkAccesses, PaymentLinkTable } from './payment-link-table.js';
export { type OpenTransfers, PartyTransfers } from './party-transfers.js';
export * from './quarantine.js';
export * from './organization-logos.js';
export * from './retention-periods.js';
export * from './consumer-checkpoints.js';
export * from './passed-over.js';
export {
  assertNoMore,
  type ListCursor,
  type ListPage,
  pageOf,
  type PageRequest,
} from './list-page.js';
export * from './payments-query.js';
export * from './directory-query.js';
export { directoryAsOf, type DirectoryAsOf } from './directory-as-of.js';
export { searchContacts, type ContactSearch } from './contact-search.js';
export * from './approvals-query.js';
export * from './statements-query.js';
export * from './events-query.js';
export { findApiKeyDigest } from './api-key-lookup.js';
export { categoryEvents } from './category-events.js';
