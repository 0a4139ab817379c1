import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { ownConnection } from './own-connection.js';
import { endSession } from './singleton.js';

it('takes as long as it needs, whatever limits the database has', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 1);
  const { rows: names } = await pool.query<{ name: string }>('SELECT current_database() AS name');
  const limits = ['statement', 'transaction', 'idle_in_transaction_session'];
  for (const limit of limits)
    await pool.query(`ALTER DATABASE "${names[0]?.name}" SET ${limit}_timeout = '30s'`);
  const client = await ownConnection(pool);
  try {
    const { rows } = await client.query(
      'SELECT name, setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name',
      [limits.map((limit) => `${limit}_timeout`)],
    );
    expect(rows).toEqual(
      limits.toSorted().map((limit) => ({ name: `${limit}_timeout`, setting: '0' })),
    );
  } finally {
    await endSession(client);
    await pool.end();
    await database.drop();
  }
});
