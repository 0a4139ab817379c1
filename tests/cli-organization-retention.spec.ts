/** `pis organization retention`: how long personal data and bank files are kept, as an operator sets it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);

let scratch: string;
let database: TestDatabase;
let pool: pg.Pool;
let environment: Record<string, string>;
let organizationId: string;
beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-retention-'));
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  environment = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(scratch, 'unused'),
  };
  const create = ['organization', 'create', '--name', 'Acme'];
  ({ organizationId } = await pisJson<{ organizationId: string }>(create, environment));
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
  rmSync(scratch, { recursive: true, force: true });
});

const retention = (verb: string, ...more: string[]) => [
  ...['organization', 'retention', verb, '--id', organizationId],
  ...more,
];
const show = (changes: Record<string, string> = {}) =>
  pisJson<unknown>(retention('show'), { ...environment, ...changes });
const period = (retentionYears: number, isDefault: boolean) => ({
  organizationId,
  retentionYears,
  isDefault,
});

it('is that of the installation until it is set, and again by --default, recorded', async () => {
  expect(await show()).toEqual(period(7, true));
  expect(await show({ PIS_RETENTION_YEARS: '12' })).toEqual(period(12, true));
  const set = retention('set', '--years', '10', '--actor', 'ada', '--reason', 'contract');
  expect(await pisJson(set, environment)).toEqual(period(10, false));
  expect(await show({ PIS_RETENTION_YEARS: '12' })).toEqual(period(10, false));
  const human = await pis(retention('show'), environment);
  expect(human.stdout).toBe(
    `organizationId: ${organizationId}\nretentionYears: 10\nisDefault: false\n`,
  );
  expect(await pisJson(retention('set', '--default'), environment)).toEqual(period(7, true));
  const { rows } = await pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position`,
  );
  const action = 'organization retention set';
  expect(rows).toMatchObject([
    {
      data: {
        ...{ action, actor: 'ada', reason: 'contract' },
        subject: { organizationId, retentionYears: 10 },
      },
    },
    { data: { action, subject: { organizationId, retentionYears: null } } },
  ]);
});

it('refuses what is no period, and an organization that does not exist', async () => {
  const refused = async (message: RegExp, ...more: string[]) =>
    expectRefusal(await pis(retention('set', ...more), environment), message);
  for (const years of ['101', '-1', '7.5', '1e1', '', 'seven', '0x7', '99999999999999999999'])
    await refused(/Whole years, 0 to 100/, '--years', years);
  await refused(/either --years or --default/);
  await refused(/cannot be used with/, '--years', '7', '--default');
  const nobody = randomUUID();
  for (const args of [
    ['set', '--id', nobody, '--years', '7'],
    ['show', '--id', nobody],
  ])
    expectRefusal(
      await pis(['organization', 'retention', ...args], environment),
      new RegExp(`there is no organization ${nobody}`),
    );
  expectRefusal(
    await pis(['organization', 'retention', 'show', '--id', 'pis_test_secret'], environment),
    /--id is not a UUID/,
  );
  expect(await show()).toEqual(period(7, true));
});

it('is explained by --help', async () => {
  const { code, stdout } = await pis(['organization', 'retention', 'set', '--help'], environment);
  expect(code).toBe(0);
  expect(stdout).toMatch(/--years <years>[\s\S]+--default[\s\S]+PIS_RETENTION_YEARS/);
});

describe('pis rails files forget', () => {
  /** A file of one payment. */
  async function keepFile(name: string, ageYears: number, paymentId: string): Promise<void> {
    const id = randomUUID();
    await pool.query(
      `INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes, created_at)
       VALUES ($1, 'bank', 'ACH', 'out', 'nacha', $2, decode(md5($2), 'hex'), 1,
         now() - make_interval(years => $3, days => 1))`,
      [id, name, ageYears],
    );
    await pool.query(
      `INSERT INTO rail_file_parts (file_id, part, owner, size_bytes, sealed, payment_id)
       VALUES ($1, 0, 'contact:' || $2::text, 1, '', $2::uuid)`,
      [id, paymentId],
    );
  }
  async function paymentOf(organization: string): Promise<string> {
    const paymentId = randomUUID();
    await pool.query(
      `INSERT INTO payments (payment_id, organization_id, originator_id, status, direction, payment_rail,
         created_at, revision, item) VALUES ($1, $2, $2, '', '', '', now(), 0, '{}')`,
      [paymentId, organization],
    );
    return paymentId;
  }
  const daysOf = (yearsAgo: number) => {
    const day = new Date();
    day.setUTCFullYear(day.getUTCFullYear() - yearsAgo);
    return day.toISOString().slice(0, 10);
  };
  const forget = (yearsAgo: number) =>
    pis(['rails', 'files', 'forget', '--before', daysOf(yearsAgo), '--json'], environment);
  const names = async () =>
    (await pool.query<{ name: string }>('SELECT name FROM rail_files ORDER BY name')).rows.map(
      ({ name }) => name,
    );

  it('deletes what no organization keeps longer, once the list of organizations is up to date', async () => {
    const create = ['organization', 'create', '--name', 'Another'];
    const { organizationId: another } = await pisJson<{ organizationId: string }>(
      create,
      environment,
    );
    await pisJson(retention('set', '--years', '10'), environment);
    const years = ['organization', 'retention', 'set', '--id', another, '--years', '2'];
    await pisJson(years, environment);
    const [long, short] = [await paymentOf(organizationId), await paymentOf(another)];
    await keepFile('long', 8, long);
    await keepFile('short', 3, short);

    expectRefusal(await forget(2), /retention periods are not known/);
    await pisJson(['projections', 'rebuild', 'directory'], environment);
    expectRefusal(await forget(1), /within the 2 years of the shortest retention period/);
    const { code, stdout, stderr } = await forget(2);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"forgotten":1}\n' });
    expect(stderr).toContain('1 files are kept: a longer retention period');
    expect(await names()).toEqual(['long']);

    // Lowered while the file is held.
    await pisJson(retention('set', '--default'), environment);
    await pisJson(['projections', 'rebuild', 'directory'], environment);
    expect(await forget(2)).toMatchObject({ code: 0, stdout: '{"forgotten":1}\n' });
    expect(await names()).toEqual([]);
  });
});
