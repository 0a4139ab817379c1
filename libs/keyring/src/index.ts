export * from './port.js';
export * from './keyring.js';
export * from './masking.js';
export * from './owner.js';
export * from './bank-account.js';
