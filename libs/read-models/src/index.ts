/** Read models: SQL migrations, projections and their runner, queries. */
export * from './connection-loss.js';
export * from './migrate.js';
