/**
 * `@pis/service-kit/stores`: configuration, stores and logs without Nest. For a command, which starts
 * anew each time: loading Nest takes longer than most commands run.
 */
export * from './composition.js';
export * from './config.js';
export * from './environment.js';
export { openKeyring } from './keyring-check.js';
export * from './logging.js';
export * from './master-keys-from.js';
export * from './short-readers.js';
export * from './snapshots.js';
export * from './store-binding.js';
