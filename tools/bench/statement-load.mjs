/** Makes and stores one statement, as `statement-generator` does, and answers with its figures. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { postgresDocuments } from '@pis/documents';
import { postgresEventStore, sealedStore, systemContext } from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import { createPool } from '@pis/postgres';
import { generateStatement } from '@pis/statements/generation';

const silent = { warn: () => {}, debug: () => {} };
const october = { year: 2026, month: 10 };

process.once('message', async ({ databaseUrl, originatorId, payments }) => {
  const pool = createPool(databaseUrl, 'bench', silent);
  const keyring = await testKeyringOn(pool);
  const store = sealedStore(postgresEventStore({ pool }), keyring);
  const context = {
    ...{ store, pool, documents: postgresDocuments(pool, keyring), by: systemContext('bench') },
    now: () => new Date('2026-11-02T00:00:00.000Z'),
  };
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = performance.now();
  const made = await generateStatement(context, { originatorId, ...october });
  const ms = performance.now() - startedAt;
  if ('refused' in made) throw new Error(made.refused);
  const { figures, sizeBytes } = made.statement;
  const { paymentsIn, paymentsOut, withoutMovement, returnsIn, returnsOut } = figures;
  const moved = paymentsIn.count + paymentsOut.count;
  if (moved + withoutMovement.count !== payments)
    throw new Error(`the statement has ${moved + withoutMovement.count} of ${payments} payments`);
  const { user, system } = process.cpuUsage();
  process.send({
    ...{ payments, lines: payments + returnsIn.count + returnsOut.count, bytes: sizeBytes },
    ...{ ms, cpuMs: (user + system) / 1_000, blockedMaxMs: delay.max / 1e6 },
    peakRssMb: process.resourceUsage().maxRSS / 1024,
  });
  await store.close();
  await pool.end();
  process.disconnect();
});
