/**
 * Attempts to generate a statement. Each writes a document of its own, and the event names the one that counts: a
 * process that has lost its lock cannot replace a document that another one has recorded.
 *
 * An attempt is noted before its first byte is stored, so that its document can be found and removed. That happens once
 * another attempt is recorded and never before: until then any of them may be the one that is recorded.
 */
import { randomUUID } from 'node:crypto';
import { type DocumentStore, statementKey } from '@pis/documents';
import type { Statement } from '@pis/domain';
import type pg from 'pg';

interface Stores {
  readonly pool: pg.Pool;
  readonly documents: DocumentStore;
}

/** @returns the ID of its document */
export async function beginAttempt(pool: pg.Pool, statementId: string): Promise<string> {
  const documentId = randomUUID();
  await pool.query('INSERT INTO statement_attempts (statement_id, document_id) VALUES ($1, $2)', [
    statementId,
    documentId,
  ]);
  return documentId;
}

/**
 * After a write that failed: nothing of it is visible, and its document is never recorded. While the store of documents
 * is away each statement is tried every few minutes, and there must not be more to remove each time.
 */
export async function forgetAttempt(
  pool: pg.Pool,
  statementId: string,
  documentId: string,
): Promise<void> {
  await pool.query('DELETE FROM statement_attempts WHERE statement_id = $1 AND document_id = $2', [
    statementId,
    documentId,
  ]);
}

/** Removes what other attempts have stored. Idempotent. @throws what the stores throw */
export async function removeOtherAttempts(
  { pool, documents }: Stores,
  statement: Statement,
): Promise<void> {
  const { statementId, documentId = null } = statement;
  const { rows } = await pool.query<{ document_id: string }>(
    `SELECT document_id FROM statement_attempts
      WHERE statement_id = $1 AND document_id IS DISTINCT FROM $2`,
    [statementId, documentId],
  );
  for (const { document_id: other } of rows) {
    await documents.remove(statementKey({ ...statement, documentId: other }));
    await forgetAttempt(pool, statementId, other);
  }
}
