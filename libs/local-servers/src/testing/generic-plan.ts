import type pg from 'pg';

/** How PostgreSQL executes a statement that a session has prepared and executed a few times: whatever its values are. */
export async function genericPlanOf(client: pg.ClientBase, text: string): Promise<string> {
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
