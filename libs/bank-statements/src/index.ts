/** Bank statement files: camt.053 and BAI2, written and read as streams. */
export * from './statement.js';
export * from './camt053-writer.js';
export * from './bai2-writer.js';
export * from './statement-parts.js';
export * from './camt053-reader.js';
export * from './bai2-reader.js';
export * from './statement-reader.js';
