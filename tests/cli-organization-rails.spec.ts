/** `pis organization rails`: the settings of an organization, as an operator sets them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
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

const rails = (verb: string, ...more: string[]) => [
  ...['organization', 'rails', verb, '--organization', acme.organizationId],
  ...more,
];
const show = () => pisJson<unknown>(rails('show'), acme.environment);
const all = { allowedRails: ['ACH', 'FEDNOW', 'RTP', 'FEDWIRE', 'SWIFT'] };

it('shows the settings in force, and sets them by options or a file, recorded', async () => {
  expect(await show()).toEqual({ ...all, preference: 'fastest', limits: {} });
  const options = ['--allow', 'ACH, RTP', '--limit', 'RTP=500000', '--limit', 'ACH=7'];
  const set = {
    allowedRails: ['ACH', 'RTP'],
    preference: 'fastest',
    limits: { RTP: 500_000, ACH: 7 },
  };
  expect(await pisJson(rails('set', ...options, '--actor', 'ada'), acme.environment)).toEqual(set);
  expect(await show()).toEqual(set);

  const file = path.join(acme.scratch, 'rails.json');
  writeFileSync(file, JSON.stringify({ preference: 'cheapest' }));
  // All settings are replaced.
  const cheapest = { ...all, preference: 'cheapest', limits: {} };
  expect(await pisJson(rails('set', '--file', file), acme.environment)).toEqual(cheapest);
  expect(await show()).toEqual(cheapest);
  const { rows } = await acme.pool.query<{ type: string; data: unknown }>(
    `SELECT type, data FROM events WHERE type LIKE 'OperatorActionStarted' ORDER BY position LIMIT 1`,
  );
  const subject = { organizationId: acme.organizationId };
  expect(rows).toMatchObject([
    { data: { action: 'organization rails set', subject, actor: 'ada' } },
  ]);
});

it('refuses settings that it does not know, and an unknown organization', async () => {
  const refused = async (message: RegExp, ...more: string[]) =>
    expectRefusal(await pis(rails('set', ...more), acme.environment), message);
  await refused(/either --file or/);
  await refused(/allowedRails\.0/, '--allow', 'BITCOIN');
  await refused(/preference/, '--prefer', 'slowest');
  await refused(/For example RTP=/, '--limit', 'RTP=-1');
  const file = path.join(acme.scratch, 'misspelled.json');
  writeFileSync(file, JSON.stringify({ allowed: ['ACH'] }));
  await refused(/has other fields than allowedRails/, '--file', file);
  writeFileSync(file, JSON.stringify({ limits: { BITCOIN: 1 } }));
  await refused(/limits/, '--file', file);
  const nobody = '00000000-0000-4000-8000-000000000000';
  expectRefusal(
    await pis(['organization', 'rails', 'show', '--organization', nobody], acme.environment),
    /there is no organization/,
  );
});
