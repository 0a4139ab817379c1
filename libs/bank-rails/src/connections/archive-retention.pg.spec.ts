/** What is deleted from the archive, and what is not. */
import { randomUUID } from 'node:crypto';
import { type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  type ArchiveEnds,
  blankUnmatched,
  blankUnmatchedFile,
  forgetArchived,
  forgetFileKeys,
  neededArchived,
} from './archive-retention.js';
import { type ArchiveSegment, type FileArchive, fileArchive } from './file-archive.js';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let archive: FileArchive;
let ends: ArchiveEnds;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  keyring = await testKeyringOn(pool);
  archive = fileArchive({ pool, keyring });
  ends = { pool, destroyKeys: (owners: readonly Owner[]) => keyring.destroy(owners) };
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

/** Keeps a file of one part. @returns its ID */
async function keepFile(name: string, given: Partial<ArchiveSegment> = {}): Promise<string> {
  const bytes = Buffer.from(`${name} ${randomUUID()}`);
  const part = { bytes, owner: ownerOf.contact(randomUUID()), paymentId: randomUUID(), ...given };
  const { id } = await archive.keep({
    ...({ connection: 'bank', rail: 'ACH', way: 'out', kind: 'nacha', name } as const),
    segments: [part],
  });
  return id;
}
const tomorrow = () => new Date(Date.now() + 24 * 3_600_000);
const names = async () => (await archive.list({ max: 10 })).map(({ name }) => name);

it('forgets old files with all their parts, a bounded number at a time', async () => {
  for (const name of ['Ada', 'Bob', 'Cy']) await keepFile(name);
  await pool.query(
    `UPDATE rail_files SET created_at = now() - interval '8 years' WHERE place <
       (SELECT max(place) FROM rail_files)`,
  );
  const before = new Date(Date.now() - 7 * 365 * 24 * 3_600_000);
  expect(await forgetArchived(ends, before, 1)).toBe(1);
  expect(await forgetArchived(ends, before, 10)).toBe(1);
  expect(await forgetArchived(ends, before, 10)).toBe(0);
  const { rows } = await pool.query('SELECT DISTINCT file_id FROM rail_file_parts');
  expect(rows).toHaveLength(1);
});

/** It was not sent yet. */
const recordAchFile = (id: string, name: string) =>
  pool.query(
    `INSERT INTO ach_files (bank, name, archive_id, sha256, entries, created_at, upload_due_at, settles_on)
     VALUES ('bank', $2, $1, '', 1, now(), now(), now())`,
    [id, name],
  );

it('keeps the totals of a file that must still be sent, also when it is to be forgotten by hand', async () => {
  const id = await keepFile('waiting.ach', { owner: 'file' });
  await recordAchFile(id, 'waiting.ach');
  await pool.query("UPDATE rail_files SET blank_at = now() - interval '1 day'");
  expect(await blankUnmatched(ends, 10)).toBe(0);
  expect(await blankUnmatchedFile(ends, id)).toBe(false);
  expect((await archive.bytes(id)).length).toBeGreaterThan(0);
  await pool.query("UPDATE ach_files SET status = 'uploaded'");
  expect(await blankUnmatched(ends, 10)).toBe(1);
  expect((await archive.read(id))?.erasedBytes).toBeGreaterThan(0);
});

it('keeps a file that was recorded and not sent yet, and deletes it afterwards', async () => {
  const id = await keepFile('waiting.ach');
  await keepFile('sent.ach');
  await recordAchFile(id, 'waiting.ach');
  expect(await neededArchived(pool, tomorrow())).toBe(1);
  expect(await forgetArchived(ends, tomorrow(), 10)).toBe(1);
  expect(await forgetArchived(ends, tomorrow(), 10)).toBe(0);
  expect(await names()).toEqual(['waiting.ach']);
  await pool.query("UPDATE ach_files SET status = 'uploaded'");
  expect(await forgetArchived(ends, tomorrow(), 10)).toBe(1);
});

it.each(['sending', 'received', 'held'])(
  'keeps the message of a transfer that is %s: it may be sent again, or asked about',
  async (state) => {
    const id = await keepFile('MESSAGE1');
    await pool.query(
      `INSERT INTO iso_transfers (connection, reference, state, message_id, file_id)
       VALUES ('bank', 'r1', $1, 'MESSAGE1', $2)`,
      [state, id],
    );
    expect(await forgetArchived(ends, tomorrow(), 10)).toBe(0);
    await pool.query("UPDATE iso_transfers SET state = 'accepted'");
    expect(await forgetArchived(ends, tomorrow(), 10)).toBe(1);
  },
);

it('destroys the key of a file that it forgets, or that is forgotten by hand', async () => {
  const [first, second] = [
    await keepFile('one', { owner: 'file' }),
    await keepFile('two', { owner: 'file' }),
  ];
  const owners = [first, second].map(ownerOf.railFile);
  expect(await blankUnmatchedFile(ends, first)).toBe(true);
  expect(await blankUnmatchedFile(ends, first)).toBe(false);
  expect(await keyring.destroyedOf(owners)).toEqual(new Set([ownerOf.railFile(first)]));
  expect((await archive.read(first))?.erasedBytes).toBeGreaterThan(0);
  expect(await blankUnmatchedFile(ends, await keepFile('of a contact'))).toBe(false);
  expect(await forgetArchived(ends, tomorrow(), 10)).toBe(3);
  expect(await keyring.destroyedOf(owners)).toEqual(new Set(owners));
});

it('deletes the keys of files that are not there after a day, page by page, and no other key', async () => {
  const kept = ownerOf.railFile(await keepFile('kept', { owner: 'file' }));
  const gone = ownerOf.railFile(await keepFile('gone', { owner: 'file' }));
  const blankedFile = await keepFile('blanked', { owner: 'file' });
  const blanked = ownerOf.railFile(blankedFile);
  await blankUnmatchedFile(ends, blankedFile);
  await pool.query("DELETE FROM rail_files WHERE name = 'gone'");
  const [neverKept, young] = [ownerOf.railFile(randomUUID()), ownerOf.railFile(randomUUID())];
  const ofMonth = ownerOf.railArchive('file/2026-11');
  for (const owner of [neverKept, young, ofMonth]) await keyring.seal(owner, 'x');
  const destroyed = ownerOf.railFile(randomUUID());
  await keyring.destroy([destroyed]);
  const ownersLeft = async () =>
    (await pool.query<{ owner: string }>('SELECT owner FROM data_keys')).rows
      .map(({ owner }) => owner)
      .filter((owner) => owner.startsWith('railArchive:'))
      .sort();
  const before = await ownersLeft();
  await pool.query(
    "UPDATE data_keys SET created_at = now() - interval '25 hours' WHERE owner <> $1",
    [young],
  );
  const destructions = async () =>
    Number(
      (await pool.query<{ n: string }>('SELECT destructions AS n FROM keyring_state')).rows[0]?.n,
    );
  const counted = await destructions();
  for (let after: string | null = ''; after !== null; )
    after = await forgetFileKeys(ends, after, 2);
  expect(await ownersLeft()).toEqual(
    before.filter((owner) => ![gone, neverKept, destroyed].includes(owner as Owner)),
  );
  expect(await ownersLeft()).toEqual(expect.arrayContaining([kept, blanked, young, ofMonth]));
  expect(await destructions()).toBeGreaterThan(counted);
});
