/** The archive of files and messages, on a real database with real keys. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { CannotOpen, type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { profileOf } from '../rails/iso20022/profiles.js';
import { isoSender, sampleMessages } from '../rails/iso20022/testing/sample-messages.js';
import { writeIsoMessage } from '../rails/iso20022/write-messages.js';
import { ArchiveErased, type FileArchive, fileArchive, type FileToKeep } from './file-archive.js';
import { messageDictionary } from './message-dictionary.js';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let archive: FileArchive;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  keyring = await testKeyringOn(pool);
  archive = fileArchive({ pool, keyring });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const isOwner = (owner: unknown): owner is Owner => typeof owner === 'string';
const header = Buffer.from('101 091000019 1234567890\r\n');
const entryOf = (name: string) => Buffer.from(`62209100001999887766554433 ${name}\r\n`);

interface Entry {
  readonly contactId: string;
  readonly paymentId: string;
  readonly bytes: Buffer;
}
const entry = (name: string): Entry => ({
  contactId: randomUUID(),
  paymentId: randomUUID(),
  bytes: entryOf(name),
});

/** As a NACHA file is kept: the header is the archive's, each entry its contact's. */
function fileOf(entries: readonly Entry[], given: Partial<FileToKeep> = {}): FileToKeep {
  return {
    connection: 'first-bank-ach',
    rail: 'ACH',
    way: 'out',
    kind: 'nacha',
    name: 'ACME-1.ach',
    segments: [
      { bytes: header, owner: null, paymentId: null },
      ...entries.map(({ contactId, paymentId, bytes }) => ({
        bytes,
        owner: `contact:${contactId}` as const,
        paymentId,
      })),
    ],
    ...given,
  };
}
const wholeOf = ({ segments }: FileToKeep) => Buffer.concat(segments.map(({ bytes }) => bytes));
const sha256Of = (file: FileToKeep) => createHash('sha256').update(wholeOf(file)).digest('hex');

it('gives back the exact bytes, whatever they are', async () => {
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  for (const file of [
    fileOf([entry('Ada'), entry('Bob')]),
    fileOf([], { segments: [{ bytes: every, owner: null, paymentId: null }] }),
    fileOf([], { segments: [{ bytes: randomBytes(300_000), owner: null, paymentId: null }] }),
    fileOf([], { segments: [] }),
    compressedFile([every, Buffer.alloc(0), randomBytes(5_000), message]),
  ]) {
    const { id, isNew } = await archive.keep(file);
    expect(isNew).toBe(true);
    expect(wholeOf(file).equals(await archive.bytes(id))).toBe(true);
    expect(await archive.read(id)).toMatchObject({
      file: { id, sha256: sha256Of(file), sizeBytes: wholeOf(file).length, way: 'out' },
      erasedBytes: 0,
    });
  }
});

const message = Buffer.from(
  `<Document>${'<CdtTrfTxInf><PmtId>Ada</PmtId></CdtTrfTxInf>'.repeat(50)}</Document>`,
);

/** Parts in turn for a contact, and for a contact and an originator. */
function compressedFile(parts: readonly Buffer[]): FileToKeep {
  const segments = parts.map((bytes, index) => ({
    bytes,
    owner: ownerOf.contact(randomUUID()),
    ...(index % 2 === 0 ? {} : { secondOwner: ownerOf.originator(randomUUID()) }),
    paymentId: null,
    isCompressed: true,
  }));
  return fileOf([], { segments });
}

it('keeps a message of every kind and rail in two fifths of its size, for one owner and for two', async () => {
  for (const rail of ['RTP', 'FEDNOW', 'FEDWIRE', 'SWIFT'] as const)
    for (const sample of sampleMessages(rail)) {
      const bytes = Buffer.from(writeIsoMessage(profileOf(rail), isoSender, sample));
      const { id } = await archive.keep(compressedFile([bytes, bytes]));
      const { rows } = await pool.query<{ stored: number }>(
        'SELECT length(sealed) AS stored FROM rail_file_parts WHERE file_id = $1',
        [id],
      );
      expect(rows).toHaveLength(2);
      for (const { stored } of rows) expect(stored).toBeLessThan(bytes.length * 0.4);
      expect(await archive.bytes(id)).toEqual(Buffer.concat([bytes, bytes]));
    }
});

