import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, expectFewRowsRead } from '@pis/local-servers/testing';
import { underWaySql } from './erasure-guard.js';

const erasedRows = 20_000;
const rowsMax = 1_000;

it('finds the erasure of a party by a plan from a time when none was under way', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 1);
  try {
    const add = (phase: string, count: number) =>
      pool.query(
        `INSERT INTO party_erasures (party_id, kind, phase, since, position)
         SELECT gen_random_uuid(), 'contact', $1, now(), '' FROM generate_series(1, $2::int)`,
        [phase, count],
      );
    await add('erased', erasedRows);
    await pool.query('VACUUM (ANALYZE) party_erasures');
    const call = () =>
      pool.query({ name: 'under way', text: underWaySql, values: [[randomUUID()]] });
    const fill = () => add('requested', rowsMax);
    await expectFewRowsRead(pool, 'party_erasures', { call, fill });
  } finally {
    await pool.end();
    await database.drop();
  }
});
