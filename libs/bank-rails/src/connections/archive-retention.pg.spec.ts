/** What is deleted from the archive, and what is not. */
import { randomUUID } from 'node:crypto';
import { type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  archivedLeft,
  type ArchiveEnds,
  blankUnmatched,
  blankUnmatchedFile,
  forgetArchived,
  forgetFileKeys,
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

const unkept = { defaultYears: 0, shortestYears: 0, longestYears: 0 };
/** Without a retention period. @returns how many of the oldest files were deleted */
const forget = async (max = 10, before = tomorrow()) =>
  (await forgetArchived(ends, { ...unkept, before }, { after: null, max })).forgotten;

it('forgets old files with all their parts, a bounded number at a time', async () => {
  for (const name of ['Ada', 'Bob', 'Cy']) await keepFile(name);
  await pool.query(
    `UPDATE rail_files SET created_at = now() - interval '8 years' WHERE place <
       (SELECT max(place) FROM rail_files)`,
  );
  const before = new Date(Date.now() - 7 * 365 * 24 * 3_600_000);
  expect(await forget(1, before)).toBe(1);
  expect(await forget(10, before)).toBe(1);
  expect(await forget(10, before)).toBe(0);
  const { rows } = await pool.query('SELECT DISTINCT file_id FROM rail_file_parts');
  expect(rows).toHaveLength(1);
});

describe('a file that names payments', () => {
  /** An organization with a payment. @returns the payment's ID */
  async function payer(retentionYears: number | null): Promise<string> {
    const [organizationId, paymentId] = [randomUUID(), randomUUID()];
    await pool.query(
      `INSERT INTO organizations (organization_id, name, created_at, retention_years, revision)
       VALUES ($1, 'Acme', now(), $2, 0)`,
      [organizationId, retentionYears],
    );
    await pool.query(
      `INSERT INTO payments (payment_id, organization_id, originator_id, status, direction, payment_rail,
         created_at, revision, item) VALUES ($1, $2, $2, '', '', '', now(), 0, '{}')`,
      [paymentId, organizationId],
    );
    return paymentId;
  }
  const owner = ownerOf.contact(randomUUID());
  async function keep(name: string, ageYears: number, paymentIds: readonly (string | null)[]) {
    const segments = paymentIds.map((paymentId) => ({
      ...{ bytes: Buffer.from(`${name} ${randomUUID()}`), owner, paymentId },
    }));
    const file = { connection: 'bank', rail: 'ACH', way: 'out', kind: 'nacha', name } as const;
    const { id } = await archive.keep({ ...file, segments });
    await pool.query(
      `UPDATE rail_files SET created_at = now() - make_interval(years => $2, days => 1) WHERE id = $1`,
      [id, ageYears],
    );
  }
  const periods = { defaultYears: 7, shortestYears: 2, longestYears: 10 };
  const forgetAll = async (max = 20) => {
    const files = { ...periods, before: tomorrow() };
    const first = await forgetArchived(ends, files, { after: null, max });
    let { next } = first;
    let pages = 1;
    for (; next !== null; pages += 1)
      ({ next } = await forgetArchived(ends, files, { after: next, max }));
    return pages;
  };

  it('is kept for the longest period of their organizations', async () => {
    const [short, standard, long] = [await payer(2), await payer(null), await payer(10)];
    await keep('short', 2, [null, short, null]);
    await keep('short, too young', 1, [short]);
    await keep('standard after 6', 6, [standard, short]);
    await keep('standard after 7', 7, [standard, short]);
    await keep('long after 9', 9, [short, long, standard]);
    await keep('long after 10', 10, [short, long, standard]);
    await forgetAll();
    expect((await names()).sort()).toEqual([
      'long after 9',
      'short, too young',
      'standard after 6',
    ]);
  });

  it('is kept for the longest period of all when a payment or an organization is not in the lists, or it names none', async () => {
    const short = await payer(2);
    const orphan = await payer(2);
    await pool.query(
      'DELETE FROM organizations WHERE organization_id IN (SELECT organization_id FROM payments WHERE payment_id = $1)',
      [orphan],
    );
    await keep('unknown payment', 9, [short, randomUUID()]);
    await keep('unknown organization', 9, [orphan]);
    await keep('no payment', 9, [null]);
    await keep('no payment after 10', 10, [null]);
    await forgetAll();
    expect((await names()).sort()).toEqual([
      'no payment',
      'unknown organization',
      'unknown payment',
    ]);
  });

  it('is found behind whole pages of files that are kept', async () => {
    const [short, long] = [await payer(2), await payer(10)];
    for (const name of ['a', 'b', 'c']) await keep(name, 5, [long]);
    // At the very same time: the page ends between them.
    await pool.query("UPDATE rail_files SET created_at = now() - interval '5 years'");
    await keep('d', 4, [short]);
    expect(await forgetAll(2)).toBe(3);
    expect((await names()).sort()).toEqual(['a', 'b', 'c']);
  });

  it('shares a page with as many others as are small together', async () => {
    const short = await payer(2);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await keep(name, 3, [short]);
    await pool.query('UPDATE rail_files SET size_bytes = 3 * 1024 * 1024');
    expect(await forgetAll()).toBe(3);
    expect(await names()).toEqual([]);
  });

  it('ends when the period is lowered, also when two processes look', async () => {
    const long = await payer(10);
    await keep('file', 5, [long]);
    await forgetAll();
    expect(await names()).toEqual(['file']);
    await pool.query('UPDATE organizations SET retention_years = 2');
    const files = { ...periods, before: tomorrow() };
    const both = await Promise.all(
      [1, 2].map(() => forgetArchived(ends, files, { after: null, max: 10 })),
    );
    expect(both.map(({ forgotten }) => forgotten).sort()).toEqual([0, 1]);
    expect(await names()).toEqual([]);
  });
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
  expect(await archivedLeft(pool, tomorrow())).toEqual({ needed: 1, retained: 1 });
  expect(await forget()).toBe(1);
  expect(await forget()).toBe(0);
  expect(await names()).toEqual(['waiting.ach']);
  await pool.query("UPDATE ach_files SET status = 'uploaded'");
  expect(await forget()).toBe(1);
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
    expect(await forget()).toBe(0);
    await pool.query("UPDATE iso_transfers SET state = 'accepted'");
    expect(await forget()).toBe(1);
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
  expect(await forget()).toBe(3);
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
