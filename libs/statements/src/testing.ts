/** Helpers of tests and of the bench. */
export * from './testing/read-pdf.js';
export * from './testing/samples.js';
