/** Documents in PostgreSQL: a row per document, and a row per sealed chunk. */
import { randomUUID } from 'node:crypto';
import { inTransaction } from '@pis/postgres';
import type { Owner } from '@pis/keyring';
import type pg from 'pg';
import {
  assertKey,
  type ByteRange,
  chunkCountOf,
  DocumentAltered,
  type DocumentKeyring,
  DocumentMissing,
  DocumentSealer,
  type DocumentStore,
  placeOf,
  spanOf,
  within,
  type WrittenDocument,
} from './document-store.js';

/** Chunks in one query of a read. */
const chunksAtOnce = 4;

interface DocumentRow {
  readonly write_id: string;
  readonly size_bytes: string;
}

export function postgresDocuments(pool: pg.Pool, keyring: DocumentKeyring): DocumentStore {
  return new PostgresDocuments(pool, keyring);
}

class PostgresDocuments implements DocumentStore {
  constructor(
    private readonly pool: pg.Pool,
    private readonly keyring: DocumentKeyring,
  ) {}

  async write(
    key: string,
    owner: Owner,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<WrittenDocument> {
    assertKey(key);
    const writeId = randomUUID();
    // Takes the place of a write that was cut off, and of one that is still under way: that one fails.
    await inTransaction(this.pool, async (client) => {
      await client.query('DELETE FROM document_writes WHERE key = $1 AND NOT is_whole', [key]);
      await client.query('INSERT INTO document_writes (write_id, key) VALUES ($1, $2)', [
        writeId,
        key,
      ]);
    });
    try {
      const sealer = new DocumentSealer(this.keyring, { key, owner, writeId });
      for await (const { index, sealed } of sealer.chunks(bytes))
        await this.pool.query(
          'INSERT INTO document_chunks (write_id, index, sealed) VALUES ($1, $2, $3)',
          [writeId, index, sealed],
        );
      const written = sealer.result();
      await this.finish(key, writeId, written);
      return written;
    } catch (error) {
      // If this fails too, the next write of the key removes it.
      await this.pool
        .query('DELETE FROM document_writes WHERE write_id = $1 AND NOT is_whole', [writeId])
        .catch(() => undefined);
      throw error;
    }
  }

  async *read(key: string, owner: Owner, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const { rows } = await this.pool.query<DocumentRow>(
      'SELECT write_id, size_bytes FROM documents WHERE key = $1',
      [key],
    );
    const [row] = rows;
    if (row === undefined) throw new DocumentMissing(key);
    const { write_id: writeId } = row;
    const sizeBytes = Number(row.size_bytes);
    const lastIndex = chunkCountOf(sizeBytes) - 1;
    const span = spanOf(sizeBytes, range);
    if (span === null) return;
    for (let from = span.first; from <= span.last; from += chunksAtOnce) {
      const to = Math.min(span.last, from + chunksAtOnce - 1);
      const chunks = await this.chunks(writeId, from, to);
      if (chunks.length !== to - from + 1) throw new DocumentAltered(key);
      for (const [offset, sealed] of chunks.entries()) {
        const index = from + offset;
        const place = placeOf({ key, writeId, index, isLast: index === lastIndex });
        yield within(await this.keyring.openBytes(sealed, owner, place), index, span.range);
      }
    }
  }

  async remove(key: string): Promise<void> {
    await inTransaction(this.pool, async (client) => {
      await client.query('DELETE FROM documents WHERE key = $1', [key]);
      await client.query('DELETE FROM document_writes WHERE key = $1', [key]);
    });
  }

  private async finish(key: string, writeId: string, written: WrittenDocument): Promise<void> {
    await inTransaction(this.pool, async (client) => {
      const { rowCount } = await client.query(
        'UPDATE document_writes SET is_whole = true WHERE write_id = $1',
        [writeId],
      );
      if (rowCount !== 1) throw new Error(`another write of the document ${key} has begun`);
      await client.query(
        `INSERT INTO documents (key, write_id, size_bytes, sha256)
         VALUES ($1, $2, $3, decode($4, 'hex'))
         ON CONFLICT (key) DO UPDATE
           SET write_id = EXCLUDED.write_id, size_bytes = EXCLUDED.size_bytes,
               sha256 = EXCLUDED.sha256, written_at = now()`,
        [key, writeId, written.sizeBytes, written.sha256],
      );
      await client.query('DELETE FROM document_writes WHERE key = $1 AND write_id <> $2', [
        key,
        writeId,
      ]);
    });
  }

  private async chunks(writeId: string, from: number, to: number): Promise<readonly Buffer[]> {
    const { rows } = await this.pool.query<{ sealed: Buffer }>(
      'SELECT sealed FROM document_chunks WHERE write_id = $1 AND index BETWEEN $2 AND $3 ORDER BY index',
      [writeId, from, to],
    );
    return rows.map(({ sealed }) => sealed);
  }
}
