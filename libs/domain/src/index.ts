/** The domain: pure aggregates. One folder each; nothing here knows a clock, a network or a package. */
export * from './categories.js';
export * from './decider.js';
export * from './party.js';
export * from './erasure.js';
export * from './personal-data.js';
export * from './personal-parts.js';
export * from './approval/approval.js';
export * from './calendar/month.js';
export * from './payment/payment-details.js';
export * from './payment/payment-link.js';
export * from './payment/payment-rail.js';
export * from './payment/payment-return.js';
export * from './payment/payment.js';
export * from './payment/rail-facts.js';
export * from './payment/return-reasons.js';
export * from './collection/collection.js';
export * from './contact/contact.js';
export * from './contact/contact-identity.js';
export * from './originator/originator.js';
export * from './organization/branding.js';
export * from './organization/fees.js';
export * from './organization/organization.js';
export * from './api-key/api-key.js';
export * from './webhook-endpoints/webhook-endpoints.js';
export * from './operator-action/operator-action.js';
export * from './operator-notice/operator-notice.js';
export * from './fee-period/fee-period.js';
export { isRetryInTime } from './fee-period/retry-policy.js';
export {
  type FeeCutoff,
  type FeePeriodRecord,
  feesDueMinor,
  type FeeSums,
} from './fee-period/fee-period-record.js';
export * from './settlement-account/settlement-account.js';
export * from './statement/statement.js';
export * from './store-binding/store-binding.js';
export * from './user/user.js';
export * from './user-action/user-action.js';
