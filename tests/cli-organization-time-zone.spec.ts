/** `pis organization time-zone`: the time zone of months, as an operator sets it. */
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
    PIS_DATA_DIR: path.join(os.tmpdir(), `pis-cli-time-zone-${randomUUID()}`),
  };
  const create = ['organization', 'create', '--name', 'Acme'];
  ({ organizationId } = await pisJson<{ organizationId: string }>(create, environment));
});
afterAll(() => database?.drop());

const timeZone = (verb: string, ...more: string[]) => [
  ...['organization', 'time-zone', verb, '--id', organizationId],
  ...more,
];
const show = () => pisJson<unknown>(timeZone('show'), environment);

it('is that of New York until another one is set, which is recorded', async () => {
  expect(await show()).toEqual({ organizationId, timeZone: 'America/New_York' });
  const set = timeZone('set', '--zone', 'Asia/Tokyo', '--actor', 'ada', '--reason', 'moved');
  expect(await pisJson(set, environment)).toEqual({ organizationId, timeZone: 'Asia/Tokyo' });
  expect(await show()).toEqual({ organizationId, timeZone: 'Asia/Tokyo' });
  const pool = openTestPool(database.url, 1);
  const { rows } = await pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted' ORDER BY position`,
  );
  await pool.end();
  const subject = { organizationId, timeZone: 'Asia/Tokyo' };
  const action = 'organization time-zone set';
  expect(rows).toMatchObject([{ data: { action, actor: 'ada', reason: 'moved', subject } }]);
});

it('refuses what is no time zone, and an organization that does not exist', async () => {
  for (const zone of ['Mars/Olympus', '+05:00', ''])
    expectRefusal(await pis(timeZone('set', '--zone', zone), environment), /No time zone/);
  const nobody = randomUUID();
  const of = ['organization', 'time-zone', 'show', '--id', nobody];
  expectRefusal(await pis(of, environment), new RegExp(`there is no organization ${nobody}`));
});
