import { randomUUID } from 'node:crypto';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { fileArchive, type FileArchive, type SealedFile } from '../../connections/file-archive.js';
import { type IsoTransfer, IsoTransfers } from './iso-transfers.js';

let database: TestDatabase;
let pool: pg.Pool;
let archive: FileArchive;
let name: string;
let transfers: IsoTransfers;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
  archive = fileArchive({ pool, keyring: await testKeyringOn(pool) });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(() => {
  name = randomUUID();
  transfers = new IsoTransfers(pool, name, archive);
});

function sealed(text: string, way: 'out' | 'in' = 'out'): Promise<SealedFile> {
  const segments = [{ bytes: Buffer.from(text), owner: null, paymentId: null }];
  return archive.seal({
    ...{ connection: name, rail: 'FEDNOW', way, kind: 'pacs.008', name: text, segments },
  });
}

function sending(reference: string, fileId: string | null): IsoTransfer {
  return {
    ...{ reference, state: 'sending', rejection: null, details: null, sends: 1, fileId },
    ...{ messageId: `M ${reference}`, instructionId: `I ${reference}`, uetr: randomUUID() },
  };
}

async function kept(): Promise<readonly string[]> {
  const files = await archive.list({ max: 100 });
  return files.filter(({ connection }) => connection === name).map((file) => file.name);
}

it('writes a row with its copy in one statement, and an answer with its copy in another', async () => {
  const statements: unknown[] = [];
  const counting = Object.create(pool) as pg.Pool;
  counting.query = ((...args: Parameters<pg.Pool['query']>) => {
    statements.push(args[0]);
    return pool.query(...args);
  }) as pg.Pool['query'];
  counting.connect = () => Promise.reject(new Error('a transaction was begun'));
  const own = new IsoTransfers(counting, name, archive);

  const copy = await sealed('a');
  const transfer = sending('A', copy.id);
  expect(await own.add(transfer, copy)).toBe(true);
  const settled = await own.settle(transfer, 'accepted', { copy: await sealed('answer', 'in') });
  expect(settled).toMatchObject({ state: 'accepted', fileId: copy.id });
  expect(statements).toHaveLength(2);
  expect([...(await kept())].sort()).toEqual(['a', 'answer']);
});

it('keeps no copy for a reference that has a row', async () => {
  const [first, second, third] = await Promise.all(['a', 'b', 'c'].map((text) => sealed(text)));
  if (first === undefined || second === undefined || third === undefined) throw new Error('three');
  await transfers.add(sending('A', first.id), first);
  const added = await Promise.all([
    transfers.add(sending('A', second.id), second),
    transfers.add(sending('C', third.id), third),
  ]);
  expect(added).toEqual([false, true]);
  expect([...(await kept())].sort()).toEqual(['a', 'c']);
});

it('uses the copy that is kept when the same bytes come with a row that was lost', async () => {
  const [lost, other] = [await sealed('a'), await sealed('b')];
  await transfers.add(sending('A', lost.id), lost);
  await pool.query('DELETE FROM iso_transfers WHERE connection = $1', [name]);
  const again = await sealed('a');
  const added = await Promise.all([
    transfers.add(sending('A', again.id), again),
    transfers.add(sending('B', other.id), other),
  ]);
  expect(added).toEqual([true, true]);
  expect((await transfers.find('A'))?.fileId).toBe(lost.id);
  expect((await transfers.find('B'))?.fileId).toBe(other.id);
  expect(await archive.bytes(lost.id)).toEqual(Buffer.from('a'));
});

it('keeps the copy of an answer that changes nothing, and of one that came before', async () => {
  const copy = await sealed('a');
  const transfer = sending('A', copy.id);
  await transfers.add(transfer, copy);
  await transfers.settle(transfer, 'accepted', { copy: await sealed('first', 'in') });
  const late = await transfers.settle(transfer, 'rejected', { copy: await sealed('late', 'in') });
  expect(late?.state).toBe('accepted');
  await transfers.settle(transfer, 'rejected', { copy: await sealed('late', 'in') });
  expect([...(await kept())].sort()).toEqual(['a', 'first', 'late']);
});

it('writes the answers to many transfers into the pages of their rows, so that no index is written again', async () => {
  const sent = Array.from({ length: 100 }, (_, n) => sending(`T${n}`.padEnd(64, '.'), null));
  const pages = async () => {
    const { rows } = await pool.query<{ reference: string; page: string }>(
      `SELECT reference, (ctid::text::point)[0]::text AS page FROM iso_transfers
        WHERE connection = $1 ORDER BY reference`,
      [name],
    );
    return rows;
  };
  await Promise.all(sent.map((transfer) => transfers.add(transfer)));
  const before = await pages();
  expect(before).toHaveLength(sent.length);
  await Promise.all(sent.map((transfer) => transfers.settle(transfer, 'accepted')));
  expect(await pages()).toEqual(before);
});

it('forgets what is old by the clocks of PostgreSQL and of the process, and nothing by one of them alone', async () => {
  const dayMs = 86_400_000;
  await transfers.add(sending('A', null));
  await pool.query(
    "UPDATE iso_transfers SET created_at = created_at - interval '10 days' WHERE connection = $1",
    [name],
  );
  await transfers.forget(9 * dayMs, new Date(Date.now() - 2 * dayMs));
  expect(await transfers.find('A')).not.toBeNull();
  await transfers.forget(9 * dayMs, new Date(Date.now() + 2 * dayMs));
  expect(await transfers.find('A')).toBeNull();
});
