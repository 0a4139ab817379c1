import type pg from 'pg';

/** After five plans for its values a prepared statement may keep one for all values. */
const plansMax = 6;
/**
 * Rows and entries of indexes that one call may read of a table. A plan that reads everything reads a thousand or more. A good
 * one has read 94: former versions of a row stay in the index as long as a snapshot may need them, and others' do.
 */
const readMax = 300;

/**
 * Tests of a statement that a session has planned for all values while a table, or a partial index of it, was still
 * empty, and executes when it is not: `call` runs on the one connection of the pool, before and after `fill`.
 * @throws if a call afterwards reads more than a few rows of the table
 */
export async function expectFewRowsRead(
  pool: pg.Pool,
  table: string,
  { call, fill }: { readonly call: () => Promise<unknown>; readonly fill: () => Promise<unknown> },
): Promise<void> {
  for (let plans = 0; plans < plansMax; plans += 1) await call();
  await fill();
  const before = await rowsRead(pool, table);
  for (let calls = 0; calls < plansMax; calls += 1) await call();
  const perCall = ((await rowsRead(pool, table)) - before) / plansMax;
  if (perCall <= readMax) return;
  throw new Error(`${perCall} rows of ${table} read by a call`);
}

/**
 * Tests that a session plans a statement no further time once it could keep a plan. `call` executes it on the one connection
 * of the pool.
 * @param name of the prepared statement
 */
export async function expectKeptPlan(
  pool: pg.Pool,
  name: string,
  call: () => Promise<unknown>,
): Promise<void> {
  for (let calls = 0; calls < 2 * plansMax; calls += 1) await call();
  const { rows } = await pool.query<{ readonly plans: number }>(
    'SELECT custom_plans::int AS plans FROM pg_prepared_statements WHERE name = $1',
    [name],
  );
  const plans = rows[0]?.plans ?? null;
  if (plans === null || plans >= plansMax) throw new Error(`${name} was planned ${plans} times`);
}

/** How many rows of the table and entries of its indexes were read so far. */
async function rowsRead(pool: pg.Pool, table: string): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ readonly read: number }>(
    `SELECT (sum(i.idx_tup_read) + max(t.seq_tup_read))::float8 AS read
       FROM pg_stat_user_indexes i JOIN pg_stat_user_tables t USING (relid) WHERE i.relname = $1`,
    [table],
  );
  return rows[0]?.read ?? 0;
}
