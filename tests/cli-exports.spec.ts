/** `pis exports` with an organization's API key, against `npm start`. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { pis, pisJson, type RunningProcess, startProcess } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(240_000);
const key = 'pis_test_cli_exports_spec';

let dataDir: string;
let running: RunningProcess;
let environment: Record<string, string>;
beforeAll(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-exports-'));
  running = await startProcess(null, { PIS_DATA_DIR: dataDir, PIS_BOOTSTRAP_API_KEY: key });
  environment = { PIS_PUBLIC_URL: String(running.ready['apiUrl']), PIS_API_KEY: key };
});
afterAll(async () => {
  await running?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

it('creates an export, waits for it, resumes its download, and shows it', async () => {
  const create = ['exports', 'create', '--kind', 'movements', '--format', 'camt053'];
  const { exportId, status } = await pisJson<{ exportId: string; status: string }>(
    create,
    environment,
  );
  expect(status).toBe('queued');
  const folder = mkdtempSync(path.join(dataDir, 'out-'));
  const file = path.join(folder, 'movements.xml');
  const download = ['exports', 'download', '--id', exportId, '--out', file];
  const done = await pisJson<{ sizeBytes: number; sha256: string }>(download, environment);
  const bytes = readFileSync(file);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(done).toEqual({ exportId, file, sizeBytes: bytes.length, sha256 });
  expect(bytes.toString()).toContain('camt.053');

  // As a run leaves it that was ended in the middle.
  rmSync(file);
  writeFileSync(`${file}.${exportId}.part`, bytes.subarray(0, 100));
  const resumed = await pis(download, environment);
  expect(resumed.stderr).toContain(`resuming at 100 of ${bytes.length} bytes`);
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(readdirSync(folder)).toEqual(['movements.xml']);

  expect(await pisJson(['exports', 'show', '--id', exportId], environment)).toMatchObject({
    ...{ exportId, status: 'completed', progress: 1, kind: 'movements', format: 'camt053', sha256 },
  });
});

it('refuses what the API refuses, and says why', async () => {
  const of = (kind: string, format: string) =>
    pis(['exports', 'create', '--kind', kind, '--format', format, '--json'], environment);
  expectRefusal(await of('fees', 'bai2'), /VALIDATION_ERROR[^]*\n +format is not one of/);
  expectRefusal(await of('refunds', 'csv'), /Allowed choices are payments, fees/);
  const unknown = ['--id', '0f8fad5b-d9cb-469f-a165-70867728950e'];
  expectRefusal(await pis(['exports', 'show', ...unknown], environment), /NOT_FOUND/);
  const keyless = { ...environment, PIS_API_KEY: '' };
  expectRefusal(await pis(['exports', 'show', ...unknown], keyless), /PIS_API_KEY/);
});
