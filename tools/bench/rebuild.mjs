/** `pis projections rebuild` of the list of payments from a log in PostgreSQL that nobody else uses: events per second. */
import { createPool } from '@pis/postgres';
import { postgresEventStore } from '@pis/event-store';
import { migrate, rebuildProjection } from '@pis/read-models';
import { say } from '../workspace.mjs';
import { writeLog } from './audit-log.mjs';
import { median, spread } from './statistics.mjs';
import { withPostgres } from './with-postgres.mjs';

const full = { payments: 100_000, rounds: 3 };
const short = { payments: 2_000, rounds: 1 };
const writtenWithinMs = 600_000;
const projection = 'payments';
const silent = { warn: () => {}, debug: () => {} };

export async function rebuild({ isShort }) {
  const { payments, rounds } = isShort ? short : full;
  return await withPostgres(async ({ databaseUrl, undo }) => {
    await migrate({ connectionString: databaseUrl });
    const pool = createPool(databaseUrl, 'bench', silent);
    undo.push(() => pool.end());
    say(`a log of ${payments} payments`);
    await writeLog(pool, payments, { withinMs: writtenWithinMs });
    await pool.query('VACUUM ANALYZE events');
    const store = postgresEventStore({ pool });
    undo.push(() => store.close());
    const reports = [];
    for (let round = 1; round <= rounds; round += 1) {
      say(`rebuild ${round} of ${rounds}`);
      const before = process.cpuUsage();
      const report = await rebuildProjection(projection, { store, pool });
      const { user, system } = process.cpuUsage(before);
      reports.push({ ...report, cpuUsPerEvent: (user + system) / report.eventsRead });
    }
    return {
      events: reports[0].eventsRead,
      rate: spread(reports.map(({ eventsPerSecond }) => eventsPerSecond)),
      cpuUsPerEvent: median(reports.map(({ cpuUsPerEvent }) => cpuUsPerEvent)),
    };
  });
}

export function reportRebuild({ events, rate, cpuUsPerEvent }) {
  const english = (number) => Math.round(number).toLocaleString('en');
  const rows = [
    [`A REBUILD OF THE LIST OF PAYMENTS, ${english(events)} EVENTS`, '', 'goal'],
    [
      'events per second',
      `${english(rate.median)} (${english(rate.min)}–${english(rate.max)})`,
      '≥ 40,000',
    ],
    ['processor time of Node.js, per event', `${cpuUsPerEvent.toFixed(1)} µs`, ''],
  ];
  for (const [name, value, goal] of rows)
    console.log(`${name.padEnd(50)}  ${value.padEnd(24)}  ${goal}`.trimEnd());
}
