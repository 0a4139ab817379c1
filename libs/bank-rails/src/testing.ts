export * from './testing/bank-connection.conformance.js';
export * from './testing/participant-lists.js';
export * from './testing/transfer-instructions.js';
export * from './testing/nacha-files.js';
export * from './testing/file-transport.conformance.js';
export * from './testing/sftp-server.js';
export * from './rails/iso20022/testing/sample-messages.js';
export * from './rails/iso20022/testing/schema.js';
