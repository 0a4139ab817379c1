import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  type DeliveryFilter,
  deliveryIdOf,
  deliveryLog,
  type DeliveryPlace,
} from './delivery-log.js';
import { deliveriesOfEvents } from './event-deliveries.js';

/** Of one endpoint, delivered one a minute; every thousandth failed. */
const finished = 20_000;
const everyMs = 60_000;
const newest = Date.parse('2026-11-21T09:00:00.000Z');
const at = (n: number) => new Date(newest - n * everyMs).toISOString();
const startLimitMs = 60_000;
/** What a page costs that has to look at every delivery is many times this. */
const pageMaxBlocks = 150;

let database: TestDatabase;
let pool: pg.Pool;
const organizationId = randomUUID();
const endpointId = randomUUID();
/** The last statement of the log, to be explained. */
let asked: { readonly text: string; readonly values: unknown[] };

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  await pool.query(
    `INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type,
        payment_id, occurred_at, attempts, created_at, window_ends_at, state, finished_at)
      SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), 'payment.queued', gen_random_uuid(), t, 1, t,
          t + interval '3 days', CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'delivered' END, t
        FROM (SELECT n, $3::timestamptz - n * $4::int * interval '1 ms' AS t
          FROM generate_series(1, $5::int) n) made`,
    [organizationId, endpointId, new Date(newest), everyMs, finished],
  );
  await pool.query('ANALYZE webhook_finished_deliveries');
}, startLimitMs);
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

async function list(filter: DeliveryFilter) {
  const watched = {
    query: (text: string, values: unknown[]) => {
      asked = { text, values };
      return pool.query(text, values);
    },
  } as unknown as pg.Pool;
  const log = deliveryLog(watched);
  return (await log.list({ organizationId, endpointId }, filter, { limit: 20 })).items;
}