it('opens what was compressed without the dictionary', async () => {
  const { id } = await archive.keep(compressedFile([message]));
  const { rows } = await pool.query<{ owner: Owner }>(
    'SELECT owner FROM rail_file_parts WHERE file_id = $1',
    [id],
  );
  const owner = rows[0]?.owner;
  if (owner === undefined) throw new Error('no part');
  const sealed = await keyring.sealBytes(owner, deflateRawSync(message), `rail-file/${id}/0`);
  await pool.query('UPDATE rail_file_parts SET sealed = $2 WHERE file_id = $1', [
    id,
    `c1.${sealed.toString('base64url')}`,
  ]);
  expect(await archive.bytes(id)).toEqual(message);
});

/** A message in the archive needs the dictionary that it was compressed with. */
it('keeps its dictionary for good', () => {
  const sha256 = createHash('sha256').update(messageDictionary).digest('hex');
  expect(sha256).toBe('ab284b5d73b8aa512b5e4f88353540393c31e36ed4e1ee0090b725864d0c451c');
});

it('loses a compressed part with either of its owners', async () => {
  const file = compressedFile([message, message, message]);
  const [first, second] = file.segments;
  const { id } = await archive.keep(file);
  await keyring.destroy([first?.owner, second?.secondOwner].filter(isOwner));
  const read = await archive.read(id);
  expect(read?.erasedBytes).toBe(2 * message.length);
  expect(String(read?.bytes).trim()).toBe(String(message));
});

it('opens no compressed part in another place, and none that was altered or has another size', async () => {
  const other = '(SELECT sealed FROM rail_file_parts WHERE file_id = $1 AND part = 1)';
  for (const change of [
    `sealed = ${other}`,
    "sealed = left(sealed, -9) || 'AAAAAAAAA'",
    "sealed = 'c1.AAAA'",
    "sealed = 'c2.AAAA'",
    'size_bytes = size_bytes - 1',
  ]) {
    const { id } = await archive.keep(compressedFile([entryOf(change), message]));
    await pool.query(`UPDATE rail_file_parts SET ${change} WHERE file_id = $1 AND part = 0`, [id]);
    await expect(archive.read(id)).rejects.toThrow(CannotOpen);
  }
});

