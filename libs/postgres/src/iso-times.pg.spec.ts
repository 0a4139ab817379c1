import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import pg from 'pg';
import { isoTimes } from './iso-times.js';

describe('times as ISO texts', () => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(['UTC', 'America/New_York', 'Asia/Kolkata', 'Europe/London'])(
    'are those of Date in a session in %s',
    async (zone) => {
      await client.query(`SET TIME ZONE '${zone}'`);
      const times = [
        '2026-11-30T12:34:56.789Z',
        '2026-06-30T12:34:56.780Z',
        '2026-11-30T12:34:56.700Z',
        '2026-11-30T00:00:00.000Z',
        '1969-12-31T23:59:59.999Z',
        '0099-01-01T00:00:00.000Z',
      ];
      const { rows } = await client.query<{ time: string | null }>({
        text: 'SELECT unnest($1::timestamptz(3)[]) AS time',
        values: [[...times, null]],
        types: isoTimes,
      });
      expect(rows.map(({ time }) => time)).toEqual([...times, null]);
    },
  );

  it('leave other types as they are', async () => {
    const { rows } = await client.query({
      text: `SELECT 1 AS number, '{"a":1}'::json AS json, true AS is, 'x' AS text`,
      types: isoTimes,
    });
    expect(rows).toEqual([{ number: 1, json: { a: 1 }, is: true, text: 'x' }]);
  });
});
