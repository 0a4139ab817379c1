/** Without a pooler: what the check looks at are two addresses, of one database or of two. */
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import pg from 'pg';
import { ConfigurationError } from './config.js';
import { checkPooler } from './pooler-check.js';

describe('a process behind a pooler', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  const check = async (directUrl: string | undefined) => {
    const warnings: unknown[] = [];
    const logger = { warn: (...line: unknown[]) => warnings.push(line), debug: () => undefined };
    await checkPooler({
      config: { DATABASE_DIRECT_URL: directUrl },
      ...{ databaseUrl: database.url, app: 'test', logger },
    });
    return warnings;
  };

  async function query(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  }

  it('is refused when its direct address leads to another database', async () => {
    const other = await createTestDatabase();
    try {
      await expect(check(other.url)).rejects.toThrow(ConfigurationError);
      await expect(check(other.url)).rejects.toThrow('DATABASE_DIRECT_URL: ');
    } finally {
      await other.drop();
    }
  });

  it('is warned once while its statements have no time limit', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const warning = [expect.stringContaining('statement_timeout is 0') as string];
    await query(`ALTER DATABASE ${name} SET statement_timeout = 0`);
    expect(await check(database.url)).toEqual([warning]);
    await query(`ALTER DATABASE ${name} SET statement_timeout = '30s'`);
    expect(await check(database.url)).toEqual([]);
  });

  it('without a direct address is not checked', async () => {
    expect(await check(undefined)).toEqual([]);
  });
});
