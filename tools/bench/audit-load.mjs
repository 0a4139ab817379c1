/** Verifies a log as `pis audit verify` does, and answers with its figures. */
import { postgresLog, verifyLog } from '@pis/audit';
import { createPool } from '@pis/postgres';

const silent = { warn: () => {}, debug: () => {} };

process.once('message', async ({ databaseUrl, withinMs }) => {
  const pool = createPool(databaseUrl, 'bench', silent);
  const report = await verifyLog({
    source: postgresLog(pool),
    signal: AbortSignal.timeout(withinMs),
  });
  const [finding] = report.findings;
  if (finding !== undefined) throw new Error(`${finding.stream}: ${finding.differs}`);
  const { user, system } = process.cpuUsage();
  process.send({
    events: report.eventsRead,
    streams: report.streams,
    eventsPerSecond: report.eventsPerSecond,
    cpuMs: (user + system) / 1_000,
    peakRssMb: process.resourceUsage().maxRSS / 1024,
  });
  await pool.end();
  process.disconnect();
});
