/** What the simulated bank forgets for good. */
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { createLogger } from '@pis/service-kit';
import { instructionEnding } from '@pis/bank-rails/testing';
import type pg from 'pg';
import { BankSimulator } from './bank-simulator.js';
import { BooksUpkeep } from './books-upkeep.js';

const memoryDays = 90;

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const count = async (table: string): Promise<number> => {
  const { rows } = await pool.query<{ count: number }>(`SELECT count(*)::int FROM ${table}`);
  return rows[0]?.count ?? 0;
};
const counts = () =>
  Promise.all(
    ['bank_transfers', 'bank_executions', 'bank_notifications', 'bank_files_received'].map(count),
  );
const round = () =>
  new BooksUpkeep({
    pool,
    referenceMemoryMs: memoryDays * 24 * 3_600_000,
    logger: createLogger('test', 'silent'),
  }).round();

/** Moves everything that the bank has into the past. */
async function age(days: number): Promise<void> {
  for (const [table, column] of [
    ['bank_transfers', 'submitted_at'],
    ['bank_executions', 'received_at'],
    ['bank_notifications', 'due_at'],
    ['bank_files_received', 'received_at'],
  ])
    await pool.query(`UPDATE ${table} SET ${column} = ${column} - $1 * interval '1 day'`, [days]);
}

it('deletes what it has forgotten for a month, and keeps the order of its reports', async () => {
  const bank = new BankSimulator(pool, { delayMs: 0 });
  const feed = async () => (await bank.notifications({ after: '', max: 10 })).notifications;
  for (const ending of ['0101', '0101', '4321']) await bank.submit(instructionEnding(ending));
  await pool.query("INSERT INTO bank_files_received (sha256, name) VALUES ('00', 'a.ach')");
  const published = await feed();
  expect(published.map(({ type }) => type)).toEqual(['returned', 'returned']);
  await age(memoryDays + 29);
  await round();
  expect(await counts()).toEqual([3, 3, 2, 1]);
  await age(2);
  await round();
  expect(await counts()).toEqual([0, 0, 1, 0]);
  await bank.submit(instructionEnding('0101'));
  const [, next] = await feed();
  expect(Number(next?.sequence)).toBeGreaterThan(Number(published.at(-1)?.sequence));
});

it('takes a reference again that it has forgotten, as any bank does', async () => {
  const bank = new BankSimulator(pool, { delayMs: 0 });
  const instruction = instructionEnding('4321');
  await bank.submit(instruction);
  await age(memoryDays + 31);
  await round();
  expect(await bank.inquire(instruction.reference)).toEqual({ outcome: 'unknown' });
  expect(await bank.submit(instruction)).toEqual({ outcome: 'accepted' });
  expect(await count('bank_executions')).toBe(1);
});
