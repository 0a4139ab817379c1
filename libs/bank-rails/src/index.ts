/** Bank rails: which rail a payment takes, the routing directory, and the connection to the bank. */
export * from './calendar/banking-days.js';
export * from './calendar/eastern-time.js';
export * from './calendar/rail-hours.js';
export * from './directory/routing-directory.js';
export * from './routing-number.js';
export * from './directory/sandbox-directory.js';
export * from './selection/rail-rejection-text.js';
export * from './selection/rail-selection.js';
export * from './selection/rail-terms.js';
export { railName } from './rails/iso20022/characters.js';
export * from './rail-reference.js';
export * from './bank-connection.js';
export * from './submission-rule.js';
export * from './stopwatch.js';
export * from './bank-circuit.js';
export * from './unread-watch.js';
export * from './bank-wire.js';
export * from './direct-bank-connection.js';
