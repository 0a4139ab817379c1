/** Webhooks: signing and verifying, the retry schedule, the address guard and the guarded HTTPS client. */
export * from './signing.js';
export * from './envelope.js';
export * from './retry-schedule.js';
export * from './address-guard.js';
export * from './egress-policy.js';
export * from './lookup.js';
export * from './webhook-url.js';
export * from './guarded-client.js';
export * from './delivery-marks.js';
