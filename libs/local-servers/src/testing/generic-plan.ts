import pg from 'pg';
import { createTestDatabase, type TestDatabase } from './test-database.js';

/**
 * Tests of a queue, a table that is often empty: a session keeps the plan that it made for a statement then, also while
 * thousands of rows wait, so it must not scan the table.
 * @param statements the text of each, by a name
 */
export function describePlansOfQueue(table: string, statements: Readonly<Record<string, string>>) {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  describe.each([
    ['new', []],
    ['vacuumed', [`VACUUM (ANALYZE) ${table}`]],
  ])(`${table}, empty and %s`, (_, before) => {
    beforeAll(async () => {
      for (const statement of before) await client.query(statement);
    });

    it.each(Object.entries(statements))('is not scanned by %s', async (_name, text) => {
      const plan = await genericPlanOf(client, text);
      expect(plan).toContain(table);
      expect(plan).not.toContain(`Seq Scan on ${table}`);
    });
  });
}

/** How PostgreSQL executes a statement that a session has prepared and executed a few times: whatever its values are. */
async function genericPlanOf(client: pg.ClientBase, text: string): Promise<string> {
  const parameters = Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)), 0);
  const given = parameters === 0 ? '' : `(${Array(parameters).fill('NULL').join(', ')})`;
  await client.query('SET plan_cache_mode = force_generic_plan');
  await client.query(`PREPARE planned AS ${text}`);
  const { rows } = await client.query<{ readonly 'QUERY PLAN': string }>(
    `EXPLAIN EXECUTE planned ${given}`,
  );
  await client.query('DEALLOCATE planned');
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
