import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';
import { achGauges } from './ach-metrics.js';

describe('the gauges of ACH', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 2);
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  async function shown(): Promise<Record<string, number>> {
    const registry = new MetricsRegistry();
    achGauges(registry, pool);
    const lines = (await registry.metrics()).split('\n');
    return Object.fromEntries(
      lines
        .filter((line) => line.startsWith('pis_'))
        .map((line) => line.split(' '))
        .map(([name, value]) => [name, Number(value)]),
    );
  }

  it('are zero without ACH, and count entries and files', async () => {
    const none = {
      'pis_ach_entries{state="waiting"}': 0,
      'pis_ach_entries{state="filed"}': 0,
      'pis_ach_prenote_payments{state="waiting"}': 0,
      'pis_ach_entry_late_seconds{state="waiting"}': 0,
      'pis_ach_files{state="recorded"}': 0,
      'pis_ach_files{state="overdue"}': 0,
      'pis_ach_files{state="settling"}': 0,
      'pis_ach_files{state="unsendable"}': 0,
      'pis_ach_file_unsent_seconds{state="recorded"}': 0,
      'pis_ach_inbox_files{state="unread"}': 0,
      'pis_ach_inbox_files{state="kept"}': 0,
    };
    expect(await shown()).toEqual(none);
    await pool.query(
      `INSERT INTO ach_entries (reference, bank, status, submitted_at, due_at)
       VALUES ('a', 'bank', 'waiting', now(), now() + interval '1 hour'), ('b', 'bank', 'filed', now(), now())`,
    );
    await pool.query(
      `INSERT INTO ach_files (bank, name, archive_id, sha256, entries, status, created_at, upload_due_at,
         overdue_at, settles_on)
       VALUES ('bank', 'a', '', '', 1, 'uploaded', now(), now(), now(), 'infinity'),
              ('bank', 'b', '', '', 1, 'acknowledged', now(), now(), now(), 'epoch')`,
    );
    await pool.query(
      `INSERT INTO ach_inbox_files
       SELECT 'bank', n::text, 1, '', CASE n WHEN 1 THEN 'unread' ELSE 'kept' END, 'denied', now(), now(), 1, now()
         FROM generate_series(1, 3) AS n`,
    );
    await pool.query(
      "INSERT INTO ach_prenotes (reference, bank, account, state, created_at) VALUES ('o', 'bank', 'a', 'open', now()), ('r', 'bank', 'b', 'refused', now())",
    );
    await pool.query(
      `INSERT INTO ach_prenote_waits SELECT 'p' || n, 'bank', CASE n WHEN 1 THEN 'r' ELSE 'o' END, now()
         FROM generate_series(1, 3) AS n`,
    );
    expect(await shown()).toEqual({
      ...none,
      'pis_ach_prenote_payments{state="waiting"}': 2,
      'pis_ach_inbox_files{state="unread"}': 1,
      'pis_ach_inbox_files{state="kept"}': 2,
      'pis_ach_entries{state="waiting"}': 1,
      'pis_ach_entries{state="filed"}': 1,
      'pis_ach_files{state="overdue"}': 1,
    });
  });
});
