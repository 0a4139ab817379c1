/** `@pis/bank-rails/connections`: how files and messages reach a bank and come from it, and what is kept of them. */
export * from './connections/file-transport.js';
export * from './connections/message-transport.js';
export * from './connections/message-wire.js';
export * from './connections/sftp-files.js';
export * from './connections/https-messages.js';
export * from './connections/open-transports.js';
export * from './connections/file-archive.js';
