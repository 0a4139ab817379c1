/**
 * The same inserts as insert-load.mjs by PostgreSQL's own pgbench, whose client takes less of the machine. The embedded
 * PostgreSQL does not contain it: it runs only where the machine has it in its PATH.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

const execute = promisify(execFile);
const threads = 2;

/** @returns { perSecond }, or null on a machine without pgbench */
export async function pgbenchInserts({ databaseUrl, scratch, clients, seconds, payload }) {
  const script = join(scratch, 'insert.sql');
  await writeFile(script, 'INSERT INTO pgbench_inserts (body) VALUES (:body);\n');
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('CREATE TABLE pgbench_inserts (id bigserial PRIMARY KEY, body json)');
    const load = ['-c', clients, '-j', threads, '-T', seconds, '-M', 'prepared', '-n'];
    const args = [...load, '-D', `body=${payload}`, '-f', script].map(String);
    const { stdout } = await execute('pgbench', args, { env: environmentOf(databaseUrl) });
    return { perSecond: Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]) };
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  } finally {
    await client.query('DROP TABLE IF EXISTS pgbench_inserts');
    await client.end();
  }
}

/** Not as an argument: those are visible to everyone on the machine. */
function environmentOf(databaseUrl) {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  return {
    ...process.env,
    ...{ PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password },
    PGDATABASE: pathname.slice(1),
  };
}