/** Blocks that the last list has looked at. */
async function blocks(): Promise<number> {
  const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${asked.text}`,
    asked.values,
  );
  const { Plan: plan = {} } = rows[0]?.['QUERY PLAN'][0] ?? {};
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

describe('A list of deliveries costs the same however many there are', () => {
  it.each<[string, number, () => DeliveryFilter]>([
    ['of all', 20, () => ({})],
    ['of those that failed', 20, () => ({ state: 'failed' })],
    ['of those that are pending', 0, () => ({ state: 'pending' })],
    ['of those that failed in an hour', 0, () => ({ state: 'failed', from: at(60) })],
    ['of one type in an hour', 0, () => ({ eventType: 'payment.failed', from: at(60) })],
    ['of a payment', 0, () => ({ ids: Array.from({ length: 10 }, () => randomUUID()) })],
  ])('%s', async (_, found, filter) => {
    expect(await list(filter())).toHaveLength(found);
    expect(await blocks()).toBeLessThan(pageMaxBlocks);
  });

  it('and one that must look at all of them costs more, by which this test would notice', async () => {
    expect(await list({ eventType: 'payment.failed' })).toHaveLength(0);
    expect(await blocks()).toBeGreaterThan(2 * pageMaxBlocks);
  });
});

describe('A list of deliveries that no index picks out', () => {
  const scanMax = 1_000;
  const page = async (filter: DeliveryFilter, after?: DeliveryPlace) => {
    const endpoint = { organizationId, endpointId };
    return deliveryLog(pool, { scanMax }).list(endpoint, filter, { limit: 20, after });
  };
  /** The pages of a list, to its end. */
  async function pages(filter: DeliveryFilter, between: () => Promise<unknown> = async () => {}) {
    const all = [await page(filter)];
    for (let next = all[0]?.next; next; next = all.at(-1)?.next) {
      await between();
      all.push(await page(filter, next));
    }
    return all;
  }

  it('scans a limited number for a page, returns where to continue, and finds everything', async () => {
    const until = at(finished - 30);
    const all = await pages({ to: until });
    expect(all.length).toBeLessThanOrEqual(finished / scanMax + 2);
    expect(all[0]?.items).toEqual([]);
    const found = all.flatMap(({ items }) => items.map(({ occurredAt }) => occurredAt));
    expect(found.map((one) => one.toISOString())).toEqual(
      Array.from({ length: 31 }, (_, n) => at(finished - 30 + n)),
    );
    expect(await pages({ eventType: 'payment.failed' })).toHaveLength(finished / scanMax + 1);
  });

  it('has each delivery once while others are made', async () => {
    const insert = () =>
      pool.query(
        `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type,
            occurred_at, created_at, next_attempt_at, window_ends_at)
          SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), 'payment.blocked', now(), now(), now(),
            now() FROM generate_series(1, 5)`,
        [organizationId, endpointId],
      );
    await insert();
    const all = await pages({ state: 'delivered' }, insert);
    const ids = all.flatMap(({ items }) => items.map(({ id }) => id));
    expect(ids).toHaveLength(finished - finished / 1_000);
    expect(new Set(ids).size).toBe(ids.length);
    await pool.query('DELETE FROM webhook_deliveries');
  });
});

describe('A list of deliveries since a time', () => {
  it('has one whose clock was half a minute behind that of its event', async () => {
    const id = randomUUID();
    const [occurredAt, createdAt] = [new Date(newest + 60_000), new Date(newest + 30_000)];
    await pool.query(
      `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type,
          occurred_at, created_at, next_attempt_at, window_ends_at)
        VALUES ($1, $2, $3, $1, 'payment.queued', $4, $5, $5, $5)`,
      [id, organizationId, endpointId, occurredAt, createdAt],
    );
    const since = await list({ from: occurredAt.toISOString() });
    expect(since.map((delivery) => delivery.id)).toEqual([id]);
  });
});

it('The deliveries of events are those to every endpoint of their organization, deleted ones too', async () => {
  const own = randomUUID();
  const events = [randomUUID(), randomUUID()] as const;
  const [open, deleted] = [randomUUID(), randomUUID()] as const;
  for (const [id, url, deletedAt] of [
    [open, 'https://open.example/', null],
    [deleted, 'https://deleted.example/', at(1)],
  ] as const)
    await pool.query(
      `INSERT INTO webhook_endpoints (endpoint_id, organization_id, created_at, deleted_at, revision, item)
        VALUES ($1, $2, $3, $4, 0, $5)`,
      [id, own, at(100), deletedAt, JSON.stringify({ url })],
    );
  const made = [
    [events[0], open, organizationId, 9],
    [events[0], open, own, 8],
    [events[1], deleted, own, 7],
    [randomUUID(), open, own, 6],
  ] as const;
  for (const [eventId, endpoint, organization, minutes] of made)
    await pool.query(
      `INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type,
          payment_id, occurred_at, attempts, created_at, window_ends_at, state, finished_at)
        VALUES ($1, $2, $3, $4, 'payment.queued', $4, $5, 1, $5, $5, 'delivered', $5)`,
      [
        organization === own ? deliveryIdOf(eventId, endpoint) : randomUUID(),
        ...[organization, endpoint, eventId, at(minutes)],
      ],
    );
  const found = await deliveriesOfEvents(pool, own, events);
  expect(found.map(({ eventId, url }) => [eventId, url])).toEqual([
    [events[0], 'https://open.example/'],
    [events[1], 'https://deleted.example/'],
  ]);
  expect(await deliveriesOfEvents(pool, randomUUID(), events)).toEqual([]);
});

it('At most 10,000 deliveries of the events of a payment are read, which bounds documents about it', async () => {
  const [own, endpoint] = [randomUUID(), randomUUID()];
  const events = Array.from({ length: 10_001 }, () => randomUUID());
  await pool.query(
    `INSERT INTO webhook_endpoints (endpoint_id, organization_id, created_at, revision, item)
      VALUES ($1, $2, $3, 0, '{}')`,
    [endpoint, own, at(100)],
  );
  await pool.query(
    `INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type,
        payment_id, occurred_at, attempts, created_at, window_ends_at, state, finished_at)
      SELECT id, $3, $4, event_id, 'payment.queued', event_id, $5::timestamptz, 1, $5, $5, 'delivered', $5
        FROM unnest($1::uuid[], $2::uuid[]) AS made (id, event_id)`,
    [events.map((eventId) => deliveryIdOf(eventId, endpoint)), events, own, endpoint, at(5)],
  );
  const { length } = await deliveriesOfEvents(pool, own, events);
  expect(length).toBe(10_000);
});
