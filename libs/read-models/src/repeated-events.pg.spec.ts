/** Events whose rows are in the tables already, as when the checkpoint of a projection was lost. */
import { memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { ProjectionRunner } from './projection-runner.js';
import { projectionNames, projections } from './projections.js';
import { queuePayment } from './testing.js';
import { writeWholeHistory } from './testing/whole-history.js';

const timeoutMs = 20_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

it.each(projectionNames)('%s has them once, and what comes with them', async (name) => {
  const projection = projections[name];
  const store = memoryEventStore();
  await writeWholeHistory(store);
  const catchUp = async () => {
    const runner = new ProjectionRunner({ projection, store, pool });
    runner.start();
    try {
      expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
    } finally {
      await runner.stop();
    }
  };
  const rows = async () => {
    const found: string[] = [];
    for (const { name: table } of projection.tables) {
      const { rows: each } = await pool.query<{ row: string }>(
        `SELECT to_jsonb(t)::text AS row FROM ${table} t`,
      );
      found.push(...each.map(({ row }) => `${table} ${row}`));
    }
    return found.toSorted();
  };

  await catchUp();
  const before = await rows();
  expect(before).not.toEqual([]);
  await pool.query('DELETE FROM projection_checkpoints WHERE name = $1', [name]);
  await catchUp();
  expect(await rows()).toEqual(before);

  await pool.query('DELETE FROM projection_checkpoints WHERE name = $1', [name]);
  const { paymentId } = await queuePayment(store, new Date().toISOString());
  await catchUp();
  const after = await rows();
  expect(after).toEqual(expect.arrayContaining(before));
  if (projection.streamPrefixes.includes('payment-'))
    expect(after.some((row) => row.includes(paymentId))).toBe(true);
});
