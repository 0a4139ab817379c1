import pg from 'pg';
import { createTestDatabase } from './test-database.js';

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('a test database', () => {
  it('is migrated, and no test sees what another test writes', async () => {
    const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    try {
      const migrated = await query(one.url, 'SELECT count(*)::int AS n FROM _prisma_migrations');
      expect(migrated[0]?.['n']).toBeGreaterThan(0);
      await query(one.url, 'CREATE TABLE mine (id int)');
      const tables = `SELECT 1 FROM information_schema.tables WHERE table_name = 'mine'`;
      expect(await query(one.url, tables)).toHaveLength(1);
      expect(await query(other.url, tables)).toHaveLength(0);
    } finally {
      await Promise.all([one.drop(), other.drop()]);
    }
  });

  it('can be dropped while connections to it are open', async () => {
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    client.on('error', () => undefined);
    await client.connect();
    await database.drop();
    await expect(query(database.url, 'SELECT 1')).rejects.toThrow(/does not exist/);
  });
});
