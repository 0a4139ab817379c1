/** The domain: pure aggregates. One folder each; nothing here knows a clock, a network or a package. */
export * from './categories.js';
export * from './decider.js';
export * from './party.js';
export * from './erasure.js';
export * from './personal-data.js';
export * from './personal-parts.js';
export * from './payment/payment-rail.js';
export * from './payment/payment.js';
export * from './contact/contact.js';
export * from './contact/contact-identity.js';
export * from './originator/originator.js';
export * from './organization/organization.js';
export * from './api-key/api-key.js';
export * from './webhook-endpoints/webhook-endpoints.js';
export * from './operator-action/operator-action.js';
export * from './operator-notice/operator-notice.js';
export * from './store-binding/store-binding.js';
