export * from './free-port.js';
export * from './postgres.js';
