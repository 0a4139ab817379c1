/** The work for a party with very many payments: counted, because time says little on a busy machine. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { at, contactParty, ids, later, originatorParty } from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { noteErasure, PartyTransfers } from '@pis/read-models';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { ErasureWorker } from './erasure-worker.js';

jest.setTimeout(120_000);
const paymentsCount = 100_000;
/** Of another party: each page of a pass takes some twenty statements. */
const passCount = 5_000;
const pageMax = 200;
const historyPageMax = 1_000;

let database: TestDatabase;
let pool: pg.Pool;
/** The rows of each answer. */
let answers: number[] = [];
let counting: pg.Pool;
let store: EventStore;
/** The streams of each read. */
let reads: number[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  const query = async (...args: Parameters<pg.Pool['query']>) => {
    const result = await (pool.query(...args) as unknown as Promise<pg.QueryResult>);
    answers.push(result.rows.length);
    return result;
  };
  const connect = () => pool.connect();
  counting = { query, connect } as unknown as pg.Pool;
  const empty = memoryEventStore();
  store = {
    ...empty,
    readStreams: (streamIds) => {
      reads.push(streamIds.length);
      return empty.readStreams(streamIds);
    },
  };
  await insertPayments(ids.contact, paymentsCount);
  await insertPayments(ids.otherContact, passCount);
  // As autovacuum leaves it.
  await pool.query('VACUUM ANALYZE payments');
});
beforeEach(() => {
  answers = [];
  reads = [];
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

async function insertPayments(contactId: string, count: number): Promise<void> {
  const { bankAccount: _, ...originator } = originatorParty;
  const contact = { ...contactParty, id: contactId, bankAccount: undefined };
  const item = { status: 'COMPLETED', createdAt: at, completedAt: at, originator, contact };
  await pool.query(
    `INSERT INTO payments (payment_id, organization_id, originator_id, contact_id, status, direction,
       payment_rail, created_at, revision, item)
     SELECT id, $1, $2, $3, 'COMPLETED', 'OUTBOUND', 'ACH', $4::timestamptz + n * interval '1 ms', 2,
       ($5::jsonb || jsonb_build_object('paymentId', id))::json
     FROM (SELECT n, gen_random_uuid() AS id FROM generate_series(1, $6::int) n) made`,
    [ids.organization, ids.originator, contactId, at, JSON.stringify(item), count],
  );
}

const party = { kind: 'contact', id: ids.contact, organizationId: ids.organization } as const;

it('the check of 100,000 payments reads them page by page', async () => {
  const payments = new PartyTransfers(counting, store);
  expect(await payments.open(party)).toBeNull();
  expect(await payments.lastFinalAt(party)).toBe(at);
  expect(Math.max(...answers)).toBeLessThanOrEqual(historyPageMax + 1);
  expect(answers.length).toBeLessThanOrEqual(paymentsCount / historyPageMax + 5);
});

it('a pass over the payments of a party goes page by page, and ends', async () => {
  await pool.query(
    `INSERT INTO erased_parties (party_id, kind, organization_id, erased_at, position, due_at)
     VALUES ($1, 'contact', $2, $3, '', now())`,
    [ids.otherContact, ids.organization, later],
  );
  const destroyed: unknown[] = [];
  const worker = new ErasureWorker({
    store,
    pool: counting,
    logger: createLogger('test', 'silent'),
    destroyKeys: async (owners) => void destroyed.push(...owners),
    attemptMaxMs: 1_000,
  });
  let steps = 0;
  while (await worker.step()) {
    steps += 1;
    if (steps > passCount / pageMax + 2) throw new Error('the pass does not end');
  }
  expect(steps).toBeGreaterThanOrEqual(passCount / pageMax);
  expect(Math.max(...answers)).toBeLessThanOrEqual(pageMax + 1);
  expect(Math.max(...reads)).toBeLessThanOrEqual(50);
  expect(destroyed).toHaveLength(1);
  const { rows } = await pool.query<{ named: number }>(
    `SELECT count(*)::int AS named FROM payments
     WHERE contact_id = $1 AND item->'contact'->>'lastName' IS NOT NULL`,
    [ids.otherContact],
  );
  expect(rows[0]?.named).toBe(0);
});

it('a pass over an originator destroys the key for collections, too', async () => {
  const originatorId = randomUUID();
  await pool.query(
    `INSERT INTO erased_parties (party_id, kind, organization_id, erased_at, position, due_at)
     VALUES ($1, 'originator', $2, $3, '', now())`,
    [originatorId, ids.organization, later],
  );
  const destroyed: unknown[] = [];
  const worker = new ErasureWorker({
    store,
    pool,
    logger: createLogger('test', 'silent'),
    destroyKeys: async (owners) => void destroyed.push(...owners),
    attemptMaxMs: 1_000,
  });
  expect(await worker.step()).toBe(true);
  expect(destroyed).toEqual([`originator:${originatorId}`, `contact:${originatorId}`]);
});

it('a worker looks often while an erasure is about to be recorded, and seldom otherwise', async () => {
  const options = { store, pool, logger: createLogger('test', 'silent'), attemptMaxMs: 1_000 };
  const worker = new ErasureWorker({ ...options, destroyKeys: () => Promise.resolve() });
  expect(await worker.round()).toBe(5_000);
  const notice = { kind: 'contact', id: randomUUID(), position: '1' } as const;
  const now = new Date().toISOString();
  await noteErasure(pool, { ...notice, phase: 'confirmed', at: now });
  expect(await worker.round()).toBe(200);
  await noteErasure(pool, { ...notice, phase: 'erased', at: now, position: '2' });
  expect(await worker.round()).toBe(5_000);
});
