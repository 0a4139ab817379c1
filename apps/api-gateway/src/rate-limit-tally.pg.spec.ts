/** Several gateways over one PostgreSQL, which may be unavailable. */
import { postgresTally } from '@pis/http-api';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { jest } from '@jest/globals';
import type { Logger } from '@pis/service-kit';
import { memoryEventStore } from '@pis/event-store';
import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { type Gateway, startGateway, type Tenant } from './testing/gateway.js';

const perSecond = 8;
const burst = 16;
/** Requests in a batch. */
const batch = 2;
const timeoutMs = 15_000;
const requestsMax = 1_000;
const nowhere = 'postgres://nobody@127.0.0.1:1/none';

let database: TestDatabase;
/** The publications to PostgreSQL, so that a test can wait until they are done. */
const penalties = jest.spyOn(RateLimiterPostgres.prototype, 'penalty');
const running: Gateway[] = [];
const logged: string[] = [];
const record = (_fields: unknown, message: string) => void logged.push(message);
const logger = { info: record, warn: record, error: record, debug: record } as unknown as Logger;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((gateway) => gateway.close()));
});
afterAll(async () => {
  await database?.drop();
});

/** Gateways with the same keys. */
async function start(databaseUrls: readonly string[], PIS_RATE_LIMIT_STORE: 'memory' | 'postgres') {
  const store = memoryEventStore();
  const changes = { PIS_RATE_LIMIT_PER_KEY: perSecond, PIS_RATE_LIMIT_STORE };
  const gateways = await Promise.all(
    databaseUrls.map((databaseUrl) =>
      startGateway({ databaseUrl, store, changes, projects: false, logger }),
    ),
  );
  running.push(...gateways);
  const [first] = gateways;
  if (first === undefined) throw new Error('no gateway');
  return { gateways, tenant: await first.createTenant() };
}

/** A list opens the first connection to PostgreSQL, which takes longer than a burst. */
async function connect(gateways: readonly Gateway[], tenant: Tenant): Promise<void> {
  for (const gateway of gateways)
    await gateway.call('/v1/payments', { tenant, key: tenant.keys.read_only });
}

/**
 * Sends requests to the gateways in turn until each of them refuses one. Returns how many passed, and how many
 * the rate alone allowed meanwhile. A gateway receives the counts of the others when it publishes its own.
 */
async function passing(gateways: readonly Gateway[], tenant: Tenant, key?: string) {
  const startedAt = performance.now();
  const options = { tenant, ...(key === undefined ? {} : { key }) };
  let passed = 0;
  for (let sent = 0, refused = 0; refused < gateways.length && sent < requestsMax; sent += 1) {
    const reply = await gateways[sent % gateways.length]?.call('/v1/webhooks', options);
    refused = reply?.status === 429 ? refused + 1 : 0;
    if (refused === 0) passed += 1;
    await Promise.allSettled(penalties.mock.results.map(({ value }) => value));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { passed, gained: ((performance.now() - startedAt) / 1_000) * perSecond };
}

/** Each gateway may have allowed a batch that the others do not know yet. */
const togetherMax = (gateways: number, gained: number) => burst + gateways * batch + 2 * gained;

describe('gateways that share their limits through PostgreSQL', () => {
  it('together allow one burst for each key, on any of them', async () => {
    const { gateways, tenant } = await start(Array(3).fill(database.url), 'postgres');
    await connect(gateways, tenant);
    const { passed, gained } = await passing(gateways, tenant);
    expect(passed).toBeGreaterThanOrEqual(burst);
    expect(passed).toBeLessThanOrEqual(togetherMax(3, gained));
    const other = await passing(gateways, tenant, tenant.keys.webhook_admin);
    expect(other.passed).toBeGreaterThanOrEqual(burst);
  });

  it('together allow an address one burst of failures', async () => {
    const { gateways, tenant } = await start(Array(3).fill(database.url), 'postgres');
    await connect(gateways, tenant);
    const { passed, gained } = await passing(gateways, tenant, 'nonsense');
    expect(passed).toBeGreaterThanOrEqual(burst);
    expect(passed).toBeLessThanOrEqual(togetherMax(3, gained));
  });

  it('do not share them by default: each allows a burst', async () => {
    const { gateways, tenant } = await start(Array(3).fill(database.url), 'memory');
    const { passed } = await passing(gateways, tenant);
    expect(passed).toBeGreaterThanOrEqual(3 * burst);
  });

  it('limit separately while PostgreSQL is unavailable, without a pause or a refusal, and log this once', async () => {
    logged.length = 0;
    const { gateways, tenant } = await start([nowhere, nowhere], 'postgres');
    const { passed, gained } = await passing(gateways, tenant);
    expect(passed).toBeGreaterThanOrEqual(2 * burst);
    expect(passed).toBeLessThanOrEqual(2 * burst + 2 * gained + 2);
    await until(() => logged.filter((line) => line.includes('alone for now')).length === 2, {
      timeoutMs,
    });
  });
});

describe('the tally', () => {
  it('fails while PostgreSQL is unavailable, recovers when it is back, and logs both once', async () => {
    const pool = openTestPool(database.url, 2);
    let away = true;
    const flaky = {
      query: (...args: [string]) =>
        away ? Promise.reject(new Error('connection lost')) : pool.query(...args),
    };
    try {
      logged.length = 0;
      const tally = postgresTally({ pool: flaky, kind: 'test', logger });
      expect(tally.isFree()).toBe(true);
      expect(await tally.add('id', 5)).toBeNull();
      expect(tally.isFree()).toBe(false);
      expect(await tally.add('id', 5)).toBeNull();
      away = false;
      expect(await tally.add('id', 5)).toMatchObject({ total: 5 });
      expect(await tally.add('id', 3)).toMatchObject({ total: 8 });
      expect(await tally.add('other', 3)).toMatchObject({ total: 3 });
      expect(logged).toEqual([
        'rate limits are of this process alone for now',
        'rate limits are shared again',
      ]);
      await until(() => tally.isFree(), { timeoutMs });
    } finally {
      await pool.end();
    }
  });

  it('treats a window from a gateway with a fast clock as a new one', async () => {
    const rows = [{ points: 7, expire: Date.now() + 90_000 }];
    const query = () => Promise.resolve({ rows });
    const tally = postgresTally({ pool: { query }, kind: 'test', logger });
    expect(await tally.add('id', 5)).toEqual({ total: 7, windowAgeMs: 0 });
  });

  it('does not take all connections when answers are slow', async () => {
    let answer: (value: unknown) => void = () => undefined;
    const answers = new Promise((resolve) => (answer = resolve));
    const tally = postgresTally({ pool: { query: () => answers }, kind: 'test', logger });
    const adding = [];
    for (; tally.isFree() && adding.length < 100; ) adding.push(tally.add('id', 1));
    expect(adding).toHaveLength(4);
    answer({ rows: [{ points: 1, expire: Date.now() }] });
    await Promise.all(adding);
    expect(tally.isFree()).toBe(true);
  });
});
