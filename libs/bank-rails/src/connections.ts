/**
 * `@pis/bank-rails/connections`: how files and messages reach a bank and come from it, and what is kept of them.
 * The clients of SSH and HTTPS are loaded when a connection is opened.
 */
export * from './connections/file-transport.js';
export * from './connections/message-transport.js';
export * from './connections/message-wire.js';
export * from './connections/open-transports.js';
export * from './connections/archive-retention.js';
export {
  type ArchivedFile,
  type ArchiveFilter,
  findArchived,
  listArchive,
} from './connections/archive-table.js';
export * from './connections/bank-references.js';
export * from './connections/file-archive.js';
export * from './connections/connection-pauses.js';
export * from './connections/transfer-records.js';
