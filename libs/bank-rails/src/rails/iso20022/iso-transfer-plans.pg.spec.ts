/** A plan that was made while the table was empty is kept for as long as its connection lives. */
import { randomUUID } from 'node:crypto';
import { testKeyringOn } from '@pis/keyring/testing';
import {
  createTestDatabase,
  expectKeptPlan,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { fileArchive } from '../../connections/file-archive.js';
import { type IsoTransfer, IsoTransfers } from './iso-transfers.js';

/** After five plans for its values a prepared statement may keep one for all values. */
const plansMax = 6;
const rowsMax = 2_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const transfer = (): IsoTransfer => ({
  ...{ reference: randomUUID(), state: 'sending', rejection: null, details: null, sends: 1 },
  ...{ fileId: null, messageId: randomUUID(), instructionId: randomUUID(), uetr: randomUUID() },
});

/** How many entries of indexes and rows of the table were read so far. */
async function read(): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ read: number }>(
    `SELECT (sum(i.idx_tup_read) + max(t.seq_tup_read))::int AS read
       FROM pg_stat_user_indexes i JOIN pg_stat_user_tables t USING (relid)
      WHERE i.relname = 'iso_transfers'`,
  );
  return rows[0]?.read ?? 0;
}

it('reads as many rows as it asks for, also by a plan from the time before there were rows', async () => {
  const name = randomUUID();
  const archive = fileArchive({ pool, keyring: await testKeyringOn(pool) });
  const transfers = new IsoTransfers(pool, name, archive);
  const lookUp = async ({ reference, uetr, messageId, instructionId }: IsoTransfer) => {
    await transfers.settle({ reference, sends: 1 }, 'accepted');
    await transfers.find(reference);
    await transfers.noteSend(reference);
    const nothing = { messageName: null, createdAt: null, transactionId: null };
    const original = {
      ...nothing,
      messageId: null,
      instructionId: null,
      endToEndId: null,
      uetr: null,
    };
    await transfers.findOriginal({ ...original, uetr });
    await transfers.findOriginal({ ...original, endToEndId: reference });
    await transfers.findOriginal({ ...original, instructionId, messageId });
  };
  for (let plans = 0; plans < plansMax; plans += 1) await lookUp(transfer());

  const many = Array.from({ length: rowsMax }, transfer);
  await Promise.all(many.map((one) => transfers.add(one)));
  const before = await read();
  for (const one of many.slice(0, plansMax)) await lookUp(one);
  expect((await read()) - before).toBeLessThan(plansMax * 30);
});

it('does not plan anew for each transfer', async () => {
  const archive = fileArchive({ pool, keyring: await testKeyringOn(pool) });
  const transfers = new IsoTransfers(pool, randomUUID(), archive);
  await expectKeptPlan(pool, 'iso-transfers-settle', async () => {
    const one = transfer();
    await transfers.add(one);
    await transfers.settle(one, 'accepted');
  });
});
