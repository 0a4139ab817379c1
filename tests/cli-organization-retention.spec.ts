/** `pis organization retention`: how long personal data and bank files are kept, as an operator sets it. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { type CliOrganization, cliOrganization } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);

let acme: CliOrganization;
beforeAll(async () => {
  acme = await cliOrganization();
});
afterAll(() => acme?.end());

const retention = (verb: string, ...more: string[]) => [
  ...['organization', 'retention', verb, '--id', acme.organizationId],
  ...more,
];
const show = (changes: Record<string, string> = {}) =>
  pisJson<unknown>(retention('show'), { ...acme.environment, ...changes });
const period = (retentionYears: number, isDefault: boolean) => ({
  organizationId: acme.organizationId,
  retentionYears,
  isDefault,
});

it('is that of the installation until it is set, and again by --default, recorded', async () => {
  expect(await show()).toEqual(period(7, true));
  expect(await show({ PIS_RETENTION_YEARS: '12' })).toEqual(period(12, true));
  const set = retention('set', '--years', '10', '--actor', 'ada', '--reason', 'contract');
  expect(await pisJson(set, acme.environment)).toEqual(period(10, false));
  expect(await show({ PIS_RETENTION_YEARS: '12' })).toEqual(period(10, false));
  const human = await pis(retention('show'), acme.environment);
  expect(human.stdout).toBe(
    `organizationId: ${acme.organizationId}\nretentionYears: 10\nisDefault: false\n`,
  );
  expect(await pisJson(retention('set', '--default'), acme.environment)).toEqual(period(7, true));
  const { rows } = await acme.pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position`,
  );
  const action = 'organization retention set';
  expect(rows).toMatchObject([
    {
      data: {
        ...{ action, actor: 'ada', reason: 'contract' },
        subject: { organizationId: acme.organizationId, retentionYears: 10 },
      },
    },
    { data: { action, subject: { organizationId: acme.organizationId, retentionYears: null } } },
  ]);
});

it('refuses what is no period, and an organization that does not exist', async () => {
  const refused = async (message: RegExp, ...more: string[]) =>
    expectRefusal(await pis(retention('set', ...more), acme.environment), message);
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
      await pis(['organization', 'retention', ...args], acme.environment),
      new RegExp(`there is no organization ${nobody}`),
    );
  expectRefusal(
    await pis(['organization', 'retention', 'show', '--id', 'pis_test_secret'], acme.environment),
    /--id is not a UUID/,
  );
  expect(await show()).toEqual(period(7, true));
});

it('is explained by --help', async () => {
  const { code, stdout } = await pis(
    ['organization', 'retention', 'set', '--help'],
    acme.environment,
  );
  expect(code).toBe(0);
  expect(stdout).toMatch(/--years <years>[\s\S]+--default[\s\S]+PIS_RETENTION_YEARS/);
});

describe('pis rails files forget', () => {
  /** A file of one payment. */
  async function keepFile(name: string, ageYears: number, paymentId: string): Promise<void> {
    const id = randomUUID();
    await acme.pool.query(
      `INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes, created_at)
       VALUES ($1, 'bank', 'ACH', 'out', 'nacha', $2, decode(md5($2), 'hex'), 1,
         now() - make_interval(years => $3, days => 1))`,
      [id, name, ageYears],
    );
    await acme.pool.query(
      `INSERT INTO rail_file_parts (file_id, part, owner, size_bytes, sealed, payment_id)
       VALUES ($1, 0, 'contact:' || $2::text, 1, '', $2::uuid)`,
      [id, paymentId],
    );
  }
  async function paymentOf(organization: string): Promise<string> {
    const paymentId = randomUUID();
    await acme.pool.query(
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
    pis(['rails', 'files', 'forget', '--before', daysOf(yearsAgo), '--json'], acme.environment);
  const names = async () =>
    (await acme.pool.query<{ name: string }>('SELECT name FROM rail_files ORDER BY name')).rows.map(
      ({ name }) => name,
    );

  it('deletes what no organization keeps longer, once the list of organizations is up to date', async () => {
    const create = ['organization', 'create', '--name', 'Another'];
    const { organizationId: another } = await pisJson<{ organizationId: string }>(
      create,
      acme.environment,
    );
    await pisJson(retention('set', '--years', '10'), acme.environment);
    const years = ['organization', 'retention', 'set', '--id', another, '--years', '2'];
    await pisJson(years, acme.environment);
    const [long, short] = [await paymentOf(acme.organizationId), await paymentOf(another)];
    await keepFile('long', 8, long);
    await keepFile('short', 3, short);

    expectRefusal(await forget(2), /retention periods are not known/);
    await pisJson(['projections', 'rebuild', 'directory'], acme.environment);
    expectRefusal(await forget(1), /within the 2 years of the shortest retention period/);
    const { code, stdout, stderr } = await forget(2);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"forgotten":1}\n' });
    expect(stderr).toContain('1 files are kept: a longer retention period');
    expect(await names()).toEqual(['long']);

    // Lowered while the file is held.
    await pisJson(retention('set', '--default'), acme.environment);
    await pisJson(['projections', 'rebuild', 'directory'], acme.environment);
    expect(await forget(2)).toMatchObject({ code: 0, stdout: '{"forgotten":1}\n' });
    expect(await names()).toEqual([]);
  });
});
