import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { EmbeddedConsumerStrategy } from './embedded.server.js';
import type { ConsumerState, Delivery } from './message.js';
import type { MessageContext } from './message-context.js';
import { pgConsumerState } from './pg-consumer-state.js';
import { pgDeferredMessages } from './pg-deferred-messages.js';
import { deferredMessagesContract } from './testing/deferred-contract.js';
import { MemoryLog } from './testing/memory.js';
import { timeoutMs } from './testing/stage.js';

/** A failing message is deferred only while others succeed, so others are sent until all up to here is committed. */
async function untilCommitted(log: MemoryLog, state: ConsumerState, group: string): Promise<void> {
  const end = log.offsetsOf('t').at(-1) ?? '';
  const isCommitted = async () => {
    await log.publish([{ topic: 't', key: 'other', value: '"other"', headers: {} }]);
    return (await state.loadCheckpoint(group)) >= end;
  };
  await until(isCommitted, { timeoutMs });
}

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

  it('neither loses nor reorders a message that arrives while the last one of its key is settled', async () => {
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
        // Like a key queue: a message is handled at once only if its key has none in the table.
        else if (!(await table.follow(group, message(n)))) handled.push(n);
      }
      isOver = true;
    };
    await Promise.all([worker(), worker(), receiver()]);
    expect(handled).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
  });

  it('keeps the order of each key while connections are cut and processes are replaced', async () => {
    const log = new MemoryLog();
    const group = `group-${randomUUID()}`;
    const state = pgConsumerState(pool);
    const succeeded = new Map<string, string[]>();
    let isMended = false;
    const start = () => {
      const strategy = new EmbeddedConsumerStrategy({
        ...{ group, source: log, state, deferred: pgDeferredMessages(pool) },
        ...{ commitIntervalMs: 5, backoffInitialMs: 5, backoffMaxMs: 20, deferAfterMs: 50 },
        ...{ retryInitialMs: 5, retryMaxMs: 20, retryPollMs: 10, idlePollMs: 10, leaseMs: 300 },
      });
      const handle = async (value: unknown, context: MessageContext) => {
        const { key } = context.getDelivery();
        await pool.query('SELECT 1');
        if (key.startsWith('sick') && !isMended)
          throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
        succeeded.set(key, [...(succeeded.get(key) ?? []), String(value)]);
      };
      strategy.addHandler('t', handle as never, true);
      strategy.listen(() => undefined);
      return strategy;
    };
    const killer = new pg.Client({ connectionString: database.url });
    await killer.connect();
    let consumer = start();
    const keys = ['sick-1', 'sick-2', 'a', 'b', 'c'];
    for (let n = 0; n < 200; n += 1) {
      const key = keys[n % keys.length] ?? '';
      await log.publish([{ topic: 't', key, value: String(n), headers: {} }]);
      if (n % 25 === 0)
        await killer.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        );
      if (n % 40 !== 39) continue;
      await untilCommitted(log, state, group);
      await consumer.abandon();
      consumer = start();
    }
    expect([...succeeded.keys()].sort()).toEqual(['a', 'b', 'c', 'other']);
    isMended = true;
    const table = pgDeferredMessages(pool);
    await until(() => table.isEmpty(group), { timeoutMs });
    await consumer.close();
    await killer.end();
    keys.forEach((key, first) => {
      const expected = Array.from({ length: 40 }, (_, n) => String(first + n * keys.length));
      expect([...new Set(succeeded.get(key))]).toEqual(expected);
    });
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
