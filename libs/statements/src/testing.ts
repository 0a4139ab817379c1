/** Helpers of tests and of the bench. */
export * as pastLog from './testing/past-log.js';
export * from './testing/read-pdf.js';
export * from './testing/samples.js';
