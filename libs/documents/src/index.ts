export {
  type ByteRange,
  chunkBytes,
  DocumentAltered,
  DocumentMissing,
  type DocumentStore,
  DocumentStoreRefused,
  DocumentStoreUnavailable,
  type WrittenDocument,
} from './document-store.js';
export * from './postgres-documents.js';
export * from './open-documents.js';
export * from './document-keys.js';
