/** Copies of rows that their tables keep only for a moment, so that a search sees what was in them. */
import pg from 'pg';

/** Where the copies are, in tables of the same name. */
export const passedSchema = 'passed';

/** Their rows are deleted when the work on them is done. */
const passingTables = [
  'bank_files',
  'rail_notifications',
  'rail_notified_references',
  'rail_pending',
] as const;

/** From now on, until `forgetPassingRows`. */
export function keepPassingRows(databaseUrl: string): Promise<void> {
  return withClient(databaseUrl, async (client) => {
    await client.query(`CREATE SCHEMA ${passedSchema};
      CREATE FUNCTION ${passedSchema}.keep() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        EXECUTE format('INSERT INTO ${passedSchema}.%I SELECT ($1).*', TG_TABLE_NAME) USING NEW;
        RETURN NULL;
      END $$`);
    for (const table of passingTables)
      await client.query(`CREATE TABLE ${passedSchema}.${table} (LIKE public.${table});
        CREATE TRIGGER keep_passing AFTER INSERT OR UPDATE ON public.${table}
        FOR EACH ROW EXECUTE FUNCTION ${passedSchema}.keep()`);
  });
}

/** No erasure reaches the copies: they are the test's own. */
export function forgetPassingRows(databaseUrl: string): Promise<void> {
  return withClient(databaseUrl, async (client) => {
    await client.query(`DROP SCHEMA ${passedSchema} CASCADE`);
  });
}

export async function withClient<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
