import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';
import { documentGauges } from './document-metrics.js';

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

async function shown(): Promise<Map<string, number>> {
  const registry = new MetricsRegistry();
  documentGauges(registry, pool, () => new Date('2026-11-01T16:00:00.000Z'));
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('pis_'));
  return new Map(
    lines.map((line) => {
      const [name = '', value] = line.split(' ');
      return [name, Number(value)];
    }),
  );
}

interface Given {
  readonly organizationId?: string;
  readonly status: string;
  readonly requested: string;
  readonly leasedUntil?: string;
  readonly failures?: number;
  readonly finished?: string;
}

/** Times are intervals from now on. */
const addExport = ({ organizationId = randomUUID(), ...given }: Given) =>
  pool.query(
    `INSERT INTO exports (id, organization_id, file_id, kind, format, until_at, through_position,
        requested_by, requested_at, status, leased_until, failures, finished_at)
      VALUES (gen_random_uuid(), $1, gen_random_uuid(), 'payments', 'csv', now(), '', 'apiKey:1',
        now() + $2::interval, $3, now() + $4::interval, $5, now() + $6::interval)`,
    [
      ...[organizationId, given.requested, given.status, given.leasedUntil ?? null],
      ...[given.failures ?? 0, given.finished ?? null],
    ],
  );

const waiting = 'pis_export_waiting_seconds{state="open"}';

it('exports are counted by state, and failures of the last day that ended an export', async () => {
  await addExport({ status: 'queued', requested: '-1 min' });
  await addExport({ status: 'running', requested: '-1 min', leasedUntil: '1 min' });
  await addExport({ status: 'completed', requested: '-1 min', finished: '-1 min' });
  await addExport({ status: 'failed', requested: '-2 h', failures: 5, finished: '-1 h' });
  await addExport({ status: 'failed', requested: '-2 days', failures: 5, finished: '-2 days' });
  // Its file was too large: nothing for staff to do.
  await addExport({ status: 'failed', requested: '-2 h', failures: 1, finished: '-1 h' });
  const counts = await shown();
  for (const state of ['queued', 'running', 'failed'])
    expect(counts.get(`pis_exports{state="${state}"}`)).toBe(1);
});

it('an export waits while none of its organization is written', async () => {
  const organizationId = randomUUID();
  expect((await shown()).get(waiting)).toBe(0);
  await addExport({ organizationId, status: 'queued', requested: '-3 h' });
  await addExport({ organizationId, status: 'running', requested: '-4 h', leasedUntil: '1 h' });
  expect((await shown()).get(waiting)).toBe(0);
  // The process that wrote this one was killed, and no other has taken it.
  await addExport({ status: 'running', requested: '-4 h', leasedUntil: '-1 h' });
  expect(Math.round(((await shown()).get(waiting) ?? 0) / 600)).toBe(6);
  await pool.query(`UPDATE exports SET leased_until = NULL, status = 'queued'`);
  expect(Math.round(((await shown()).get(waiting) ?? 0) / 600)).toBe(24);
});

it('the earliest month that lacks statements counts from its end', async () => {
  const late = async () => (await shown()).get('pis_statement_late_seconds{due="generation"}');
  const organizationId = randomUUID();
  await pool.query(
    `INSERT INTO organizations (organization_id, name, created_at, revision)
      VALUES ($1, 'Acme', '2026-10-05', 0)`,
    [organizationId],
  );
  expect(await late()).toBe(12 * 3_600);
  await pool.query('INSERT INTO statement_runs VALUES ($1, 2026, 10)', [organizationId]);
  expect(await late()).toBe(0);
});
