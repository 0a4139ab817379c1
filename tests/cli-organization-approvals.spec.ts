/** `pis organization approvals`: above which amount a second person is needed, as an operator sets it. */
import { randomBytes, randomUUID } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);

let database: TestDatabase;
let environment: Record<string, string>;
let organizationId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  environment = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(os.tmpdir(), `pis-cli-approvals-${randomUUID()}`),
  };
  const create = ['organization', 'create', '--name', 'Acme'];
  ({ organizationId } = await pisJson<{ organizationId: string }>(create, environment));
});
afterAll(() => database?.drop());

const approvals = (verb: string, ...more: string[]) => [
  ...['organization', 'approvals', verb, '--id', organizationId],
  ...more,
];
const show = () => pisJson<unknown>(approvals('show'), environment);

it('no payment needs an approval until an amount is set, and none again by --none, recorded', async () => {
  expect(await show()).toEqual({ organizationId, amountAbove: null });
  const set = approvals('set', '--amount-above', '100000', '--actor', 'ada', '--reason', 'audit');
  expect(await pisJson(set, environment)).toEqual({ organizationId, amountAbove: 100_000 });
  expect(await show()).toEqual({ organizationId, amountAbove: 100_000 });
  expect(await pisJson(approvals('set', '--none'), environment)).toEqual({
    organizationId,
    amountAbove: null,
  });
  const pool = openTestPool(database.url, 1);
  const { rows } = await pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position`,
  );
  await pool.end();
  const action = 'organization approvals set';
  expect(rows).toMatchObject([
    {
      data: {
        ...{ action, actor: 'ada', reason: 'audit' },
        subject: { organizationId, amountAbove: 100_000 },
      },
    },
    { data: { action, subject: { organizationId, amountAbove: null } } },
  ]);
});

it('refuses what is no amount, and an organization that does not exist', async () => {
  const refused = async (message: RegExp, ...more: string[]) =>
    expectRefusal(await pis(approvals('set', ...more), environment), message);
  for (const amount of ['-1', '0.5', '1e3', '', 'all', '100000000000'])
    await refused(/Whole cents, 0 to 99999999999/, '--amount-above', amount);
  await refused(/either --amount-above or --none/);
  await refused(/cannot be used with/, '--amount-above', '7', '--none');
  const nobody = randomUUID();
  const of = ['organization', 'approvals', 'show', '--id', nobody];
  expectRefusal(await pis(of, environment), new RegExp(`there is no organization ${nobody}`));
  expect(await show()).toEqual({ organizationId, amountAbove: null });
});
