import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import pg from 'pg';
import { createPool } from './pool.js';
import { inTransaction } from './transaction.js';

const log = { warn: () => undefined, debug: () => undefined };

describe('a transaction', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let session: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase();
    pool = createPool(database.url, 'spec', log);
    session = new pg.Client({ connectionString: database.url });
    await session.connect();
    await pool.query('CREATE TABLE things (name TEXT PRIMARY KEY)');
  });
  afterEach(async () => {
    await session.end();
    await pool.end();
    await database.drop();
  });

  const names = async () => {
    const { rows } = await pool.query<{ name: string }>('SELECT name FROM things ORDER BY name');
    return rows.map(({ name }) => name);
  };
  const insert = (client: pg.ClientBase, name: string) =>
    client.query('INSERT INTO things (name) VALUES ($1)', [name]);

  describe.each([
    ['on a connection of the pool', () => pool],
    ['in a session of its own', () => session],
  ] as const)('%s', (_, on) => {
    it('keeps all of its work', async () => {
      const result = await inTransaction(on(), async (client) => {
        await insert(client, 'a');
        await insert(client, 'b');
        return 'done';
      });
      expect(result).toBe('done');
      expect(await names()).toEqual(['a', 'b']);
    });

    it('keeps nothing when its work fails, and the next transaction works', async () => {
      const failed = inTransaction(on(), async (client) => {
        await insert(client, 'a');
        throw new Error('changed my mind');
      });
      await expect(failed).rejects.toThrow('changed my mind');
      await inTransaction(on(), (client) => insert(client, 'b'));
      expect(await names()).toEqual(['b']);
    });

    it('fails when PostgreSQL rolled it back, even if its work ignored the failed statement', async () => {
      const failed = inTransaction(on(), async (client) => {
        await insert(client, 'a');
        await insert(client, 'a').catch(() => undefined);
      });
      await expect(failed).rejects.toThrow('rolled back');
      expect(await names()).toEqual([]);
    });
  });

  it('that failed does not return its connection to the pool', async () => {
    const idOf = async (client: pg.ClientBase) => {
      const { rows } = await client.query<{ id: number }>('SELECT pg_backend_pid() AS id');
      return rows[0]?.id;
    };
    const ids: (number | undefined)[] = [];
    const failed = inTransaction(pool, async (client) => {
      ids.push(await idOf(client));
      throw new Error('failed');
    });
    await expect(failed).rejects.toThrow('failed');
    await inTransaction(pool, async (client) => void ids.push(await idOf(client)));
    expect(ids[1]).not.toBe(ids[0]);
  });
});
