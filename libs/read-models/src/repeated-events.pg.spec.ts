/** Events whose rows are in the tables already, as when the checkpoint of a projection was lost. */
import { memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { ProjectionRunner } from './projection-runner.js';
import type { ProjectionName } from './projected-streams.js';
import { projectionNames, projections } from './projections.js';
import { queuePayment } from './testing.js';
import { writeWholeHistory } from './testing/whole-history.js';

const timeoutMs = 20_000;
/** More statements than a projection makes of one page. */
const statementsMax = 200;
const outagesMs = 240_000;

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

/** A projection that has read a whole history. */
async function projected(name: ProjectionName) {
  const projection = projections[name];
  const store = memoryEventStore();
  await writeWholeHistory(store);
  const catchUp = async () => {
    const runner = new ProjectionRunner({ projection, store, pool });
    runner.start();
    try {
      expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
    } finally {
      await runner.stop();
    }
  };
  const rows = async () => {
    const found: string[] = [];
    for (const { name: table } of projection.tables) {
      const { rows: each } = await pool.query<{ row: string }>(
        `SELECT to_jsonb(t)::text AS row FROM ${table} t`,
      );
      found.push(...each.map(({ row }) => `${table} ${row}`));
    }
    return found.toSorted();
  };
  await catchUp();
  return { projection, store, catchUp, rows };
}

it.each(projectionNames)('%s has them once, and what comes with them', async (name) => {
  const { projection, store, catchUp, rows } = await projected(name);
  const before = await rows();
  expect(before).not.toEqual([]);
  await pool.query('DELETE FROM projection_checkpoints WHERE name = $1', [name]);
  await catchUp();
  expect(await rows()).toEqual(before);

  await pool.query('DELETE FROM projection_checkpoints WHERE name = $1', [name]);
  const { paymentId } = await queuePayment(store, new Date().toISOString());
  await catchUp();
  const after = await rows();
  expect(after).toEqual(expect.arrayContaining(before));
  if (projection.streamPrefixes.includes('payment-'))
    expect(after.some((row) => row.includes(paymentId))).toBe(true);
});

describe.each(['new', 'there already'])('rows that are %s', (what) => {
  it.each(projectionNames)(
    'are in %s once, whichever statement loses its connection',
    async (name) => {
      const { projection, catchUp, rows } = await projected(name);
      const before = await rows();
      const tables = projection.tables.map(({ name: table }) => table);
      await endConnectionsIn([...tables, 'projection_checkpoints']);
      for (let statement = 1; statement <= statementsMax; statement += 1) {
        if (what === 'new') await pool.query(`TRUNCATE ${tables.join(', ')} CASCADE`);
        await pool.query('DELETE FROM projection_checkpoints WHERE name = $1', [name]);
        await pool.query('UPDATE ending SET at = $1', [statement]);
        await pool.query("SELECT setval('ending_counts', 1, false)");
        await catchUp();
        expect(await rows()).toEqual(before);
        const { rows: counts } = await pool.query<{ last: number }>(
          'SELECT last_value::int AS last FROM ending_counts',
        );
        if ((counts[0]?.last ?? 0) < statement) {
          expect(statement).toBeGreaterThan(3);
          return;
        }
      }
      throw new Error('there are more statements than statementsMax');
    },
    outagesMs,
  );
});

/** The server ends the connection of the k-th statement that changes these tables, before it or after it, or at the commit. */
async function endConnectionsIn(tables: readonly string[]): Promise<void> {
  await pool.query('CREATE TABLE ending (at int NOT NULL); INSERT INTO ending VALUES (0)');
  // No rollback takes back what a sequence has counted.
  await pool.query('CREATE SEQUENCE ending_counts');
  await pool.query(`
    CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('ending_counts') = (SELECT at FROM ending) THEN
        PERFORM pg_terminate_backend(pg_backend_pid());
      END IF;
      RETURN NULL;
    END $$`);
  for (const table of tables) {
    for (const moment of ['BEFORE', 'AFTER'])
      await pool.query(`
        CREATE TRIGGER ending_${moment.toLowerCase()} ${moment} INSERT OR UPDATE OR DELETE ON ${table}
        FOR EACH STATEMENT EXECUTE FUNCTION end_connection()`);
  }
  await pool.query(`
    CREATE CONSTRAINT TRIGGER ending_commit AFTER INSERT OR UPDATE ON projection_checkpoints
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection()`);
}
