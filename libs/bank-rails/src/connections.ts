/** `@pis/bank-rails/connections`: how files and messages reach a bank and come from it, and what is kept of them. */
export * from './connections/file-transport.js';
export * from './connections/message-transport.js';
export * from './connections/file-archive.js';
