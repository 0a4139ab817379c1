/** Use cases over the event store, for every app that writes. No HTTP: a refusal is a value. */
export * from './contact-accounts.js';
export * from './contact-reports.js';
export {
  ContactDirectory,
  type ContactCreationRefusal,
  type ContactUpdateRefusal,
} from './contact-directory.js';
export * from './demo-organization.js';
export { demoPaymentsSettled, playDemoPayments } from './demo-payments.js';
export * from './demo-user.js';
export * from './operator-actions.js';
export * from './organization-approvals.js';
export * from './organization-fees.js';
export * from './organization-branding.js';
export * from './organization-rails.js';
export { logoFileBytesMax } from './png-logo.js';
export * from './organization-retention.js';
export * from './organization-time-zone.js';
export { OriginatorDirectory, type OriginatorUpdateRefusal } from './originator-directory.js';
export * from './party-erasure.js';
export { type ErasableParty, erasurePhaseOf } from './party-stream.js';
export * from './payment-approvals/payment-approvals.js';
export * from './payment-creation.js';
export type { OfferedRails } from './payment-draft.js';
export * from './payment-links/payment-links.js';
export type * from './payment-links/link-ports.js';
export type * from './payment-links/link-view.js';
export * from './payment-simulation.js';
export * from './transfer-stream.js';
export * from './provisioning.js';
export * from './settlement-account.js';
export {
  grantedOrThrow,
  type InvalidRequest,
  type OwnWrites,
  unrefused,
  type UseCaseOptions,
} from './use-case.js';
export * from './webhook-endpoint-directory.js';
export * from './webhook-tests.js';
