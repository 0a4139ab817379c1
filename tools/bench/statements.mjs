/**
 * One large statement of a month, made from the log and the tables in a process of its own: how long it takes, and how
 * much memory at most.
 */
import { randomUUID } from 'node:crypto';
import { postgresEventStore, sealedStore } from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import { createPool } from '@pis/postgres';
import {
  directoryProjection,
  migrate,
  movementsProjection,
  ProjectionRunner,
} from '@pis/read-models';
import { say } from '../workspace.mjs';
import { measure } from './processes.mjs';
import { appendMonth } from './statement-log.mjs';
import { withPostgres } from './with-postgres.mjs';

const full = { payments: 100_000 };
const short = { payments: 1_000 };
const goals = { seconds: 60, peakRssMb: 500 };
/** Of the heap, as Node chooses it in a container of 512 MB. Without a limit Node lets garbage grow as long as there is memory. */
const heapMb = 256;
/** Until the tables have the month. */
const projectedWithinMs = 600_000;
const silent = { warn: () => {}, debug: () => {} };

export async function statements({ isShort }) {
  const { payments } = isShort ? short : full;
  return await withPostgres(async ({ databaseUrl }) => {
    await migrate({ connectionString: databaseUrl });
    const owner = { organizationId: randomUUID(), originatorId: randomUUID() };
    await prepare(databaseUrl, owner, payments);
    say('the statement of that month');
    const task = { databaseUrl, ...owner, payments };
    return await measure('statement-load.mjs', task, [`--max-old-space-size=${heapMb}`]);
  });
}

/** The log of the month, sealed as in production, and the tables that follow it. */
async function prepare(databaseUrl, owner, payments) {
  const pool = createPool(databaseUrl, 'bench', silent);
  const keyring = await testKeyringOn(pool);
  const store = sealedStore(postgresEventStore({ pool }), keyring);
  say(`${payments} payments of a month in the log`);
  await appendMonth(store, owner, payments);
  say('the tables');
  for (const projection of [directoryProjection, movementsProjection]) {
    const runner = new ProjectionRunner({ projection, store, pool });
    runner.start();
    const isDone = await runner.waitFor(await store.lastPosition(), projectedWithinMs);
    await runner.stop();
    if (!isDone) throw new Error(`the projection ${projection.name} is behind`);
  }
  await store.close();
  await pool.query('VACUUM ANALYZE');
  await pool.end();
}

export function reportStatements({ payments, lines, bytes, ms, cpuMs, peakRssMb, blockedMaxMs }) {
  const title = `THE STATEMENT OF ${payments.toLocaleString('en')} PAYMENTS`;
  const rows = [
    [`${title}, ${lines.toLocaleString('en')} LINES`, '', 'goal'],
    ['time', `${(ms / 1_000).toFixed(1)} s`, `≤ ${goals.seconds} s`],
    ['processor time of the process', `${(cpuMs / 1_000).toFixed(1)} s`, ''],
    ['peak memory of the process', `${Math.round(peakRssMb)} MB`, `≤ ${goals.peakRssMb} MB`],
    ['event loop blocked, longest', `${Math.round(blockedMaxMs)} ms`, ''],
    ['file', `${(bytes / 1e6).toFixed(1)} MB`, ''],
  ];
  for (const [name, value, goal] of rows)
    console.log(`${name.padEnd(50)}  ${value.padEnd(10)}  ${goal}`.trimEnd());
}
