/** Writes one export of all payments as CSV, as `statement-generator` does, and answers with its figures. */
import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { postgresDocuments } from '@pis/documents';
import { ExportFiles, exportRequests, ExportWorker, pieceSources } from '@pis/exports';
import { testKeyringOn } from '@pis/keyring/testing';
import { createPool } from '@pis/postgres';

const silent = { warn: () => {}, debug: () => {} };
const rssMb = () => process.memoryUsage.rss() / 1024 / 1024;

process.once('message', async ({ databaseUrl, organizationId, payments }) => {
  const pool = createPool(databaseUrl, 'bench', silent);
  const keyring = await testKeyringOn(pool);
  const worker = new ExportWorker({
    pool,
    files: new ExportFiles(pool, postgresDocuments(pool, keyring)),
    sources: pieceSources(pool),
    progressOf: () => null,
    isHeld: () => Promise.resolve(false),
    destroyKeys: (owners) => keyring.destroy(owners),
    onFailure: (error) => {
      throw error;
    },
  });
  const requests = exportRequests(pool);
  const { id } = await requests.create({
    ...{ id: randomUUID(), organizationId, fileId: randomUUID(), kind: 'payments', format: 'csv' },
    ...{ originatorId: null, from: null, to: null, throughPosition: '', requestedBy: 'bench' },
    requestedAt: new Date(),
  });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = performance.now();
  let found;
  let tenth = null;
  do {
    await worker.round();
    found = await requests.find(id);
    if (tenth === null && found.rowCount >= payments / 10) tenth = rssMb();
  } while (found.status === 'queued' || found.status === 'running');
  const ms = performance.now() - startedAt;
  const end = rssMb();
  if (found.status !== 'completed' || found.rowCount !== payments)
    throw new Error(`the export is ${found.status} with ${found.rowCount} of ${payments} payments`);
  const { user, system } = process.cpuUsage();
  const peak = process.resourceUsage().maxRSS / 1024;
  process.send({
    ...{ payments, bytes: found.sizeBytes, parts: found.parts, ms, cpuMs: (user + system) / 1_000 },
    ...{ rssMb: { tenth, end, peak }, blockedMaxMs: delay.max / 1e6 },
  });
  await worker.stop();
  await pool.end();
  process.disconnect();
});
