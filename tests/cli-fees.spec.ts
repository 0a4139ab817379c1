/** `pis fees`: the fee schedules of an organization, as an operator sets them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { jest } from '@jest/globals';
import { type CliOrganization, cliOrganization } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);

let organization: readonly string[];
let cli: CliOrganization;
beforeAll(async () => {
  cli = await cliOrganization();
  organization = ['--organization', cli.organizationId];
});
afterAll(() => cli?.end());

function fileOf(content: unknown): readonly string[] {
  const file = path.join(cli.scratch, 'fees.json');
  writeFileSync(file, JSON.stringify(content));
  return ['--file', file];
}

const show = () => pisJson<unknown>(['fees', 'show', ...organization], cli.environment);
const schedule = { discountFeeBasisPoints: 10, flatFee: 25, returnFee: 400 };

it('replaces the schedules that it shows, recorded', async () => {
  expect(await show()).toEqual({
    schedules: [{ discountFeeBasisPoints: 0, flatFee: 0, returnFee: 0 }],
  });
  const schedules = [schedule, { ...schedule, rail: 'RTP', discountFeeCap: 500 }];
  const set = ['fees', 'set', ...organization, ...fileOf({ schedules }), '--actor', 'ada'];
  expect(await pisJson(set, cli.environment)).toEqual({ schedules });
  expect(await show()).toEqual({ schedules });
  const { rows } = await cli.pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted'`,
  );
  expect(rows).toMatchObject([
    { data: { action: 'fees set', actor: 'ada', subject: { organizationId: organization[1] } } },
  ]);
});

it('one bad entry refuses the whole file, and the message names the field', async () => {
  const before = await show();
  const set = (content: unknown) =>
    pis(['fees', 'set', ...organization, ...fileOf(content), '--json'], cli.environment);
  const bad = { ...schedule, flatFee: 1.5 };
  expectRefusal(await set({ schedules: [schedule, bad] }), /schedules\.1\.flatFee/);
  expectRefusal(await set({ schedule }), /other fields|fields that a file/);
  expect(await show()).toEqual(before);
});

it('without an organization it is the demo organization, in the sandbox alone', async () => {
  const set = ['fees', 'set', ...fileOf({ schedules: [schedule] })];
  // This database has no demo organization.
  expectRefusal(await pis(set, cli.environment), /there is no organization 0{8}-0{4}-4000-8000-/);
  const production = { ...cli.environment, PIS_ENVIRONMENT: 'production' };
  expectRefusal(await pis(set, production), /name the organization with --organization/);
});
