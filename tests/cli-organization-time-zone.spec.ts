/** `pis organization time-zone`: the time zone of months, as an operator sets it. */
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

const timeZone = (verb: string, ...more: string[]) => [
  ...['organization', 'time-zone', verb, '--id', cli.organizationId],
  ...more,
];
const show = () => pisJson<unknown>(timeZone('show'), cli.environment);

it('is that of New York until another one is set, which is recorded', async () => {
  expect(await show()).toEqual({
    organizationId: cli.organizationId,
    timeZone: 'America/New_York',
  });
  const set = timeZone('set', '--zone', 'Asia/Tokyo', '--actor', 'ada', '--reason', 'moved');
  expect(await pisJson(set, cli.environment)).toEqual({
    organizationId: cli.organizationId,
    timeZone: 'Asia/Tokyo',
  });
  expect(await show()).toEqual({ organizationId: cli.organizationId, timeZone: 'Asia/Tokyo' });
  const { rows } = await cli.pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position`,
  );
  const subject = { organizationId: cli.organizationId, timeZone: 'Asia/Tokyo' };
  const action = 'organization time-zone set';
  expect(rows).toMatchObject([{ data: { action, actor: 'ada', reason: 'moved', subject } }]);
});

it('refuses what is no time zone, and an organization that does not exist', async () => {
  for (const zone of ['Mars/Olympus', '+05:00', ''])
    expectRefusal(await pis(timeZone('set', '--zone', zone), cli.environment), /No time zone/);
  const nobody = randomUUID();
  const of = ['organization', 'time-zone', 'show', '--id', nobody];
  expectRefusal(await pis(of, cli.environment), new RegExp(`there is no organization ${nobody}`));
});
