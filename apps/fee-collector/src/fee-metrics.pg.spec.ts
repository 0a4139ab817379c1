import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';
import { feeGauges } from './fee-metrics.js';

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

/** Twelve hours after the end of October in New York. */
const now = () => new Date('2026-11-01T16:00:00.000Z');

async function shown(): Promise<string[]> {
  const registry = new MetricsRegistry();
  feeGauges(registry, pool, now);
  return (await registry.metrics()).split('\n').filter((line) => line.startsWith('pis_'));
}

async function addOrganization(createdAt: string, timeZone: string): Promise<string> {
  const organizationId = randomUUID();
  await pool.query(
    `INSERT INTO organizations (organization_id, name, created_at, time_zone, revision)
      VALUES ($1, 'Acme', $2, $3, 0)`,
    [organizationId, createdAt, timeZone],
  );
  return organizationId;
}

const closed = (organizationId: string, year: number, month: number) =>
  pool.query('INSERT INTO fee_months (organization_id, year, month) VALUES ($1, $2, $3)', [
    ...[organizationId, year, month],
  ]);

it('periods whose fees are not collected are counted by state', async () => {
  for (const status of ['DUE', 'GIVEN_UP', 'GIVEN_UP', 'COLLECTING', 'RETRYING', 'FREE'])
    await pool.query(
      `INSERT INTO fee_periods (fee_period_id, organization_id, originator_id, year, month,
          discount_fee_minor, flat_fee_minor, return_fee_minor, status, closed_at, revision)
        VALUES ($1, $1, $1, 2026, 10, 1, 1, 1, $2, now(), 0)`,
      [randomUUID(), status],
    );
  expect(await shown()).toEqual([
    'pis_fee_periods{state="due"} 1',
    'pis_fee_periods{state="retrying"} 1',
    'pis_fee_periods{state="collecting"} 1',
    'pis_fee_periods{state="given_up"} 2',
    'pis_fee_periods_debited_twice{within="week"} 0',
    'pis_fee_collection_age_seconds{state="queued"} 0',
    'pis_fee_collection_age_seconds{state="sent"} 0',
    'pis_fee_month_late_seconds{due="closing"} 0',
  ]);
});

it('the age is of the oldest collection that a period still waits for', async () => {
  const collections = [
    ['COLLECTING', 'QUEUED', '2026-11-01T14:00:00.000Z'],
    ['COLLECTING', 'QUEUED', '2026-11-01T15:00:00.000Z'],
    ['COLLECTING', 'PROCESSING', '2026-11-01T13:00:00.000Z'],
    ['COLLECTING', 'FAILED_IN_FLIGHT', '2026-11-01T12:00:00.000Z'],
    ['COLLECTING', 'COMPLETED', '2026-11-01T11:00:00.000Z'],
    // A rejected one, whose period has gone on.
    ['GIVEN_UP', 'FAILED_IN_FLIGHT', '2026-10-01T12:00:00.000Z'],
  ];
  for (const [period, status, createdAt] of collections) {
    const id = randomUUID();
    await pool.query(
      `INSERT INTO fee_periods (fee_period_id, organization_id, originator_id, year, month,
          discount_fee_minor, flat_fee_minor, return_fee_minor, status, collection_id, closed_at,
          revision)
        VALUES ($1, $1, $1, 2026, 9, 1, 1, 1, $2, $1, now(), 1)`,
      [id, period],
    );
    await pool.query(
      `INSERT INTO fee_collections (collection_id, organization_id, originator_id, amount_minor,
          status, created_at, revision)
        VALUES ($1, $1, $1, 3, $2, $3, 0)`,
      [id, status, createdAt],
    );
  }
  expect(await shown()).toEqual(
    expect.arrayContaining([
      `pis_fee_collection_age_seconds{state="queued"} ${2 * 3_600}`,
      `pis_fee_collection_age_seconds{state="sent"} ${4 * 3_600}`,
    ]),
  );
});

it('periods whose fees were debited twice are counted for a week', async () => {
  for (const at of ['2026-10-25T15:00:00.000Z', '2026-10-25T17:00:00.000Z', null])
    await pool.query(
      `INSERT INTO fee_periods (fee_period_id, organization_id, originator_id, year, month,
          discount_fee_minor, flat_fee_minor, return_fee_minor, status, closed_at, debited_twice_at,
          revision)
        VALUES ($1, $1, $1, 2026, 9, 1, 1, 1, 'COLLECTED', now(), $2, 0)`,
      [randomUUID(), at],
    );
  expect(await shown()).toContain('pis_fee_periods_debited_twice{within="week"} 1');
});

it('the earliest month that is not closed counts from its end in the time zone of the organization', async () => {
  const late = async () => (await shown()).at(-1);
  await closed(await addOrganization('2026-08-01T00:00:00.000Z', 'America/New_York'), 2026, 10);
  // Created in November there.
  await addOrganization('2026-11-01T05:00:00.000Z', 'America/New_York');
  expect(await late()).toBe('pis_fee_month_late_seconds{due="closing"} 0');
  await closed(await addOrganization('2026-08-01T00:00:00.000Z', 'America/New_York'), 2026, 9);
  expect(await late()).toBe(`pis_fee_month_late_seconds{due="closing"} ${12 * 3_600}`);
  // October has ended in Tokyo 13 hours earlier, and nothing was ever closed.
  await addOrganization('2026-10-05T00:00:00.000Z', 'Asia/Tokyo');
  expect(await late()).toBe(`pis_fee_month_late_seconds{due="closing"} ${25 * 3_600}`);
});
