/** The retry table is empty nearly always, and full when something that all messages need is away. */
import { createTestDatabase, openTestPool, expectFewRowsRead } from '@pis/local-servers/testing';
import type { TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import type { Delivery } from './message.js';
import { pgDeferredMessages } from './pg-deferred-messages.js';

const group = 'group';
const rowsMax = 2_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

it.each(['deferred_keys', 'deferred_messages'])(
  'a message is deferred and settled without reading all of %s, also by plans of the empty table',
  async (table) => {
    await pool.query('VACUUM (ANALYZE) deferred_keys, deferred_messages');
    const deferred = pgDeferredMessages(pool);
    const other: Delivery = {
      ...{ topic: 't', key: 'other', value: '1', headers: {}, offset: '1', attempt: 0 },
    };
    const due = { error: 'away', failures: 0, dueInMs: 0 };
    const call = async () => {
      await deferred.defer(group, other, due);
      await deferred.follow(group, { ...other, offset: '2' });
      const [first = null] = await deferred.claim(group, 1, 60_000);
      const second = first && (await deferred.settle(group, first));
      expect(second).not.toBeNull();
      expect(second && (await deferred.settle(group, second))).toBeNull();
    };
    const fill = () =>
      pool.query(
        `SELECT defer_message($1, 't', 'key ' || n, '1', '{}', n::text, 0, 0, 'away', 3600000)
           FROM generate_series(1, $2::int) n`,
        [group, rowsMax],
      );
    await expectFewRowsRead(pool, table, { call, fill });
  },
);
