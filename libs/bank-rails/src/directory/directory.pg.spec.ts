/** The routing directory in PostgreSQL: imports, and what processes remember of it. */
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  chunksOf,
  listOf,
  type ListedBank,
  routingNumberAt,
} from '../testing/participant-lists.js';
import { directoryAges } from './directory-age.js';
import { importDirectory, problemsMax } from './directory-import.js';
import type { DirectoryKind } from './routing-directory.js';
import { sandboxEntries } from './sandbox-directory.js';
import { StoredDirectory } from './stored-directory.js';

let database: TestDatabase;
let pool: pg.Pool;
let now: number;
beforeEach(async () => {
  now = 0;
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const directory = (options: object = {}) =>
  new StoredDirectory(pool, { elapsedMs: () => now, ...options });
const load = (kind: DirectoryKind, banks: readonly ListedBank[], options: object = {}) =>
  importDirectory(pool, { kind, file: chunksOf(listOf(kind, banks)), ...options });
const banksUpTo = (count: number, name = 'BANK'): ListedBank[] =>
  Array.from({ length: count }, (_, index) => ({
    routingNumber: routingNumberAt(index),
    name: `${name} ${index}`,
  }));
const one = { routingNumber: '021000021', name: 'FIRST BANK' };
const two = { routingNumber: '121000248', name: 'SECOND BANK' };

describe('an import', () => {
  it('says what it read, added, changed and removed', async () => {
    const counts = { kind: 'fedach', refused: 0, problems: [] };
    const first = { ...counts, rowsRead: 2, added: 2, changed: 0, removed: 0 };
    expect(await load('fedach', [one, two])).toEqual(first);
    expect(await load('fedach', [one, two])).toEqual({ ...first, added: 0 });
    const renamed = { ...one, name: 'FIRST NATIONAL BANK' };
    const second = { ...counts, rowsRead: 1, added: 0, changed: 1, removed: 1 };
    expect(await load('fedach', [renamed])).toEqual(second);
    // Who comes back is a change.
    expect(await load('fedach', [renamed, two])).toEqual({ ...second, rowsRead: 2, removed: 0 });
  });

  it('is remembered with its time, also when it changes nothing', async () => {
    const never = { fedach: 0, fedwire: 0, rtp: 0, fednow: 0 };
    expect(await directoryAges(pool)).toEqual(never);
    await load('fedach', [one, two]);
    const setBack = "UPDATE routing_directory_imports SET imported_at = now() - interval '40 days'";
    await pool.query(setBack);
    const { fedach } = await directoryAges(pool);
    expect(Math.abs(fedach - 40 * 86_400)).toBeLessThan(60);
    await load('fedach', [one, two]);
    expect((await directoryAges(pool)).fedach).toBeLessThan(60);
  });

  it('joins the lists of all rails, and takes the name of the first that has the number', async () => {
    await load('rtp', [
      { ...one, name: 'First (RTP)' },
      { ...two, takesPart: false },
    ]);
    await load('fedwire', [{ ...one, name: 'FIRST WIRE' }]);
    expect(await directory().find(one.routingNumber)).toEqual({
      bankName: 'FIRST WIRE',
      rails: ['ACH', 'FEDWIRE', 'RTP'],
    });
    expect(await directory().find(two.routingNumber)).toEqual({
      bankName: 'SECOND BANK',
      rails: ['ACH'],
    });
    await load('fedach', [one]);
    expect((await directory().find(one.routingNumber))?.bankName).toBe('FIRST BANK');
  });

  it('marks who is no longer listed, and the directory does not have it any more', async () => {
    await load('fednow', [one, two]);
    await load('fednow', [one]);
    expect(await directory().find(two.routingNumber)).toBeNull();
    const { rows } = await pool.query(
      'SELECT routing_number FROM routing_directory WHERE removed_at IS NOT NULL',
    );
    expect(rows).toEqual([{ routing_number: two.routingNumber }]);
  });

  it('refuses rows that it cannot read, takes the others, and then removes nobody', async () => {
    await load('fedach', [one, two]);
    const text = `${listOf('fedach', [{ ...one, name: 'NEW NAME' }])}${'x'.repeat(155)}\n`;
    const report = await importDirectory(pool, { kind: 'fedach', file: chunksOf(text) });
    expect(report).toMatchObject({ rowsRead: 2, changed: 1, removed: 0, refused: 1 });
    expect(report.problems).toEqual([
      { line: 2, column: 1, problem: 'not a valid routing number' },
    ]);
    expect(await directory().find(two.routingNumber)).not.toBeNull();
  });

  it('refuses a number that occurs twice', async () => {
    const report = await load('rtp', [one, two, { ...one, name: 'ANOTHER' }]);
    expect(report).toMatchObject({ rowsRead: 3, added: 2, refused: 1 });
    expect(report.problems).toEqual([
      { line: 4, column: 1, problem: 'the routing number occurs twice' },
    ]);
  });

  it('names a bounded number of problems', async () => {
    const bad = '1'.repeat(155);
    const text = listOf('fedach', [one]) + `${bad}\n`.repeat(500);
    const report = await importDirectory(pool, { kind: 'fedach', file: chunksOf(text) });
    expect(report.refused).toBe(500);
    expect(report.problems).toHaveLength(problemsMax);
  });

  it.each([
    ['another layout', () => listOf('fedwire', [one])],
    ['nothing in it', () => ''],
  ])('refuses a file with %s, and changes nothing', async (_what, content) => {
    await load('fedach', [one, two]);
    await expect(
      importDirectory(pool, { kind: 'fedach', file: chunksOf(content()) }),
    ).rejects.toThrow('no row can be read as fedach');
    expect(await directory().find(two.routingNumber)).not.toBeNull();
  });

  it('refuses a list that looks cut off, unless the operator accepts it', async () => {
    await load('fedach', banksUpTo(100));
    await expect(load('fedach', banksUpTo(79))).rejects.toThrow(
      '21 of 100 participants are missing',
    );
    expect(await load('fedach', banksUpTo(80))).toMatchObject({ removed: 20 });
    expect(await load('fedach', [one], { acceptsRemovals: true })).toMatchObject({ removed: 80 });
  });

  it('leaves nothing behind when the file breaks off', async () => {
    await load('fedach', [one]);
    const broken = async function* () {
      yield await Promise.resolve(Buffer.from(listOf('fedach', banksUpTo(5_000))));
      throw new Error('the disk is gone');
    };
    await expect(importDirectory(pool, { kind: 'fedach', file: broken() })).rejects.toThrow(
      'the disk is gone',
    );
    expect(await directory().find(routingNumberAt(1))).toBeNull();
  });

  it('never shows a mixture of the old directory and the new one', async () => {
    const count = 2_000;
    await load('fedach', banksUpTo(count, 'OLD'));
    let isDone = false;
    const importing = load('fedach', banksUpTo(count, 'NEW')).finally(() => (isDone = true));
    const seen = new Set<string>();
    while (!isDone) {
      const { rows } = await pool.query<{ names: string }>(
        `SELECT string_agg(DISTINCT split_part(bank_name, ' ', 1), ',') AS names FROM routing_directory`,
      );
      seen.add(rows[0]?.names ?? '');
    }
    await importing;
    expect([...seen].filter((names) => names !== 'OLD' && names !== 'NEW')).toEqual([]);
  });

  it('waits for another import of the same list', async () => {
    const lists = [banksUpTo(50, 'A'), banksUpTo(60, 'B')];
    await Promise.all(lists.map((banks) => load('rtp', banks, { acceptsRemovals: true })));
    const { rows } = await pool.query<{ names: string; count: number }>(
      `SELECT split_part(bank_name, ' ', 1) AS names, count(*)::int AS count
         FROM routing_directory WHERE removed_at IS NULL GROUP BY 1`,
    );
    expect([[{ names: 'A', count: 50 }], [{ names: 'B', count: 60 }]]).toContainEqual(rows);
  });
});

describe('what a process remembers', () => {
  it('is forgotten within two seconds after an import', async () => {
    const known = directory();
    expect(await known.find(one.routingNumber)).toBeNull();
    await load('rtp', [one]);
    now += 2_000;
    expect(await known.find(one.routingNumber)).toBeNull();
    now += 1;
    expect(await known.find(one.routingNumber)).toEqual({
      bankName: 'FIRST BANK',
      rails: ['ACH', 'RTP'],
    });
  });

  it('saves the questions', async () => {
    let questions = 0;
    const counting = new Proxy(pool, {
      get: (target, name, receiver) => {
        if (name === 'query') questions += 1;
        return Reflect.get(target, name, receiver) as unknown;
      },
    });
    const known = new StoredDirectory(counting, { elapsedMs: () => now });
    const ask = () => Promise.all(Array.from({ length: 20 }, () => known.find(one.routingNumber)));
    await ask();
    expect(questions).toBe(2);
    await ask();
    expect(questions).toBe(2);
    now += 2_001;
    await ask();
    expect(questions).toBe(3);
  });

  it('is nothing when the database is away: the question fails, and the next one works', async () => {
    const known = directory();
    await pool.query('ALTER TABLE routing_directory_state RENAME TO away');
    await expect(known.find(one.routingNumber)).rejects.toThrow('routing_directory_state');
    await pool.query('ALTER TABLE away RENAME TO routing_directory_state');
    expect(await known.find(one.routingNumber)).toBeNull();
  });
});

describe('the shipped directory of the sandbox', () => {
  it('answers for numbers that no import ever had', async () => {
    const known = directory({ shipped: sandboxEntries });
    expect(await known.find('021000021')).toMatchObject({ bankName: 'JPMorgan Chase Bank' });
    await load('fedach', [one, two]);
    await load('fedach', [one]);
    now += 2_001;
    expect(await known.find('021000021')).toEqual({ bankName: 'FIRST BANK', rails: ['ACH'] });
    // An import removed it.
    expect(await known.find('121000248')).toBeNull();
    expect(await known.find('026009593')).toMatchObject({ bankName: 'Bank of America' });
  });
});
