/** What ACH costs: payments to a bank and back on PostgreSQL, and the files alone. Each load has a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@pis/local-servers';
import { migrate } from '@pis/read-models';
import { say } from '../../workspace.mjs';
import { measure } from '../processes.mjs';

const full = { rounds: 5, payments: 10_000, entries: 100_000 };
// The large file stays large: its memory is what it is there for.
const short = { rounds: 1, payments: 1_000, entries: 100_000 };
/** A bounded heap: otherwise the peak also depends on when garbage is collected, and is higher on a busy machine. */
const largeFileNodeOptions = ['--max-old-space-size=192'];
const fileLoads = 'rails/ach-files.mjs';
const bankLoad = 'rails/ach-bank.mjs';

export async function rails({ isShort }) {
  const { rounds, payments, entries } = isShort ? short : full;
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-'));
  const undo = [() => rmSync(scratch, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres({ dataDir: join(scratch, 'postgres'), database: 'bench' });
    undo.push(() => postgres.stop());
    await migrate({ connectionString: postgres.url });
    say(`${payments} payments to a bank and back, by NACHA files`);
    const bank = await measure(bankLoad, { databaseUrl: postgres.url, payments });
    say(`${payments} entries into one NACHA file and back from a return file, in memory`);
    const files = [];
    for (let round = 0; round < rounds; round += 1)
      files.push(await measure(fileLoads, { load: 'roundTrip', entries: payments }));
    say(`a NACHA file of ${entries} entries`);
    const path = join(scratch, 'large.ach');
    const written = await measure(
      fileLoads,
      { load: 'write', entries, path },
      largeFileNodeOptions,
    );
    const read = await measure(fileLoads, { load: 'read', path }, largeFileNodeOptions);
    return { bank, files, large: { written, read } };
  } finally {
    for (const step of undo.reverse()) await step();
  }
}
