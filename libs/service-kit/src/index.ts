export * from './tokens.js';
export * from './environment.js';
