import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { textArray, timeArray, uuidArray } from './array-parameters.js';
import { createPool } from './pool.js';

const log = { warn: () => undefined, debug: () => undefined };

describe('an array as a parameter', () => {
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

  /** As PostgreSQL has received it, and as pg would have sent it. */
  const received = async (type: string, parameter: Buffer | string, values: readonly unknown[]) => {
    const { rows } = await pool.query<{ ours: string[]; theirs: string[]; same: boolean }>(
      `SELECT $1::${type}[]::text[] AS ours, $2::${type}[]::text[] AS theirs, $1::${type}[] = $2::${type}[] AS same`,
      [parameter, values],
    );
    return rows[0];
  };

  const uuids = ['00000000-0000-4000-8000-000000000000', 'ffffffff-9abc-def0-1234-56789abcdef0'];
  const times = [
    '1970-01-01T00:00:00.001Z',
    '1999-12-31T23:59:59.999Z',
    '2026-11-30T12:34:56.789Z',
  ];

  it.each<[string, readonly (string | null)[]]>([
    ['none', []],
    ['some', uuids],
    ['nulls', [null, ...uuids, null]],
    ['nulls alone', [null]],
    ['upper case', [String(uuids[1]).toUpperCase()]],
    ['another form that PostgreSQL knows', ['{00000000-0000-4000-8000-000000000000}', null]],
  ])('has the UUIDs: %s', async (_, values) => {
    const { ours, theirs, same } = (await received('uuid', uuidArray(values), values)) ?? {};
    expect({ ours, same }).toEqual({ ours: theirs, same: true });
    expect(ours).toHaveLength(values.length);
  });

  it.each([
    '00000000-0000-4000-8000-00000000000g',
    '00000000-0000-4000-8000-0000000000\u0130a',
    '00000000a0000-4000-8000-000000000000',
    '',
    '00000000-0000-4000-8000-000000000000\n',
  ])('of UUIDs with %j is a data error, like an array of pg', async (value) => {
    for (const parameter of [uuidArray([value]), [value]])
      await expect(pool.query('SELECT $1::uuid[]', [parameter])).rejects.toMatchObject({
        code: '22P02',
      });
  });

  it('has times to the millisecond, also before 2000', async () => {
    const values = [...times.map((time) => new Date(time)), null];
    const { ours, theirs, same } =
      (await received('timestamptz', timeArray(values), [...times, null])) ?? {};
    expect({ ours, same }).toEqual({ ours: theirs, same: true });
    expect(await received('timestamptz(3)', timeArray([]), [])).toMatchObject({ same: true });
  });

  it('has times of all years that PostgreSQL and an ISO text have', async () => {
    const far = [
      '0001-01-01T00:00:00.001Z',
      '2285-06-05T23:47:34.740Z',
      '2285-06-05T23:47:34.741Z',
    ];
    for (const values of [far, [...times, null, '9999-12-31T23:59:59.999Z']]) {
      const dates = values.map((time) => (time === null ? null : new Date(time)));
      const { ours, theirs, same } =
        (await received('timestamptz', timeArray(dates), values)) ?? {};
      expect({ ours, same }).toEqual({ ours: theirs, same: true });
    }
  });

  it('of times with a year that PostgreSQL does not read is a data error, like an array of pg', async () => {
    const time = new Date(Date.UTC(10_000, 0));
    for (const parameter of [timeArray([time]), [time.toISOString()]])
      await expect(pool.query('SELECT $1::timestamptz[]', [parameter])).rejects.toMatchObject({
        code: expect.stringMatching(/^22/),
      });
  });

  it('takes no invalid time', () => {
    expect(() => timeArray([new Date(Number.NaN)])).toThrow(RangeError);
  });

  it.each<[string, readonly (string | number | boolean | null)[]]>([
    ['text', []],
    [
      'text',
      ['a', null, '', 'NULL', 'null', ' a b ', '{a,b}', '"', '\\', 'a"b\\"c\\\\', "it's", 'é€😀\n'],
    ],
    ['text', ['a', null, '', 'NULL', 'null', ' a b ', '{a,b}', "it's", 'é€😀\u007f\u2028']],
    ['integer', [0, -1, null, 2_147_483_647]],
    ['bigint', [Number.MAX_SAFE_INTEGER, '9223372036854775807', -5, null]],
    ['boolean', [true, null, false]],
    ['timestamptz(3)', [...times, '2026-11-30T12:34:56.789123+02:00', null]],
    ['uuid', [...uuids, null]],
  ])('of %s has the values %j', async (type, values) => {
    const { ours, theirs, same } = (await received(type, textArray(values), values)) ?? {};
    expect({ ours, same }).toEqual({ ours: theirs, same: true });
  });

  it('of text with NUL is a data error, like an array of pg', async () => {
    for (const parameter of [textArray(['a\0b']), ['a\0b']])
      await expect(pool.query('SELECT $1::text[]', [parameter])).rejects.toMatchObject({
        code: '22021',
      });
  });
});
