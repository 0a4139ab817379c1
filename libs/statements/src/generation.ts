/** Makes statements from the log: for the job and for the operator's command. */
export { StatementPostponed } from './generation/complete-tables.js';
export * from './generation/generate-statement.js';
export * from './generation/month-job.js';
