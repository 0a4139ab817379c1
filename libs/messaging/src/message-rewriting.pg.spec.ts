import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { rewriteWaitingMessages } from './message-rewriting.js';
import type { Queryable } from './pg-consumer-state.js';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const without = (on: Queryable, name: string) =>
  rewriteWaitingMessages(on, {
    containing: name,
    rewrite: (value) => value.replaceAll(name, 'nobody'),
  });

const value = 'Ada pays Dana';

async function waiting(): Promise<void> {
  await pool.query('TRUNCATE dead_letters, deferred_messages, deferred_keys CASCADE');
  await pool.query(
    `INSERT INTO dead_letters (consumer_group, topic, key, value, headers, "offset", attempts, error, parked_at)
     VALUES ('g', 't', 'k', $1, '{}', '1', 1, 'e', now())`,
    [value],
  );
  await pool.query(
    "INSERT INTO deferred_keys (consumer_group, key, due_at) VALUES ('g', 'k', now())",
  );
  await pool.query(
    `INSERT INTO deferred_messages (consumer_group, topic, key, value, headers, "offset", attempts, failures, deferred_at)
     VALUES ('g', 't', 'k', $1, '{}', '1', 1, 1, now())`,
    [value],
  );
}

it.each(['deferred_messages', 'dead_letters'])(
  'two rewrites of one message in %s at the same time both take effect',
  async (name) => {
    await waiting();
    let isInterrupted = false;
    const slow: Queryable = {
      async query(text, values) {
        if (text.startsWith(`UPDATE ${name}`) && !isInterrupted) {
          isInterrupted = true;
          await without(pool, 'Dana');
        }
        return pool.query(text, values);
      },
    };
    await without(slow, 'Ada');
    expect(isInterrupted).toBe(true);
    for (const table of ['deferred_messages', 'dead_letters'])
      expect((await pool.query(`SELECT value FROM ${table}`)).rows).toEqual([
        { value: 'nobody pays nobody' },
      ]);
  },
);
