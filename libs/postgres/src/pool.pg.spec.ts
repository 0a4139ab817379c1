import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import {
  closeAfterEach,
  createTestDatabase,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { createPool } from './pool.js';
import { silenceable } from './testing/silent-proxy.js';
import { isTransient } from './transient-errors.js';

const atEnd = closeAfterEach();

const logger = { warn: () => undefined, debug: () => undefined };

describe('a database that silently vanishes', () => {
  let database: TestDatabase;
  let proxy: Awaited<ReturnType<typeof silenceable>>;
  let pool: pg.Pool;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await silenceable(database.url);
    pool = createPool(proxy.url, 'spec', logger, { queryTimeoutMs: 1_500 });
  });
  afterEach(async () => {
    proxy.close();
    await pool.end();
    await database.drop();
  });

  it('fails a query in time with a transient error, and the next query uses a new connection', async () => {
    await pool.query('SELECT 1');
    proxy.silent = true;
    const failure: unknown = await pool.query('SELECT 1').catch((error: unknown) => error);
    expect(isTransient(failure)).toBe(true);
    proxy.silent = false;
    await until(() => pool.query('SELECT 1').then(() => true), { timeoutMs: 20_000 });
  });

  it('also fails a transaction in time', async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    proxy.silent = true;
    const failure: unknown = await client.query('SELECT 1').catch((error: unknown) => error);
    client.release(true);
    expect(isTransient(failure)).toBe(true);
  });

  it('has a longer time limit than PostgreSQL itself', () => {
    const { query_timeout, statement_timeout } = createPool(proxy.url, 'spec', logger).options;
    expect(Number(query_timeout)).toBeGreaterThan(Number(statement_timeout));
  });
});

it('warns of an idle connection that is lost, but not once the pool is being closed', async () => {
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  const warnings: string[] = [];
  const warn = (_: object, message: string) => void warnings.push(message);
  const pool = createPool(database.url, 'spec', { ...logger, warn });
  const lost = new Error('terminating connection due to administrator command');
  const idle = async () => {
    const client = await pool.connect();
    client.release();
    return client;
  };
  (await idle()).emit('error', lost);
  const last = await idle();
  const ended = pool.end();
  last.emit('error', lost);
  await ended;
  expect(warnings).toEqual(['lost an idle PostgreSQL connection']);
});

it('the locks of a machine that vanishes are free after half a minute', async () => {
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  const pool = createPool(database.url, 'spec', logger);
  atEnd(() => pool.end());
  const { rows } = await pool.query<Record<'idle' | 'interval' | 'count' | 'unanswered', number>>(
    `SELECT current_setting('tcp_keepalives_idle')::int AS idle,
       current_setting('tcp_keepalives_interval')::int AS interval,
       current_setting('tcp_keepalives_count')::int AS count,
       (SELECT setting::int / 1000 FROM pg_settings WHERE name = 'tcp_user_timeout') AS unanswered`,
  );
  const { idle = 0, interval = 0, count = 0, unanswered = 0 } = rows[0] ?? {};
  for (const noticedAfterSeconds of [idle + interval * count, unanswered]) {
    expect(noticedAfterSeconds).toBeGreaterThan(0);
    expect(noticedAfterSeconds).toBeLessThanOrEqual(30);
  }
});

it('a connection that the server ends immediately fails its query, not the process', async () => {
  const server = await endingAtOnce();
  atEnd(() => server.close());
  const pool = createPool(server.url, 'spec', logger);
  atEnd(() => pool.end());
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const failure: unknown = await pool
      .connect()
      .then(
        (client) => client.query('SELECT 1').finally(() => client.release(true)),
        (error: unknown) => error,
      )
      .catch((error: unknown) => error);
    expect(isTransient(failure)).toBe(true);
  }
});

it('a database that takes no connections for a while refuses with a transient error', async () => {
  const [database, other] = [await createTestDatabase(), await createTestDatabase()];
  atEnd(() => database.drop());
  atEnd(() => other.drop());
  const pool = createPool(database.url, 'spec', logger);
  atEnd(() => pool.end());
  const elsewhere = createPool(other.url, 'spec', logger);
  atEnd(() => elsewhere.end());
  const allow = (isAllowed: boolean) =>
    elsewhere.query(
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} ALLOW_CONNECTIONS ${isAllowed}`,
    );
  await allow(false);
  const failure: unknown = await pool.query('SELECT 1').catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: '55000' });
  expect(isTransient(failure)).toBe(true);
  await allow(true);
  expect((await pool.query('SELECT 1')).rowCount).toBe(1);
});

/** A server that says "ready" and "terminated by an administrator" in one packet. */
async function endingAtOnce() {
  const message = (type: string, body: Buffer) => {
    const header = Buffer.alloc(5);
    header.write(type);
    header.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([header, body]);
  };
  const answer = Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('Z', Buffer.from('I')),
    message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0')),
  ]);
  const server = net.createServer((client) => {
    client.on('error', () => client.destroy());
    client.once('data', () => client.end(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `postgresql://pis:pis@127.0.0.1:${port}/pis`, close: () => server.close() };
}
