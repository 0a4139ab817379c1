/** Which bank files end by themselves. */
import { randomUUID } from 'node:crypto';
import { type FileArchive, fileArchive } from '@pis/bank-rails/connections';
import { type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { ArchiveUpkeep } from './archive-upkeep.js';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let archive: FileArchive;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  keyring = await testKeyringOn(pool);
  archive = fileArchive({ pool, keyring });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const upkeep = (retentionYears: number) =>
  new ArchiveUpkeep({ pool, keyring, retentionYears, logger: createLogger('test', 'silent') });

async function keepFile(name: string, ageDays: number, owner: Owner | 'file'): Promise<string> {
  const { id } = await archive.keep({
    ...({ connection: 'bank', rail: 'ACH', way: 'in', kind: 'nacha', name } as const),
    segments: [{ bytes: Buffer.from(name), owner, paymentId: null }],
  });
  await pool.query(
    `UPDATE rail_files SET created_at = created_at - $2 * interval '1 day',
       blank_at = blank_at - $2 * interval '1 day' WHERE id = $1`,
    [id, ageDays],
  );
  return id;
}
const names = async () => (await archive.list({ max: 10 })).map(({ name }) => name).sort();

it('deletes files after the retention period', async () => {
  const owner = ownerOf.contact(randomUUID());
  await keepFile('after 6 years', 6 * 366, owner);
  await keepFile('after 8 years', 8 * 366, owner);
  await upkeep(7).round();
  expect(await names()).toEqual(['after 6 years']);
});

it('keeps files for more than a year even without a retention period', async () => {
  const owner = ownerOf.contact(randomUUID());
  await keepFile('after 399 days', 399, owner);
  await keepFile('after 401 days', 401, owner);
  await upkeep(0).round();
  expect(await names()).toEqual(['after 399 days']);
});

it('destroys what may speak of anybody after half a year, and nothing else', async () => {
  const old = await keepFile('old', 181, 'file');
  const young = await keepFile('young', 179, 'file');
  const known = await keepFile('known', 181, ownerOf.contact(randomUUID()));
  await upkeep(7).round();
  const erased = async (id: string) => ((await archive.read(id))?.erasedBytes ?? 0) > 0;
  expect([await erased(old), await erased(young), await erased(known)]).toEqual([
    ...[true, false, false],
  ]);
});