it('keeps the same bytes once for each connection and direction, also when they come at the same time', async () => {
  const file = fileOf([entry('Ada')]);
  const kept = await Promise.all([1, 2, 3, 4, 5].map(() => archive.keep(file)));
  const other = fileArchive({ pool, keyring });
  kept.push(...(await Promise.all([other.keep(file), archive.keep(file), other.keep(file)])));
  expect(kept.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(new Set(kept.map(({ id }) => id)).size).toBe(1);
  expect(await archive.keep({ ...file, way: 'in' })).toMatchObject({ isNew: true });
  expect(await archive.keep({ ...file, connection: 'second' })).toMatchObject({ isNew: true });
  expect(await archive.list({ max: 10 })).toHaveLength(3);
});

it('keeps a file in the caller’s transaction, or not at all', async () => {
  const [lost, kept] = [fileOf([entry('Ada')]), fileOf([entry('Bob')])];
  const failing = inTransaction(pool, async (client) => {
    await archive.keep(lost, client);
    throw new Error('the caller fails');
  });
  await expect(failing).rejects.toThrow('the caller fails');
  expect(await archive.list({ max: 10 })).toEqual([]);
  const { id } = await inTransaction(pool, (client) => archive.keep(kept, client));
  expect(wholeOf(kept).equals(await archive.bytes(id))).toBe(true);
  const again = await inTransaction(pool, (client) => archive.keep(kept, client));
  expect(again).toEqual({ id, isNew: false });
});

it('lists files by payment and page, the newest first', async () => {
  const [ada, bob] = [entry('Ada'), entry('Bob')];
  const ids: string[] = [];
  for (const file of [
    fileOf([ada]),
    fileOf([bob]),
    fileOf([ada, bob], { way: 'in', kind: 'nacha' }),
  ])
    ids.unshift((await archive.keep(file)).id);
  const listed = async (filter: { paymentId?: string; after?: string; max: number }) =>
    (await archive.list(filter)).map(({ id }) => id);
  expect(await listed({ max: 10 })).toEqual(ids);
  expect(await listed({ max: 1 })).toEqual([ids[0]]);
  expect(await listed({ max: 10, after: ids[0] ?? '' })).toEqual(ids.slice(1));
  expect(await listed({ max: 10, paymentId: ada.paymentId })).toEqual([ids[0], ids[2]]);
  expect(await listed({ max: 10, paymentId: randomUUID() })).toEqual([]);
});

it('loses what belongs to an erased contact, and nothing else', async () => {
  const [ada, bob] = [entry('Ada'), entry('Bob')];
  const file = fileOf([ada, bob]);
  const { id } = await archive.keep(file);
  await keyring.destroy([`contact:${ada.contactId}`]);
  const blank = Buffer.alloc(ada.bytes.length, ' ');
  const found = await archive.read(id);
  expect(Buffer.from(found?.bytes ?? [])).toEqual(Buffer.concat([header, blank, bob.bytes]));
  expect(found).toMatchObject({ erasedBytes: blank.length, file: { sha256: sha256Of(file) } });
  // What is sent again must be whole.
  await expect(archive.bytes(id)).rejects.toThrow(ArchiveErased);
});

it('keeps a file that speaks of an erased contact, without the contact’s part', async () => {
  const [ada, bob] = [entry('Ada'), entry('Bob')];
  await keyring.destroy([`contact:${ada.contactId}`]);
  const { id, isNew } = await archive.keep(fileOf([ada, bob], { way: 'in' }));
  expect(isNew).toBe(true);
  const found = await archive.read(id);
  const blank = Buffer.alloc(ada.bytes.length, ' ');
  expect(Buffer.from(found?.bytes ?? [])).toEqual(Buffer.concat([header, blank, bob.bytes]));
});

it('stores no byte in the clear, and no text under a key that seals everything', async () => {
  // With a space, which no sealed text has.
  const name = 'Ada Lovelace';
  const ada = entry(name);
  await archive.keep(fileOf([ada]));
  const { rows } = await pool.query<{ row: string; owner: string }>(
    'SELECT p::text || f::text AS row, p.owner FROM rail_file_parts p JOIN rail_files f ON f.id = file_id ORDER BY part',
  );
  for (const secret of ['99887766554433', name, Buffer.from(name).toString('hex')])
    expect(rows.map(({ row }) => row).join()).not.toContain(secret);
  const month = new Date().toISOString().slice(0, 7);
  expect(rows.map(({ owner }) => owner)).toEqual([
    `railArchive:first-bank-ach/${month}`,
    `contact:${ada.contactId}`,
  ]);
});

it.each([
  ['two parts that were exchanged', `UPDATE rail_file_parts SET part = 3 - part WHERE part > 0`],
  ['a part that was deleted', `DELETE FROM rail_file_parts WHERE part = 1`],
  ['a last part that was deleted', `DELETE FROM rail_file_parts WHERE part = 2`],
  [
    'a text of another part',
    `UPDATE rail_file_parts SET sealed = (SELECT sealed FROM rail_file_parts WHERE part = 2) WHERE part = 1`,
  ],
])('finds %s', async (_what, alteration) => {
  const contactId = randomUUID();
  const entries = ['Ada', 'Bob'].map((name) => ({ ...entry(name), contactId }));
  const { id } = await archive.keep(fileOf(entries));
  await pool.query('ALTER TABLE rail_file_parts DROP CONSTRAINT rail_file_parts_pkey');
  await pool.query(alteration);
  await expect(archive.bytes(id)).rejects.toThrow(/is not what was kept|was altered/);
  await expect(archive.read(id)).rejects.toThrow(/is not what was kept|was altered/);
});

it('keeps a file of thousands of entries as a whole, or nothing of it', async () => {
  const entries = Array.from({ length: 4_500 }, (_, at) => entry(`Contact ${at}`));
  const file = fileOf(entries);
  const { id } = await archive.keep(file);
  expect(wholeOf(file).equals(await archive.bytes(id))).toBe(true);
  const failing = fileOf(entries, { way: 'in' });
  await pool.query(
    `ALTER TABLE rail_file_parts ADD CONSTRAINT refused CHECK (part < 4400) NOT VALID`,
  );
  await expect(archive.keep(failing)).rejects.toThrow(/refused/);
  expect(await archive.list({ max: 10 })).toHaveLength(1);
});

it('keeps a file whatever the bank calls it', async () => {
  const name = `\0\u001b[2J${'x'.repeat(10_000)}`;
  await archive.keep(fileOf([], { way: 'in', name }));
  const [file] = await archive.list({ max: 1 });
  expect(file?.name).toBe(`??[2J${'x'.repeat(195)}`);
});

it('knows no file of an unknown ID', async () => {
  expect(await archive.read(randomUUID())).toBeNull();
  await expect(archive.bytes(randomUUID())).rejects.toThrow(/has no file/);
});
