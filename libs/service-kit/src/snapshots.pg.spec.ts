import { randomUUID } from 'node:crypto';
import type { Snapshot } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { deletePlainSnapshots, pgSnapshots } from './snapshots.js';

const poolMax = 2;
const streamId = 'contact-1';
const version = '1 {}';
const snapshot: Snapshot = {
  streamId,
  version,
  revision: 199,
  eventId: randomUUID(),
  state: { contactId: '1', name: 'Ada \u0000 "O\'Neill"', bankAccount: null },
};

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, poolMax);
});
afterEach(async () => {
  await pool?.end();
  await database?.drop();
});

it('keeps one snapshot for each stream and version: the last one written', async () => {
  const snapshots = pgSnapshots(pool, testKeyring());
  expect(await snapshots.read(streamId, version)).toBeNull();
  await snapshots.write(snapshot);
  expect(await snapshots.read(streamId, version)).toEqual(snapshot);
  const later = { ...snapshot, revision: 399, state: { contactId: '1' } };
  await snapshots.write(later);
  const ofOtherCode = { ...snapshot, version: '2 {}' };
  await snapshots.write(ofOtherCode);
  expect(await snapshots.read(streamId, version)).toEqual(later);
  expect(await snapshots.read(streamId, '2 {}')).toEqual(ofOtherCode);
});

it('deletes snapshots of code that has not run for a month', async () => {
  const snapshots = pgSnapshots(pool, testKeyring());
  await snapshots.write(snapshot);
  await snapshots.write({ ...snapshot, version: '2 {}' });
  await pool.query(`UPDATE stream_snapshots SET written_at = now() - interval '31 days'`);
  await snapshots.write({ ...snapshot, version: '3 {}' });
  const { rows } = await pool.query<{ version: string }>('SELECT version FROM stream_snapshots');
  expect(rows).toEqual([{ version: '3 {}' }]);
});

it.each([
  ['state', `state = overlay(state PLACING 'mine' FROM 30)`],
  ['the revision', 'revision = revision + 1'],
  ['the event', 'event_id = gen_random_uuid()'],
  ['code', `code = 'nonsense'`],
])('does not use a row with a changed %s', async (_what, change) => {
  const snapshots = pgSnapshots(pool, testKeyring());
  await snapshots.write(snapshot);
  await pool.query(`UPDATE stream_snapshots SET ${change}`);
  expect(await snapshots.read(streamId, version)).toBeNull();
});

it('does not use the state of another stream', async () => {
  const snapshots = pgSnapshots(pool, testKeyring());
  await snapshots.write(snapshot);
  await pool.query(`UPDATE stream_snapshots SET stream_id = 'contact-2'`);
  expect(await snapshots.read('contact-2', version)).toBeNull();
});

describe('of a party', () => {
  const rows = async () =>
    (await pool.query<{ state: string }>('SELECT state FROM stream_snapshots')).rows;

  it('is stored sealed under the key of the party, and not used once that is destroyed', async () => {
    const keyring = testKeyring();
    const snapshots = pgSnapshots(pool, keyring);
    await snapshots.write(snapshot);
    expect(JSON.stringify(await rows())).not.toMatch(/"Ada|Neill|contactId/);
    expect(await snapshots.read(streamId, version)).toEqual(snapshot);
    await keyring.destroy(['contact:1']);
    expect(await snapshots.read(streamId, version)).toBeNull();
  });

  it('is not written once the party is erased, and nobody is warned', async () => {
    const keyring = testKeyring();
    await keyring.destroy(['contact:1']);
    await pgSnapshots(pool, keyring).write(snapshot);
    expect(await rows()).toEqual([]);
  });

  it('is deleted when an older release has written it in plain text', async () => {
    const keyring = testKeyring();
    const snapshots = pgSnapshots(pool, keyring);
    const asPlain = (id: string) =>
      pool.query(
        `INSERT INTO stream_snapshots (stream_id, version, revision, event_id, state, code)
         VALUES ($1, 'old', 199, gen_random_uuid(), '{"firstName":"Ada"}', 'code')`,
        [id],
      );
    for (const id of [streamId, 'originator-1', 'webhookEndpoints-1']) await asPlain(id);
    // The next snapshot of the stream, and the command that looks for all of them.
    await snapshots.write(snapshot);
    expect(await rows()).toHaveLength(3);
    await asPlain(streamId);
    expect(await deletePlainSnapshots(pool)).toBe(2);
    expect(await snapshots.read(streamId, version)).toEqual(snapshot);
    const { rows: left } = await pool.query<{ stream_id: string }>(
      'SELECT stream_id FROM stream_snapshots ORDER BY stream_id',
    );
    expect(left.map((row) => row.stream_id)).toEqual([streamId, 'webhookEndpoints-1']);
  });
});
