/** Bank rails: which rail a payment takes, the routing directory, and the connection to the bank. */
export * from './routing-number.js';
export * from './routing-directory.js';
export * from './rail-policy.js';
export * from './rail-reference.js';
export * from './bank-connection.js';
export * from './submission-rule.js';
export * from './bank-circuit.js';
export * from './bank-wire.js';
export * from './direct-bank-connection.js';
export * from './http-bank-connection.js';
