/** `pis organization approvals`: above which amount a second person is needed, as an operator sets it. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { type CliOrganization, cliOrganization } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);

let cli: CliOrganization;
beforeAll(async () => {
  cli = await cliOrganization();
});
afterAll(() => cli?.end());

const approvals = (verb: string, ...more: string[]) => [
  ...['organization', 'approvals', verb, '--id', cli.organizationId],
  ...more,
];
const show = () => pisJson<unknown>(approvals('show'), cli.environment);

it('no payment needs an approval until an amount is set, and none again by --none, recorded', async () => {
  expect(await show()).toEqual({ organizationId: cli.organizationId, amountAbove: null });
  const set = approvals('set', '--amount-above', '100000', '--actor', 'ada', '--reason', 'audit');
  expect(await pisJson(set, cli.environment)).toEqual({
    organizationId: cli.organizationId,
    amountAbove: 100_000,
  });
  expect(await show()).toEqual({ organizationId: cli.organizationId, amountAbove: 100_000 });
  expect(await pisJson(approvals('set', '--none'), cli.environment)).toEqual({
    organizationId: cli.organizationId,
    amountAbove: null,
  });
  const { rows } = await cli.pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position`,
  );
  const action = 'organization approvals set';
  expect(rows).toMatchObject([
    {
      data: {
        ...{ action, actor: 'ada', reason: 'audit' },
        subject: { organizationId: cli.organizationId, amountAbove: 100_000 },
      },
    },
    { data: { action, subject: { organizationId: cli.organizationId, amountAbove: null } } },
  ]);
});

it('refuses what is no amount, and an organization that does not exist', async () => {
  const refused = async (message: RegExp, ...more: string[]) =>
    expectRefusal(await pis(approvals('set', ...more), cli.environment), message);
  for (const amount of ['-1', '0.5', '1e3', '', 'all', '100000000000'])
    await refused(/Whole cents, 0 to 99999999999/, '--amount-above', amount);
  await refused(/either --amount-above or --none/);
  await refused(/cannot be used with/, '--amount-above', '7', '--none');
  const nobody = randomUUID();
  const of = ['organization', 'approvals', 'show', '--id', nobody];
  expectRefusal(await pis(of, cli.environment), new RegExp(`there is no organization ${nobody}`));
  expect(await show()).toEqual({ organizationId: cli.organizationId, amountAbove: null });
});
