/** Our ACH connection and the simulated bank's desk, which know nothing of each other but the bytes of files. */
import { achBank, atOnceSchedule } from '@pis/bank-rails/ach';
import { fileArchive } from '@pis/bank-rails/connections';
import { bankConnectionConformance } from '@pis/bank-rails/testing';
import { AchDesk, BankCore, inProcessFiles, sandboxAchIdentity } from '@pis/bank-simulator/module';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';

const roundsMax = 50;

bankConnectionConformance('over NACHA files to the simulated bank', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 10);
  const keyring = testKeyring();
  const core = new BankCore(pool, { delayMs: 0 });
  const transport = inProcessFiles(new AchDesk(core));
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const connection = achBank({
    ...{ name: 'simulated-ach', pool, keyring, transport, log },
    archive: fileArchive({ pool, keyring }),
    terms: core.terms,
    identity: sandboxAchIdentity,
    schedule: atOnceSchedule(),
    limits: { removeAfterMs: 0 },
  });
  return {
    connection,
    async settled() {
      for (let rounds = 0; rounds < roundsMax; rounds += 1) {
        const waitMs = await connection.rounds.outbound();
        await connection.rounds.inbound();
        if (waitMs === null && (await transport.list(1)).length === 0) return;
      }
    },
    async close() {
      await connection.close();
      await pool.end();
      await database.drop();
    },
  };
});
