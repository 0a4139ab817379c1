/** What every part of the service that talks to PostgreSQL shares. Knows nothing of its tables. */
export * from './array-parameters.js';
export * from './binary-array.js';
export * from './clock-difference.js';
export * from './earlier-clock.js';
export * from './group-commit.js';
export * from './iso-times.js';
export * from './listener.js';
export * from './migrate.js';
export * from './ordered-uuid.js';
export * from './own-connection.js';
export * from './pool.js';
export * from './singleton.js';
export * from './transaction.js';
export * from './transient-errors.js';
export * from './wake-loop.js';
export * from './wake-up.js';
export * from './wake-ups.js';
