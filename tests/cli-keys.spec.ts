/** The operator who replaces the master key: `pis keys status` and `pis keys rotate`, killed in between. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import pg from 'pg';
import { killPisOnce, pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

const testLimitMs = 240_000;
const untilMs = 60_000;
const originatorsCount = 4;

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));

interface Status {
  readonly activeKeyId: string;
  readonly keys: readonly { keyId: string; state: string; dependents: number }[];
}

let base: string;
let database: TestDatabase;
let client: pg.Client;
beforeEach(async () => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-keys-'));
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await database.drop();
  rmSync(base, { recursive: true, force: true });
});

function envWith(keys: Readonly<Record<string, string>>): Record<string, string> {
  return { DATABASE_URL: database.url, PIS_DATA_DIR: path.join(base, 'data'), ...keys };
}

async function createOriginator(env: Record<string, string>, organization: string) {
  const file = path.join(base, 'originator.json');
  const bankAccount = {
    subType: 'CHECKING',
    achRoutingNumber: '021000021',
    achAccountNumber: '000123456789',
  };
  const input = {
    entityType: 'BUSINESS',
    companyName: 'Acme',
    email: 'a@example.com',
    bankAccount,
  };
  writeFileSync(file, JSON.stringify(input));
  return pisJson(['originator', 'create', '--organization', organization, '--file', file], env);
}

/** Begins a rotation, and kills it with SIGKILL once it waits for the row that the test holds. */
async function killRotation(env: Record<string, string>): Promise<void> {
  await client.query('BEGIN');
  await client.query('SELECT FROM data_keys LIMIT 1 FOR UPDATE');
  await killPisOnce(['keys', 'rotate'], env, () =>
    until(
      async () => {
        const { rows } = await client.query('SELECT DISTINCT wrapping_key_id FROM data_keys');
        return rows.length === 2;
      },
      { timeoutMs: untilMs, what: 'a rotation that has begun' },
    ),
  );
  await client.query('ROLLBACK');
}

it(
  'is told what depends on the old key, rotates it, and takes it out',
  async () => {
    const before = envWith({ PIS_MASTER_KEY: oldKey ?? '' });
    const keysFile = path.join(base, 'keys');
    writeFileSync(keysFile, `${newKey}\n${oldKey}\n`);
    const both = envWith({ PIS_MASTER_KEYS_FILE: keysFile });
    const after = envWith({ PIS_MASTER_KEY: newKey ?? '' });
    const { organizationId } = await pisJson<{ organizationId: string }>(
      ['organization', 'create', '--name', 'Acme'],
      before,
    );
    for (let n = 0; n < originatorsCount; n += 1) await createOriginator(before, organizationId);
    const dependents = originatorsCount + 1;

    const { activeKeyId: oldId, keys } = await pisJson<Status>(['keys', 'status'], before);
    expect(keys).toEqual([{ keyId: oldId, state: 'active', dependents }]);
    const status = await pisJson<Status>(['keys', 'status'], both);
    const newId = status.activeKeyId;
    expect(status).toEqual({
      activeKeyId: newId,
      keys: [
        { keyId: newId, state: 'active', dependents: 0 },
        { keyId: oldId, state: 'old', dependents },
      ],
    });
    expectRefusal(
      await pis(['projections', 'status'], after),
      `this process has the master key ${newId}, but the stores also need ${oldId}`,
    );
    // Without the old key it still tells what depends on it.
    expect((await pisJson<Status>(['keys', 'status'], after)).keys).toEqual(status.keys);

    await killRotation(both);
    expectRefusal(await pis(['projections', 'status'], after), oldId);
    const who = ['--actor', 'ada', '--reason', 'the old key leaked'];
    const report = await pisJson(['keys', 'rotate', ...who], both);
    const counts = { activeKeyId: newId, imported: 0, unreadable: 0, rewrapped: 1 };
    expect(report).toEqual({ ...counts, unreadableKeys: [] });
    expect((await pisJson<Status>(['keys', 'status'], both)).keys).toEqual([
      { keyId: newId, state: 'active', dependents },
      { keyId: oldId, state: 'old', dependents: 0 },
    ]);
    const { rows } = await client.query<{ data: Record<string, unknown> }>(
      `SELECT data FROM events WHERE stream_id LIKE 'operatorAction-%' ORDER BY position DESC LIMIT 2`,
    );
    expect(rows.map(({ data }) => data)).toMatchObject([
      { outcome: { ...counts, unreadableKeys: 0 } },
      { action: 'keys rotate', actor: 'ada', reason: 'the old key leaked' },
    ]);
    await createOriginator(after, organizationId);
    expect((await pis(['projections', 'status'], after)).code).toBe(0);
  },
  testLimitMs,
);
