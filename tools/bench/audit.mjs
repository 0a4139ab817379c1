/** `pis audit verify` over a large log in PostgreSQL, in a process of its own: events per second, and memory. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@pis/local-servers';
import { createPool } from '@pis/postgres';
import { migrate } from '@pis/read-models';
import { say } from '../workspace.mjs';
import { writeLog } from './audit-log.mjs';
import { measure } from './processes.mjs';

const eventsOfPayment = 3;
const full = { payments: 200_000 };
const short = { payments: 4_000 };
/** Of `--events`: larger logs belong on a server. */
const eventsMax = 10_000_000;
/** On disk, with its share of the indexes; and what PostgreSQL needs besides, most of it its write-ahead log. */
const eventMaxBytes = 2_000;
const spareBytes = 3_000_000_000;
/** For writing the log, and again for the audit. It is many times what this takes on two cores. */
const eventsPerSecondMin = 1_000;
const startMs = 60_000;
const goals = { eventsPerSecond: 50_000 };
const silent = { warn: () => {}, debug: () => {} };

/** @param events of the log; absent for the size of every run */
export async function audit({ isShort, events }) {
  const payments = events === undefined ? (isShort ? short : full).payments : paymentsOf(events);
  const withinMs = startMs + ((payments * eventsOfPayment) / eventsPerSecondMin) * 1_000;
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-audit-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres({ dataDir: join(scratch, 'postgres'), database: 'bench' });
    undo.push(() => postgres.stop());
    await migrate({ connectionString: postgres.url });
    say(`${eventsOfPayment * payments} events of ${payments} payments in the log`);
    const pool = createPool(postgres.url, 'bench', silent);
    await writeLog(pool, payments, { withinMs });
    await pool.query('VACUUM ANALYZE events');
    await pool.end();
    say('the audit of that log');
    return await measure('audit-load.mjs', { databaseUrl: postgres.url, withinMs });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** @throws Error for what is no number of events, or needs more room than the disk has */
function paymentsOf(events) {
  if (!Number.isInteger(events) || events < eventsOfPayment || events > eventsMax)
    throw new Error(`--events must be a number from ${eventsOfPayment} to ${eventsMax}`);
  const { bavail, bsize } = statfsSync(tmpdir());
  const neededBytes = events * eventMaxBytes + spareBytes;
  if (bavail * bsize < neededBytes)
    throw new Error(
      `${events} events need ${Math.ceil(neededBytes / 1e9)} GB in ${tmpdir()}: set TMPDIR to a larger disk`,
    );
  return Math.floor(events / eventsOfPayment);
}

export function reportAudit({ events, streams, eventsPerSecond, cpuMs, peakRssMb }) {
  const english = (number) => Math.round(number).toLocaleString('en');
  const rows = [
    [`THE AUDIT OF ${english(events)} EVENTS IN ${english(streams)} STREAMS`, '', 'goal'],
    ['events per second', english(eventsPerSecond), `≥ ${english(goals.eventsPerSecond)}`],
    ['processor time of the process, per event', `${((cpuMs * 1_000) / events).toFixed(1)} µs`, ''],
    ['peak memory of the process', `${english(peakRssMb)} MB`, ''],
  ];
  for (const [name, value, goal] of rows)
    console.log(`${name.padEnd(50)}  ${value.padEnd(10)}  ${goal}`.trimEnd());
}
