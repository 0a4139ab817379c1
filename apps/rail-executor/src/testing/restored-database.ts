/**
 * A dump of the tables of transfers, read in again as `pg_restore --clean` does it: the rows are those of the dump,
 * and the tables are new.
 */
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';

const tables = [
  ...['ach_banks', 'ach_entries', 'ach_files', 'ach_feed', 'iso_transfers', 'iso_message_numbers'],
  ...['rail_pending', 'rail_feed_checkpoint', 'rail_notifications', 'rail_notified_references'],
] as const;

/** @returns reads the dump in */
export async function dumpOf(pool: pg.Pool): Promise<() => Promise<void>> {
  await pool.query('DROP SCHEMA IF EXISTS dump CASCADE; CREATE SCHEMA dump');
  for (const table of [...tables, 'rail_connections'])
    await pool.query(`CREATE TABLE dump.${table} AS TABLE public.${table}`);
  return () =>
    inTransaction(pool, async (client) => {
      for (const table of tables) {
        await client.query(`TRUNCATE public.${table}`);
        await client.query(
          `INSERT INTO public.${table} OVERRIDING SYSTEM VALUE SELECT * FROM dump.${table}`,
        );
      }
      await client.query(`
        CREATE TABLE dump.made (LIKE public.rail_connections INCLUDING ALL);
        INSERT INTO dump.made SELECT * FROM dump.rail_connections;
        DROP TABLE public.rail_connections;
        ALTER TABLE dump.made RENAME TO rail_connections_made;
        ALTER TABLE dump.rail_connections_made SET SCHEMA public;
        ALTER TABLE public.rail_connections_made RENAME TO rail_connections`);
    });
}
