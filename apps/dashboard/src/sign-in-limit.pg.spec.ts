import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { SignInFailures } from '@pis/users';
import type pg from 'pg';
import { failuresPerNetworkMax, SignInLimit } from './sign-in-limit.js';

const poolMax = 10;

let database: TestDatabase;
let pool: pg.Pool;
let failures: SignInFailures;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, poolMax);
  failures = new SignInFailures(pool, await testKeyringOn(pool));
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const aProcess = () => new SignInLimit(true, failures);
const attempt = (limit: SignInLimit, address: string, hasFailed = true) =>
  limit.attempt(
    address,
    () => Promise.resolve(hasFailed),
    (result) => result,
  );
const isLimited = { code: 'RATE_LIMITED' };

async function fail(limit: SignInLimit, times: number, addressOf: (n: number) => string) {
  for (let number = 1; number <= times; number += 1) await attempt(limit, addressOf(number));
}

it('counts the failures of a network in all processes together', async () => {
  const address = '198.51.100.1';
  const [one, other] = [aProcess(), aProcess()];
  await fail(one, failuresPerNetworkMax - 1, () => address);
  await attempt(other, address, false);
  await attempt(other, address);
  for (const limit of [one, other, aProcess()])
    await expect(attempt(limit, address, false)).rejects.toMatchObject(isLimited);
  await attempt(one, '198.51.100.2', false);
  // The window ends.
  await pool.query("UPDATE sign_in_failures SET ends_at = now() - interval '1 second'");
  await attempt(one, address, false);
});

it('counts the networks of an IPv6 site together', async () => {
  const limit = aProcess();
  const of = (network: number, site = 'a') => `2001:db8:${site}:${network}::1`;
  await fail(limit, 2 * failuresPerNetworkMax, of);
  await expect(attempt(limit, of(1_000))).rejects.toMatchObject(isLimited);
  await attempt(limit, of(1, 'b'));
});

it('keeps nothing about the networks of a site that is stopped', async () => {
  const limit = aProcess();
  const of = (network: number) => `2001:db8:c:${network}::1`;
  await fail(limit, 2 * failuresPerNetworkMax, of);
  const rows = async () => (await pool.query('SELECT FROM sign_in_failures')).rowCount;
  const before = await rows();
  for (let network = 1_000; network < 1_010; network += 1)
    await expect(attempt(limit, of(network))).rejects.toMatchObject(isLimited);
  expect(await rows()).toBe(before);
});

it('lets no more pass that try at the same time', async () => {
  const address = '198.51.100.3';
  await fail(aProcess(), failuresPerNetworkMax - 2, () => address);
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, () => attempt(aProcess(), address)),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
});

it('an attempt that is not judged, or refused, counts for nothing', async () => {
  const address = '198.51.100.4';
  const limit = aProcess();
  for (let tries = 0; tries <= failuresPerNetworkMax; tries += 1)
    await expect(
      limit.attempt(
        address,
        () => Promise.reject(new Error('busy')),
        () => true,
      ),
    ).rejects.toThrow('busy');
  await attempt(limit, address);
});

it('keeps no address, and deletes what has ended', async () => {
  await attempt(aProcess(), '198.51.100.5');
  const rows = async () => (await pool.query('SELECT * FROM sign_in_failures')).rows as unknown[];
  expect(JSON.stringify(await rows())).not.toContain('198.51');
  await pool.query("UPDATE sign_in_failures SET ends_at = now() - interval '1 second'");
  await failures.prune();
  expect(await rows()).toEqual([]);
});
