/** Chooses the adapter by the setting PIS_DOCUMENT_STORE. */
import type pg from 'pg';
import { parseDocumentPlace } from './document-place.js';
import type { DocumentKeyring, DocumentStore } from './document-store.js';
import { postgresDocuments } from './postgres-documents.js';

export interface DocumentsContext {
  readonly pool: pg.Pool;
  readonly keyring: DocumentKeyring;
}

/**
 * @param place as parseDocumentPlace takes it
 * @throws DocumentStoreRefused when the bucket or the credentials are wrong. A store that cannot be reached is no
 * error: it may come back.
 */
export async function openDocuments(
  place: string,
  { pool, keyring }: DocumentsContext,
): Promise<DocumentStore> {
  const parsed = parseDocumentPlace(place);
  if (parsed === 'postgres') return postgresDocuments(pool, keyring);
  // The client of S3 is large: it is loaded only where it is used.
  const { openS3Documents } = await import('./s3-documents.js');
  return openS3Documents(parsed, keyring);
}
