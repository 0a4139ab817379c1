import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { binaryArray } from './binary-array.js';
import { createPool } from './pool.js';

const log = { warn: () => undefined, debug: () => undefined };

describe('an array in binary form', () => {
  let database: TestDatabase;
  let pool: pg.Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createPool(database.url, 'spec', log);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const echoed = async (type: 'text' | 'json', texts: readonly (string | null)[]) => {
    const { rows } = await pool.query<{ text: string | null }>(
      `SELECT t.value::text AS text FROM unnest($1::${type}[]) WITH ORDINALITY AS t (value, n) ORDER BY t.n`,
      [binaryArray(type, texts)],
    );
    return rows.map(({ text }) => text);
  };

  it.each<[string, readonly (string | null)[]]>([
    ['no element', []],
    ['quotes, commas, braces and backslashes', ['"a","b"', '{}', '\\', "it's", 'NULL', '']],
    ['nulls among texts', [null, 'a', null, '']],
    ['characters of one to four bytes', ['a\u00e9\u20ac\u{1f600}', '\n\t\r']],
    ['a long text', ['x'.repeat(300_000), 'y']],
  ])('arrives with %s as it was sent', async (_, texts) => {
    expect(await echoed('text', texts)).toEqual(texts);
  });

  it('arrives as JSON, to the letter', async () => {
    const texts = ['{"b": 1, "a":"\\u0000"}', null, '[]'];
    expect(await echoed('json', texts)).toEqual(texts);
  });

  it('sends a lone surrogate as the replacement character, like a plain text parameter', async () => {
    expect(await echoed('text', ['a\ud800b'])).toEqual(['a\ufffdb']);
  });

  it('is refused with a data error if it has a NUL, like a plain text parameter', async () => {
    await expect(echoed('text', ['a\0b'])).rejects.toMatchObject({ code: '22021' });
    await expect(pool.query('SELECT $1::text[]', [['a\0b']])).rejects.toMatchObject({
      code: '22021',
    });
  });
});
