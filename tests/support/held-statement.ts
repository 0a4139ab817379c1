/** A statement that PostgreSQL does not finish until the test says so: a place to kill a process at. */
import { until } from '@pis/local-servers/testing';
import pg from 'pg';

export interface HeldStatement {
  /** Waits until a statement is held. */
  isReached(timeoutMs: number): Promise<void>;
  /** Lets every statement go on, also those of a server that was killed. */
  ended(): Promise<void>;
  /** Nothing is held any more. */
  remove(pool: pg.Pool): Promise<void>;
}

/** Any number that no other advisory lock of the database uses. */
const lock = 4_711_001;

/** From now on each such statement on the table waits. One at a time. */
export async function heldStatement(
  pool: pg.Pool,
  { table, on }: { readonly table: string; readonly on: 'INSERT' | 'UPDATE' },
): Promise<HeldStatement> {
  const client = new pg.Client(pool.options);
  // The server may be killed under it.
  client.on('error', () => undefined);
  await client.connect();
  await client.query('SELECT pg_advisory_lock($1)', [lock]);
  await pool.query(`
    CREATE OR REPLACE FUNCTION hold_statement() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(${lock});
      RETURN NEW;
    END $$;
    CREATE TRIGGER hold_statement BEFORE ${on} ON ${table}
      FOR EACH ROW EXECUTE FUNCTION hold_statement()`);
  return {
    isReached: async (timeoutMs) => {
      const isHeld = async () => {
        const { rows } = await pool.query(
          "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted",
          [lock],
        );
        return rows.length > 0;
      };
      await until(isHeld, { timeoutMs, what: `${on} on ${table} is held` });
    },
    ended: () => client.end().catch(() => undefined),
    remove: async (current) => {
      await current.query(`DROP TRIGGER hold_statement ON ${table}`);
    },
  };
}
