export * from './testing/payment-log.js';
