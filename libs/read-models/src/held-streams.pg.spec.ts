/** Whose streams are held back, and how many of them are read to find out. */
import { randomUUID } from 'node:crypto';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { HeldAsOf } from './held-as-of.js';
import { firstHeldStreamOf } from './held-streams.js';
import { projectionReader } from './quarantine.js';
import { eventToAppend } from './testing.js';

const needed = [['payments', 'payment']] as const;
const organizationId = randomUUID();
const originatorId = randomUUID();
let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let reads: string[];
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 2);
  const memory = memoryEventStore();
  reads = [];
  store = Object.assign(Object.create(memory) as EventStore, {
    readStream(...given: Parameters<EventStore['readStream']>) {
      reads.push(given[0]);
      return memory.readStream(...given);
    },
  });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

async function hold(owner: object, at = '2026-10-01T00:00:00.000Z'): Promise<string> {
  const streamId = `payment-${randomUUID()}`;
  const event = { type: 'PaymentEaten', at, data: owner };
  await store.append(streamId, 'noStream', [eventToAppend(event)]);
  await pool.query(
    `INSERT INTO quarantined_streams
        (reader, stream_id, from_revision, position, event_id, event_type, reason)
      VALUES ($1, $2, 0, '1', gen_random_uuid(), 'PaymentEaten', 'unreadable')`,
    [projectionReader('payments'), streamId],
  );
  return streamId;
}

const firstOf = (ofOriginator: string | null) =>
  firstHeldStreamOf({ pool, store }, needed, { organizationId, originatorId: ofOriginator });

it('is of the organization, and of the originator that is asked for', async () => {
  await hold({ organizationId: randomUUID(), originatorId });
  expect(await firstOf(null)).toBeNull();
  const streamId = await hold({ organizationId, originatorId: randomUUID() });
  expect(await firstOf(null)).toMatchObject({ streamId });
  expect(await firstOf(originatorId)).toBeNull();
  const own = await hold({ organizationId, originatorId });
  expect(await firstOf(originatorId)).toMatchObject({ streamId: own });
});

it('is one that nobody can say whose it is', async () => {
  const streamId = await hold({});
  expect(await firstOf(originatorId)).toEqual({ streamId, owner: null });
});

it('is found without reading all streams of others', async () => {
  for (let number = 0; number < 60; number += 1) await hold({ organizationId, originatorId });
  expect(await firstOf(null)).not.toBeNull();
  expect(reads.length).toBeLessThanOrEqual(10);
});

it('makes a list incomplete as of its time and later, for its own organization, and is read once', async () => {
  const held = new HeldAsOf({ pool, store });
  const asOf = (at: string, of = organizationId) => held.first(needed, of, at);
  await hold({ organizationId: randomUUID(), originatorId });
  const streamId = await hold({ organizationId, originatorId }, '2026-10-02T00:00:00.000Z');
  expect(await asOf('2026-10-01T23:59:59.999Z')).toBeNull();
  expect(await asOf('2026-10-02T00:00:00.000Z')).toMatchObject({ streamId });
  expect(await asOf('2026-11-01T00:00:00.000Z', randomUUID())).toBeNull();
  expect(reads).toHaveLength(2);
  const nobodys = await hold({});
  expect(await asOf('2026-11-01T00:00:00.000Z', randomUUID())).toEqual({
    ...{ streamId: nobodys, owner: null },
  });
});
