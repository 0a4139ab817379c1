import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { prenoteOf } from './prenotes.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

it('staff see for which prenote a payment waits, since when the bank has it, and until when', async () => {
  await pool.query(
    `INSERT INTO ach_files (bank, name, archive_id, sha256, entries, created_at, upload_due_at, settles_on)
     VALUES ('first-ach', 'PIS-1.ach', '', '', 1, now(), now(), '2026-12-08')`,
  );
  await pool.query(
    `INSERT INTO ach_entries (reference, bank, status, file_id, trace_number, submitted_at)
     SELECT 'prenote-1', 'first-ach', 'accepted', id, '121000240000007', now() FROM ach_files`,
  );
  await pool.query(
    `INSERT INTO ach_prenotes (reference, bank, account, created_at, received_at)
     VALUES ('prenote-1', 'first-ach', 'mac', now(), '2026-12-07T20:00:00Z')`,
  );
  await pool.query(
    `INSERT INTO ach_prenote_waits VALUES ('waiting', 'first-ach', 'prenote-1', '2026-12-11T05:00:00Z')`,
  );
  expect(await prenoteOf(pool, 'waiting')).toEqual({
    state: 'open',
    connection: 'first-ach',
    file: 'PIS-1.ach',
    traceNumber: '121000240000007',
    receivedAt: '2026-12-07T20:00:00.000Z',
    until: '2026-12-11T05:00:00.000Z',
    code: null,
  });
  expect(await prenoteOf(pool, 'another')).toBeNull();
});
