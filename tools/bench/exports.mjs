/** One large export of payments as CSV, written by a process of its own: how long it takes, and whether memory stays flat. */
import { randomUUID } from 'node:crypto';
import { migrate } from '@pis/read-models';
import { say } from '../workspace.mjs';
import { insertPayments } from './payment-rows.mjs';
import { measure } from './processes.mjs';
import { withPostgres } from './with-postgres.mjs';

const full = { payments: 1_000_000 };
const short = { payments: 10_000 };
const goals = { seconds: 60, growthMax: 1.25 };

export async function exports({ isShort }) {
  const { payments } = isShort ? short : full;
  return await withPostgres(async ({ databaseUrl }) => {
    await migrate({ connectionString: databaseUrl });
    const organizationId = randomUUID();
    say(`${payments} payments in the list`);
    await insertPayments({ connectionString: databaseUrl, organizationId, rows: payments });
    say('an export of them as CSV');
    const task = { databaseUrl, organizationId, payments };
    return await measure('export-load.mjs', task);
  });
}

export function reportExports({ payments, bytes, parts, ms, cpuMs, rssMb, blockedMaxMs }) {
  const growth = rssMb.end / rssMb.tenth;
  const rows = [
    [`AN EXPORT OF ${payments.toLocaleString('en')} PAYMENTS AS CSV`, '', 'goal'],
    ['time', `${(ms / 1_000).toFixed(1)} s`, `≤ ${goals.seconds} s`],
    ['processor time of the process', `${(cpuMs / 1_000).toFixed(1)} s`, ''],
    ['memory of the process at 10 %', `${Math.round(rssMb.tenth)} MB`, ''],
    [
      'memory of the process at 100 %',
      `${Math.round(rssMb.end)} MB`,
      `≤ ${goals.growthMax} times that at 10 % (${growth.toFixed(2)})`,
    ],
    ['peak memory of the process', `${Math.round(rssMb.peak)} MB`, ''],
    ['event loop blocked, longest', `${Math.round(blockedMaxMs)} ms`, ''],
    ['file', `${(bytes / 1e6).toFixed(1)} MB in ${parts} parts`, ''],
  ];
  for (const [name, value, goal] of rows)
    console.log(`${name.padEnd(44)}  ${value.padEnd(20)}  ${goal}`.trimEnd());
}
