/** Every column and row of every table of the read models: a change of it is found, and told by its name. */
import { jest } from '@jest/globals';
import { memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { ProjectionRunner } from './projection-runner.js';
import { projectionNames, projections } from './projections.js';
import { tableDifferences } from './table-differences.js';
import { writeWholeHistory } from './testing/whole-history.js';

jest.setTimeout(120_000);
const caughtUpWithinMs = 60_000;
const tables = projectionNames.flatMap((name) =>
  projections[name].tables.map(({ name: of }) => of),
);

let database: TestDatabase;
let pool: pg.Pool;
/** In a transaction, with a copy of each table as it is. */
let client: pg.PoolClient;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2 * projectionNames.length);
  const store = memoryEventStore();
  await writeWholeHistory(store);
  const end = await store.lastPosition();
  const runners = projectionNames.map(
    (name) => new ProjectionRunner({ projection: projections[name], store, pool }),
  );
  for (const runner of runners) runner.start();
  const isThere = await Promise.all(runners.map((runner) => runner.waitFor(end, caughtUpWithinMs)));
  await Promise.all(runners.map((runner) => runner.stop()));
  if (isThere.includes(false)) throw new Error('a projection has not caught up in time');
  client = await pool.connect();
  await client.query('BEGIN');
  for (const table of tables)
    await client.query(`CREATE TEMPORARY TABLE ${table} AS TABLE public.${table}`);
});
afterAll(async () => {
  client?.release(true);
  await pool?.end();
  await database?.drop();
});
beforeEach(() => client.query('SAVEPOINT before'));
afterEach(() => client.query('ROLLBACK TO before'));

async function found(name: string): Promise<string[]> {
  const told: string[] = [];
  const pair = { name, schema: 'public', withPersonalData: true };
  for await (const { row, column, differs } of tableDifferences(client, pair))
    told.push(`${row} ${column ?? differs}`);
  return told;
}

/** Of the first row of a table, as SQL. */
async function keyOf(table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `SELECT string_agg(quote_ident(attname) || '::text', ', ' ORDER BY attnum) AS columns
     FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
     WHERE indrelid = $1::regclass AND indisprimary`,
    [`public.${table}`],
  );
  return `concat_ws('/', ${rows[0]?.columns ?? ''})`;
}

const firstRow = (table: string) =>
  `ctid = (SELECT ctid FROM public.${table} ORDER BY ctid LIMIT 1)`;

it.each(tables)('%s: a change of any column is found in its row', async (table) => {
  expect(await found(table)).toEqual([]);
  const key = await keyOf(table);
  const { rows: columns } = await client.query<{ column: string; type: string }>(
    `SELECT attname AS column, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [`public.${table}`],
  );
  const undetected: string[] = [];
  for (const { column, type } of columns) {
    await client.query('SAVEPOINT before_change');
    const { rows } = await client.query<{ row: string }>(
      `UPDATE public.${table} SET ${column} = ${otherValue(column, type)}
       WHERE ${firstRow(table)} RETURNING ${key} AS row`,
    );
    const row = `${rows[0]?.row} `;
    if (!(await found(table)).some((text) => text.startsWith(row))) undetected.push(column);
    await client.query('ROLLBACK TO before_change');
  }
  expect(undetected).toEqual([]);
  expect(columns.length).toBeGreaterThan(4);
});

/** Another value of the same type that the constraints of the tables allow. */
function otherValue(column: string, type: string): string {
  switch (type) {
    case 'uuid':
      return 'gen_random_uuid()';
    case 'integer':
    case 'bigint':
    case 'smallint':
      // Of a kind that no other row has, for keys.
      return `coalesce(${column}, 0) - 100`;
    case 'boolean':
      return `NOT coalesce(${column}, false)`;
    case 'date':
      return `${column} - 100`;
    case 'bytea':
      return `set_byte(${column}, 0, get_byte(${column}, 0) # 1)`;
    case 'json':
      return `(left(${column}::text, -1) || ',"forged":true}')::json`;
    case 'text':
      return `coalesce(${column}, '') || 'x'`;
    default:
      return `coalesce(${column}, now()) - interval '1 ms'`;
  }
}

it.each(tables)('%s: a row that is missing is found', async (table) => {
  const { rows } = await client.query<{ row: string }>(
    `DELETE FROM public.${table} WHERE ${firstRow(table)} RETURNING ${await keyOf(table)} AS row`,
  );
  expect(await found(table)).toEqual([`${rows[0]?.row} the row is missing`]);
});

it.each(tables)('%s: a row that the log does not have is found', async (table) => {
  const { rows } = await client.query<{ row: string }>(
    `DELETE FROM pg_temp.${table} WHERE ctid = (SELECT min(ctid) FROM pg_temp.${table})
     RETURNING ${await keyOf(table)} AS row`,
  );
  expect(await found(table)).toEqual([`${rows[0]?.row} the log has no such row`]);
});

it('JSON whose fields an earlier release wrote in another order is the same', async () => {
  await client.query('UPDATE public.payments SET item = item::jsonb::json');
  expect(await found('payments')).toEqual([]);
});

it('sums of nothing are the same as no sums', async () => {
  await client.query(
    'INSERT INTO public.payment_days SELECT organization_id, status, day - 9, direction, payment_rail, return_reason_code, 0, 0 FROM public.payment_days LIMIT 1',
  );
  expect(await found('payment_days')).toEqual([]);
});
