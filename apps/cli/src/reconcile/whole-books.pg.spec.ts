/** Whether the movements have everything, on a real PostgreSQL. */
import { randomUUID } from 'node:crypto';
import { memoryEventStore, postgresEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { assertBooksWhole } from './whole-books.js';

const [organizationId, originatorId] = [randomUUID(), randomUUID()];
const at = '2026-11-20T17:00:00.000Z';

it('does not begin while our books have events that the log lacks, because it was restored', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 2);
  const store = memoryEventStore();
  try {
    await pool.query(
      `INSERT INTO projection_checkpoints (name, position, event_id, stream_id, revision)
       VALUES ('movements', '00000000000000000007', gen_random_uuid(), $1, 0)
       ON CONFLICT (name) DO UPDATE SET position = EXCLUDED.position, event_id = EXCLUDED.event_id,
         stream_id = EXCLUDED.stream_id, revision = EXCLUDED.revision`,
      [`payment-${randomUUID()}`],
    );
    for (const owner of [organizationId, null])
      await expect(assertBooksWhole({ pool, store }, owner)).rejects.toThrow(
        'our books have events that the log does not have: run pis projections rebuild movements',
      );
  } finally {
    await store.close();
    await pool.end();
    await database.drop();
  }
});

it('does not begin while a transfer of the organization is held back in quarantine', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 2);
  const store = postgresEventStore({ pool });
  try {
    const sources = { pool, store };
    const streamId = `payment-${randomUUID()}`;
    const metadata = {
      ...{ schemaVersion: 1, at, previousHash: null, actor: 'test', requestId: null },
      ...{ correlationId: streamId, causationId: null, traceparent: null },
    };
    const data = { organizationId, originatorId };
    await store.append(streamId, 'noStream', [{ id: randomUUID(), type: 'X', data, metadata }]);
    await expect(assertBooksWhole(sources, organizationId)).resolves.toBeUndefined();
    const hold = (reader: string) =>
      pool.query(
        `INSERT INTO quarantined_streams (reader, stream_id, from_revision, position, event_id, event_type, reason)
         VALUES ($1, $2, 0, '1', gen_random_uuid(), 'X', 'x')`,
        [`projection:${reader}`, streamId],
      );
    await hold('payments');
    await expect(assertBooksWhole(sources, null)).resolves.toBeUndefined();
    await hold('movements');
    for (const owner of [organizationId, null])
      await expect(assertBooksWhole(sources, owner)).rejects.toThrow(
        `our books are not whole: ${streamId} is in quarantine of the projection movements`,
      );
    await expect(assertBooksWhole(sources, randomUUID())).resolves.toBeUndefined();
  } finally {
    await store.close();
    await pool.end();
    await database.drop();
  }
});
