/** `@pis/audit/life`: the life of a payment as text, JSON and HTML, and the bundle of its proofs. */
export * from './life/payment-life.js';
export * from './life/life-text.js';
export * from './life/timeline.js';
export * from './life/payment-diff.js';
export * from './life/report.js';
export * from './life/report-html.js';
export * from './life/proof-bundle.js';
export * from './life/visible-text.js';
