/** For specs: given/when/then, and examples of every aggregate's records and histories. */
export * from './testing/given.js';
export * from './testing/examples.js';
export * from './testing/payment-examples.js';
export * from './testing/payment-lives.js';
