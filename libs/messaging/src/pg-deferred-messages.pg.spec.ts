import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Delivery } from './message.js';
import { pgDeferredMessages } from './pg-deferred-messages.js';
import { deferredMessagesContract } from './testing/deferred-contract.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

deferredMessagesContract('the retry table in PostgreSQL', () => pgDeferredMessages(pool));

describe('the retry table in PostgreSQL', () => {
  const message = (n: number): Delivery => ({
    topic: 't',
    key: 'a',
    value: '1',
    headers: {},
    offset: String(n),
    attempt: 0,
  });
  const due = { error: 'away', failures: 0, dueInMs: 0 };

  it('neither loses nor reorders a message that comes while the last one of its key is settled', async () => {
    const table = pgDeferredMessages(pool);
    const group = `group-${randomUUID()}`;
    const handled: number[] = [];
    let isOver = false;
    const worker = async () => {
      while (!isOver || !(await table.isEmpty(group))) {
        let [next = null] = await table.claim(group, 1, 60_000);
        while (next !== null) {
          handled.push(Number(next.delivery.offset));
          next = await table.settle(group, next);
        }
      }
    };
    const receiver = async () => {
      for (let n = 1; n <= 300; n += 1) {
        if (n % 10 === 1) await table.defer(group, message(n), due);
        // As a lane does: only what does not wait in the table is handled at once.
        else if (!(await table.follow(group, message(n)))) handled.push(n);
      }
      isOver = true;
    };
    await Promise.all([worker(), worker(), receiver()]);
    expect(handled).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
  });

  it('claims from ten thousand keys without reading them all', async () => {
    const group = `group-${randomUUID()}`;
    await pool.query(
      `INSERT INTO deferred_keys (consumer_group, key, due_at)
       SELECT $1, 'k' || n, now() - n * interval '1 s' FROM generate_series(1, 10000) n`,
      [group],
    );
    await pool.query(
      `INSERT INTO deferred_messages
         (consumer_group, topic, key, value, headers, "offset", attempts, failures, deferred_at)
       SELECT $1, 't', 'k' || n, '1', '{}', n, 1, 0, now() FROM generate_series(1, 10000) n`,
      [group],
    );
    await pool.query('ANALYZE deferred_keys, deferred_messages');
    const statements: string[] = [];
    const explaining = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await pool.query(`EXPLAIN (ANALYZE) ${text}`, values);
        statements.push(
          (rows as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']).join('\n'),
        );
        return { rows: [], rowCount: 0 };
      },
    };
    await pgDeferredMessages(explaining).claim(group, 16, 60_000);
    await pgDeferredMessages(explaining).holding(group, ['k1', 'k2']);
    await pgDeferredMessages(explaining).isEmpty(group);
    const plan = statements.join('\n');
    const rowsRead = [...plan.matchAll(/actual [^)]*rows=([\d.]+)/g)].map(([, rows]) =>
      Number(rows),
    );
    expect(Math.max(...rowsRead)).toBeLessThanOrEqual(16);
  });
});
