import { createTestDatabase } from '@pis/local-servers/testing';
import pg from 'pg';
import { migrate } from './migrate.js';

it("pis migrate brings the service's own schema up from nothing", async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('DROP SCHEMA public CASCADE');
  await client.query('CREATE SCHEMA public');
  await client.end();
  const applied = await migrate({ connectionString: database.url });
  expect(applied).toContain('20261121000300_read_models');
  await database.drop();
});
