/** Monthly statements: what is on them, and the PDF. */
export * from './content.js';
