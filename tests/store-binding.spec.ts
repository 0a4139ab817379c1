/** A process with another environment or master key than its stores exits with the reason and changes nothing. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import pg from 'pg';
import { pis, run, startProcess } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

const testLimitMs = 240_000;

let base: string;
let database: TestDatabase;
let own: Record<string, string>;
beforeEach(async () => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-binding-'));
  database = await createTestDatabase();
  own = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(base, 'data'),
    PIS_METRICS_PORT: '0',
    PORT: '0',
  };
});
afterEach(async () => {
  await database?.drop();
  rmSync(base, { recursive: true, force: true });
});

async function query(sql: string): Promise<object[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<object>(sql).finally(() => client.end());
  return rows;
}

it(
  'npm start and pis refuse foreign stores before they change anything',
  async () => {
    const first = await startProcess(null, own);
    expect(await first.stop()).toBe(0);
    // As if this release had a migration: it must not reach a foreign database.
    const migration = "migration_name = '20261123000700_store_binding'";
    await query(`DELETE FROM _prisma_migrations WHERE ${migration}`);
    const before = await query('SELECT position FROM event_log_head');

    const bank = {
      PIS_BANKS_FILE: banksFile(base),
      BANK_PASSWORD: 'none',
      PIS_AUDIT_KEY: randomBytes(32).toString('base64'),
    };
    const production = { ...own, ...bank, PIS_ENVIRONMENT: 'production' };
    expectRefusal(await run(['tools/start.mjs'], production), 'PIS_ENVIRONMENT: ', 'the sandbox');
    const otherKey = { ...own, PIS_MASTER_KEY: randomBytes(32).toString('base64') };
    expectRefusal(await run(['tools/start.mjs'], otherKey), 'PIS_MASTER_KEY: ');
    expect(await query(`SELECT FROM _prisma_migrations WHERE ${migration}`)).toEqual([]);
    expectRefusal(await pis(['projections', 'status'], production), 'PIS_ENVIRONMENT: ');
    expectRefusal(await pis(['projections', 'status'], otherKey), 'PIS_MASTER_KEY: ');
    expect(await query('SELECT position FROM event_log_head')).toEqual(before);
  },
  testLimitMs,
);

it(
  'production does not start with a simulated bank',
  async () => {
    const production = { ...own, PIS_ENVIRONMENT: 'production' };
    expectRefusal(await run(['tools/start.mjs'], production), 'PIS_BANKS_FILE: ');
    const url = { PIS_BANK_URL: 'http://127.0.0.1:1' };
    expectRefusal(await run(['tools/start.mjs'], { ...production, ...url }), 'PIS_BANK_URL: ');
    expectRefusal(
      await run(['tools/start.mjs', 'bank-simulator'], production),
      'the simulated bank is for the sandbox',
    );
  },
  testLimitMs,
);

/** A bank that no test reaches. Its one secret is in BANK_PASSWORD. */
function banksFile(folder: string): string {
  const file = path.join(folder, 'banks.yaml');
  writeFileSync(
    file,
    `banks:
  - name: bank
    connections:
      - name: bank
        rails: [ACH]
        terms: { submissionInFlightMaxMs: 60000, referenceMemoryMs: 7776000000 }
        sftp:
          host: 127.0.0.1
          port: 1
          username: acme
          hostKeys: ['SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDKzeaCl4W2lZ1iWkE']
          password: { variable: BANK_PASSWORD }
          outboundFolder: /out
          inboundFolder: /in
        ach:
          odfiRoutingNumber: '121000248'
          immediateOrigin: '1234567890'
          immediateOriginName: ACME
          immediateDestination: '121000248'
          immediateDestinationName: BANK
          company: { name: ACME, id: '1234567890' }
`,
  );
  return file;
}
