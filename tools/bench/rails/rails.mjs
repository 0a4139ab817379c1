/** What the formats of the rails cost, without a bank or a database. Each load has a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say } from '../../workspace.mjs';
import { measure } from '../processes.mjs';

const full = { rounds: 5, payments: 10_000, entries: 100_000 };
// The large file stays large: its memory is what it is there for.
const short = { rounds: 1, payments: 1_000, entries: 100_000 };
const loads = 'rails/ach-files.mjs';

export async function rails({ isShort }) {
  const { rounds, payments, entries } = isShort ? short : full;
  say(`${payments} payments into one NACHA file, and back from a return file`);
  const files = [];
  for (let round = 0; round < rounds; round += 1)
    files.push(await measure(loads, { load: 'roundTrip', entries: payments }));
  say(`a NACHA file of ${entries} entries`);
  const scratch = mkdtempSync(join(tmpdir(), 'pis-bench-'));
  try {
    const path = join(scratch, 'large.ach');
    const written = await measure(loads, { load: 'write', entries, path });
    const read = await measure(loads, { load: 'read', path });
    return { files, large: { written, read } };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
