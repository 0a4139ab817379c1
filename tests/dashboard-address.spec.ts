/** A dashboard without payment pages beside it must know where the links of payments lead. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import { run, startProcess } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

const limitMs = 240_000;
const hint = 'PIS_PUBLIC_URL is not set: the links of payments begin with it.';

let scratch: string;
let database: TestDatabase;
let environment: Record<string, string>;
beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-dashboard-address-'));
  database = await createTestDatabase();
  environment = {
    DATABASE_URL: database.url,
    PIS_DATA_DIR: scratch,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
  };
}, limitMs);
afterAll(async () => {
  await database?.drop();
  rmSync(scratch, { recursive: true, force: true });
});

it(
  'in production it does not start without PIS_PUBLIC_URL, and says why',
  async () => {
    const production = {
      ...environment,
      PIS_ENVIRONMENT: 'production',
      PIS_BANKS_FILE: '/etc/pis/banks.yaml',
    };
    expectRefusal(
      await run(['tools/start.mjs', 'dashboard'], production),
      'PIS_PUBLIC_URL: required when PIS_ENVIRONMENT is production: the links of payments begin with it.',
    );
  },
  limitMs,
);

it(
  'in the sandbox it starts, and its log has a hint',
  async () => {
    const hinted = await startProcess('dashboard', environment);
    expect(await hinted.stop()).toBe(0);
    expect(hinted.stderr()).toContain(hint);
    const told = { ...environment, PIS_PUBLIC_URL: 'http://127.0.0.1:3008' };
    const silent = await startProcess('dashboard', told);
    expect(await silent.stop()).toBe(0);
    expect(silent.stderr()).not.toContain(hint);
  },
  limitMs,
);
