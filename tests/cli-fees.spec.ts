/** `pis fees`: the fee schedules of an organization, as an operator sets them. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
let organization: readonly string[];
beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-fees-'));
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  environment = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(scratch, 'unused'),
  };
  const create = ['organization', 'create', '--name', 'Acme'];
  const created = await pisJson<{ organizationId: string }>(create, environment);
  organization = ['--organization', created.organizationId];
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
  rmSync(scratch, { recursive: true, force: true });
});

function fileOf(content: unknown): readonly string[] {
  const file = path.join(scratch, 'fees.json');
  writeFileSync(file, JSON.stringify(content));
  return ['--file', file];
}

const show = () => pisJson<unknown>(['fees', 'show', ...organization], environment);
const schedule = { discountFeeBasisPoints: 10, flatFee: 25, returnFee: 400 };

it('replaces the schedules that it shows, recorded', async () => {
  expect(await show()).toEqual({
    schedules: [{ discountFeeBasisPoints: 0, flatFee: 0, returnFee: 0 }],
  });
  const schedules = [schedule, { ...schedule, rail: 'RTP', discountFeeCap: 500 }];
  const set = ['fees', 'set', ...organization, ...fileOf({ schedules }), '--actor', 'ada'];
  expect(await pisJson(set, environment)).toEqual({ schedules });
  expect(await show()).toEqual({ schedules });
  const { rows } = await pool.query<{ data: unknown }>(
    `SELECT data FROM events WHERE type = 'OperatorActionStarted'`,
  );
  expect(rows).toMatchObject([
    { data: { action: 'fees set', actor: 'ada', subject: { organizationId: organization[1] } } },
  ]);
});

it('one bad entry refuses the whole file, and the message names the field', async () => {
  const before = await show();
  const set = (content: unknown) =>
    pis(['fees', 'set', ...organization, ...fileOf(content), '--json'], environment);
  const bad = { ...schedule, flatFee: 1.5 };
  expectRefusal(await set({ schedules: [schedule, bad] }), /schedules\.1\.flatFee/);
  expectRefusal(await set({ schedule }), /other fields|fields that a file/);
  expect(await show()).toEqual(before);
});

it('without an organization it is the demo organization, in the sandbox alone', async () => {
  const set = ['fees', 'set', ...fileOf({ schedules: [schedule] })];
  // This database has no demo organization.
  expectRefusal(await pis(set, environment), /there is no organization 0{8}-0{4}-4000-8000-/);
  const production = { ...environment, PIS_ENVIRONMENT: 'production' };
  expectRefusal(await pis(set, production), /name the organization with --organization/);
});
