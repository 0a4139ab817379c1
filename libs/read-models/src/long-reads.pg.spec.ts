/** Fees and statements of an originator with a history that takes longer to read than the time limit of statements. */
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import { createPool } from '@pis/postgres';
import type pg from 'pg';
import { activityBalance, stillPayments } from './activity.js';
import { feeSums } from './fees.js';
import { movementPages } from './movements.js';

const organizationId = '00000000-0000-4000-8000-000000000001';
const originatorId = '00000000-0000-4000-8000-000000000002';
const paymentId = '00000000-0000-4000-8000-000000000003';
const owner = { organizationId, originatorId };
const cutoff = { to: new Date('2026-11-01T00:00:00.000Z'), through: '2' };
const before = { to: new Date('2026-10-01T00:00:00.000Z'), through: '0' };

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  const log = { warn: () => undefined, debug: () => undefined };
  pool = createPool(database.url, 'spec', log);
  await pool.query(
    `INSERT INTO payments (payment_id, organization_id, originator_id, status, direction, payment_rail, created_at,
       revision, item)
     VALUES ($3, $1, $2, 'COMPLETED', 'OUTBOUND', 'RTP', '2026-10-05T00:00:00.000Z', 2, '{"discountFee":7,"flatFee":2}')`,
    [organizationId, originatorId, paymentId],
  );
  await pool.query(
    `INSERT INTO movements (movement_id, organization_id, originator_id, payment_id, kind, side, amount_minor, rail, at,
       position)
     VALUES (gen_random_uuid(), $1, $2, $3, 'transfer', 'debit', 300, 'RTP', '2026-10-05T00:00:00.000Z', '1')`,
    [organizationId, originatorId, paymentId],
  );
  await pool.query(
    `INSERT INTO payment_activity (payment_id, revision, position, at, organization_id, originator_id, is_inbound,
       amount_minor, fee_minor, return_fee_minor, moves_money, in_progress_change, charged_minor, is_rejected_late)
     VALUES (gen_random_uuid(), 0, '1', '2026-10-05T00:00:00.000Z', $1, $2, false, 5, 1, 0, false, 1, 0, false)`,
    [organizationId, originatorId],
  );
  await endsReadsWithTimeLimit('movements', 'payment_activity');
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** As PostgreSQL would, if these tables took too long to read. */
async function endsReadsWithTimeLimit(...tables: readonly string[]): Promise<void> {
  await pool.query(`
    CREATE FUNCTION has_time() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN
      IF current_setting('statement_timeout') <> '0' THEN
        RAISE 'canceling statement due to statement timeout' USING ERRCODE = '57014';
      END IF;
      RETURN true;
    END $$`);
  for (const table of tables)
    await pool.query(`
      ALTER TABLE ${table} RENAME TO all_${table};
      CREATE VIEW ${table} AS SELECT * FROM all_${table} WHERE has_time()`);
}

async function all<Item>(pages: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

it('the connections of the pool have a time limit', async () => {
  await expect(pool.query('SELECT FROM movements')).rejects.toMatchObject({ code: '57014' });
});

it('fees of a month are summed', async () => {
  const { to, through: upTo } = cutoff;
  const sums = await feeSums(pool, owner, { to: to.toISOString(), upTo }, null);
  expect(sums).toMatchObject({ discountFeeMinor: 7, flatFeeMinor: 2, paymentsCompleted: 1 });
});

it('the balance of a statement is summed', async () => {
  const balance = await activityBalance(pool, owner, { ...cutoff, endsRejected: true });
  expect(balance).toEqual({
    inProgressIn: { count: 0, amountMinor: 0 },
    inProgressOut: { count: 1, amountMinor: 5 },
    feesDueMinor: 0,
  });
});

it('the movements of a statement are found behind those of earlier ones', async () => {
  const filter = { ...owner, ...cutoff, unless: before };
  const movements = await all(movementPages(pool, filter, { limit: 10 }));
  expect(movements).toMatchObject([{ kind: 'transfer', amountMinor: 300 }]);
});

it('the other payments of a statement are found', async () => {
  const after = { ...before, endsRejected: true };
  const still = await all(stillPayments(pool, owner, { ...cutoff, endsRejected: true, after }, 10));
  expect(still).toHaveLength(1);
});
