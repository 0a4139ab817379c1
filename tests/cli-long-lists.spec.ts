/** The lists of `pis` that staff work through: each is whole, however long it is. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { railReferenceOf } from '@pis/bank-rails';
import { postgresEventStore, systemContext } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { pis, pisJson } from './support/process.js';

// Each command is a process of its own.
jest.setTimeout(120_000);

/** More than are read from a table at a time, and more than a screen would show. */
const rowsMade = 1_203;
const at = '2026-11-20T15:00:00.000Z';

let scratch: string;
let database: TestDatabase;
let pool: pg.Pool;
let environment: Record<string, string>;
beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-long-lists-'));
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  environment = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(scratch, 'unused'),
  };
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
  rmSync(scratch, { recursive: true, force: true });
});

async function listed(...command: readonly string[]) {
  return (await pisJson<{ data: Record<string, unknown>[] }>(command, environment)).data;
}

const numbers = Array.from({ length: rowsMade }, (_, index) => String(index + 1));

it('every unmatched notification of a bank, the oldest first', async () => {
  await pool.query(
    `INSERT INTO rail_notifications (feed, sequence, reference, type, at, received_at, reason)
     SELECT 'bank', n, 'of-' || n, 'confirmed', now(), now() + n * interval '1 second', 'the reason'
       FROM generate_series(1, $1::int) n`,
    [rowsMade],
  );
  const sequences = (await listed('rails', 'notifications', 'list')).map((one) => one['sequence']);
  expect(sequences).toEqual(numbers);
});

it('every stream in quarantine, the oldest first', async () => {
  await pool.query(
    `INSERT INTO quarantined_streams
       (reader, stream_id, from_revision, position, event_id, event_type, reason, held_since)
     SELECT 'event-relay', 'payment-' || n, 0, '1', gen_random_uuid(), 'InvoicePaid', 'unknown type of event',
            now() + n * interval '1 second'
       FROM generate_series(1, $1::int) n`,
    [rowsMade],
  );
  const streams = (await listed('quarantine', 'list')).map((one) => one['streamId']);
  expect(streams).toEqual(numbers.map((number) => `payment-${number}`));
});

it('every erasure that has not ended, the oldest first', async () => {
  await pool.query(
    `INSERT INTO party_erasures (kind, party_id, phase, since, position)
     SELECT 'contact', lpad(n::text, 32, '0')::uuid, 'requested', now() + n * interval '1 second', ''
       FROM generate_series(1, $1::int) n`,
    [rowsMade],
  );
  const ids = (await listed('erasures', 'list')).map((one) => Number(String(one['id']).slice(-12)));
  expect(ids).toEqual(numbers.map(Number));
});

describe('rails files list', () => {
  const list = (...args: string[]) =>
    pisJson<{ data: { id: string; name: string }[]; nextAfter?: string }>(
      ['rails', 'files', 'list', ...args],
      environment,
    );

  it('says that older files are left, and after which one', async () => {
    await pool.query(
      `INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes)
       SELECT gen_random_uuid(), 'bank', 'ACH', 'out', 'nacha', 'file-' || n, sha256(n::text::bytea), 1
         FROM generate_series(1, $1::int) n`,
      [rowsMade],
    );
    const newest = await list();
    expect(newest.nextAfter).toBe(newest.data.at(-1)?.id);
    const rest = await list('--after', String(newest.nextAfter));
    expect(rest.nextAfter).toBeUndefined();
    const names = [...newest.data, ...rest.data].map(({ name }) => name);
    expect(names).toEqual(numbers.map((number) => `file-${number}`).reverse());
    const told = await pis(['rails', 'files', 'list'], environment);
    expect(told.stderr).toContain(`--after ${newest.nextAfter}`);
  });

  it('refuses to go on after a file that is not there: its end would look like that of the list', async () => {
    const { code, stderr } = await pis(
      ['rails', 'files', 'list', '--after', randomUUID()],
      environment,
    );
    expect(stderr).toContain('no file has this ID');
    expect(code).toBe(1);
  });
});

it('a payment in doubt that cannot be read is listed with the reason, and the exit code is 1', async () => {
  const paymentId = randomUUID();
  const store = postgresEventStore({ pool });
  const metadata = { ...systemContext('test'), schemaVersion: 1, at, previousHash: null };
  await store.append(`payment-${paymentId}`, 'noStream', [
    { id: randomUUID(), type: 'InvoicePaid', data: {}, metadata },
  ]);
  await store.close();
  const reference = railReferenceOf(paymentId);
  await pool.query(
    `INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, deadline_at, connection)
     VALUES ($1, $2, 'ACH', 'in_flight', now(), now(), 'bank')`,
    [paymentId, reference],
  );
  const { code, stdout, stderr } = await pis(['payments', 'in-doubt', '--json'], environment);
  expect(JSON.parse(stdout)).toMatchObject({
    data: [
      {
        ...{ paymentId, reference },
        unreadable: expect.stringContaining('InvoicePaid: unknown type of event') as string,
      },
    ],
  });
  expect(stderr).toMatch(/1 of these payments cannot be read/);
  expect(code).toBe(1);
});
