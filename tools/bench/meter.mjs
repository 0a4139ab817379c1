/**
 * What a system uses: CPU time by process, statements and write-ahead log. The PostgreSQL has `meterSettings`, so it counts
 * statements itself (pg_stat_statements), at a few percent of its own CPU time.
 */
import pg from 'pg';
import { cpuMsByProcess, cpuMsOfTree, servesConnection } from './process-cpu.mjs';

export const meterSettings = ['shared_preload_libraries=pg_stat_statements'];

/** The read of one page of the log in libs/event-store; pg_stat_statements keeps its text. */
const logRead = /FROM event_log_head h\s+LEFT JOIN LATERAL/;

/**
 * @param processes the IDs of the processes of the system, by name
 * @returns `read()`, which counts from the start, and `close()`. Compare two readings with `used`.
 */
export async function openMeter({ databaseUrl, postgresPid, processes }) {
  // In another database of the server, so that the meter does not count itself.
  const elsewhere = new URL(databaseUrl);
  const database = elsewhere.pathname.slice(1);
  elsewhere.pathname = '/postgres';
  const client = new pg.Client({ connectionString: elsewhere.href });
  await client.connect();
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  return {
    async read() {
      const { rows } = await client.query(
        `SELECT s.queryid::text AS id, s.query, s.calls::float8 AS calls, s.total_exec_time AS ms
           FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
          WHERE d.datname = $1 AND s.toplevel`,
        [database],
      );
      const { rows: wal } = await client.query(
        `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
      );
      const postgres = cpuMsByProcess(postgresPid);
      return {
        atMs: performance.now(),
        processes: Object.entries(processes).map(([name, pid]) => [name, cpuMsOfTree(pid)]),
        postgres,
        connections: [...postgres.keys()].filter(servesConnection),
        statements: new Map(rows.map(({ id, ...statement }) => [id, statement])),
        walBytes: wal[0].bytes,
      };
    },
    close: () => client.end(),
  };
}

/** Between two readings: seconds, CPU time in ms by process, statements by their text, reads of the log, bytes of WAL. */
export function used(before, after) {
  const cpuMs = Object.fromEntries(
    after.processes.map(([name, ms], index) => [name, ms - before.processes[index][1]]),
  );
  const statements = [...after.statements]
    .map(([id, { query, calls, ms }]) => {
      const earlier = before.statements.get(id) ?? { calls: 0, ms: 0 };
      return { query, calls: calls - earlier.calls, ms: ms - earlier.ms };
    })
    .filter(({ calls }) => calls > 0);
  const callsOf = (some) => some.reduce((sum, { calls }) => sum + calls, 0);
  return {
    seconds: (after.atMs - before.atMs) / 1000,
    cpuMs: { ...cpuMs, ...postgresCpu(before, after) },
    statements,
    calls: callsOf(statements),
    logReads: callsOf(statements.filter(({ query }) => logRead.test(query))),
    walBytes: after.walBytes - before.walBytes,
  };
}

/** A connection that was closed meanwhile counts as part of the rest: its time has become that of its parent. */
function postgresCpu(before, after) {
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const total = sum([...after.postgres.values()]) - sum([...before.postgres.values()]);
  const connections = sum(
    after.connections.map((pid) => after.postgres.get(pid) - (before.postgres.get(pid) ?? 0)),
  );
  return { 'PostgreSQL, connections': connections, 'PostgreSQL, other': total - connections };
}
