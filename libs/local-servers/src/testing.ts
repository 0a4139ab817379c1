export * from './made-once.js';
export * from './testing/generic-plan.js';
export * from './testing/https-receiver.js';
export * from './testing/pngs.js';
export * from './testing/random.js';
export * from './testing/secure-kafka.js';
export * from './testing/test-database.js';
export * from './testing/until.js';
