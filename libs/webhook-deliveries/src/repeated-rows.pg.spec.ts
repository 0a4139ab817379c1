import { randomUUID } from 'node:crypto';
import {
  createTestDatabase,
  expectKeptPlan,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { deliveryOf, type FanOut } from './delivery.js';
import { DeliveryTable } from './delivery-table.js';

const now = new Date();
const leasedUntil = new Date(now.getTime() + 60_000);

/** An event with one receiver. */
function fanOutOfOne() {
  const receiver = { deliveryId: randomUUID(), endpointId: randomUUID() };
  const fanOut: FanOut = {
    eventId: randomUUID(),
    organizationId: randomUUID(),
    eventType: 'payment.queued',
    paymentId: randomUUID(),
    occurredAt: now,
    body: '{}',
    bodyHash: '00'.repeat(32),
    traceparent: null,
    createdAt: now,
    windowEndsAt: new Date(now.getTime() + 3_600_000),
    receivers: [receiver],
  };
  return { fanOut, receiver };
}

function decided({ fanOut, receiver }: ReturnType<typeof fanOutOfOne>) {
  return {
    delivery: deliveryOf(fanOut, receiver),
    outcome: {
      ...{ kind: 'delivered' as const, finishedAt: now },
      attempt: {
        ...{ id: fanOut.eventId, at: now, status: 200, durationMs: 1 },
        ...{ error: null, responseExcerpt: null },
      },
    },
  };
}

it.each(['webhook_insert', 'webhook_finish'])(
  '%s is not planned anew for each event',
  async (name) => {
    const database = await createTestDatabase();
    const pool = openTestPool(database.url, 1);
    try {
      const table = new DeliveryTable(pool, randomUUID());
      await expectKeptPlan(pool, name, async () => {
        const one = fanOutOfOne();
        await table.insert([{ fanOut: one.fanOut, leasedUntil: [leasedUntil] }]);
        await table.record([decided(one)]);
      });
    } finally {
      await pool.end();
      await database.drop();
    }
  },
);

describe('Rows that are there already', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let table: DeliveryTable;
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 3);
    table = new DeliveryTable(pool, randomUUID());
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const store = (fanOuts: readonly FanOut[]) =>
    table.insert(fanOuts.map((fanOut) => ({ fanOut, leasedUntil: [leasedUntil] })));
  const countOf = async (name: string) =>
    (await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${name}`)).rows[0]?.n;

  it('are skipped, and the new rows of the same batch are stored with their deliveries', async () => {
    const [old, fresh] = [fanOutOfOne(), fanOutOfOne()];
    expect(await store([old.fanOut])).toEqual(new Set([old.receiver.deliveryId]));
    expect(await store([old.fanOut, fresh.fanOut])).toEqual(new Set([fresh.receiver.deliveryId]));
    expect(await store([old.fanOut, fresh.fanOut])).toEqual(new Set());
    for (const name of ['webhook_fan_outs', 'webhook_body_hashes', 'webhook_deliveries'])
      expect([name, await countOf(name)]).toEqual([name, 2]);
  });

  it('are skipped by an event whose hash or whose delivery came before it', async () => {
    const { fanOut, receiver } = fanOutOfOne();
    await store([fanOut]);
    await pool.query('DELETE FROM webhook_fan_outs');
    expect(await store([fanOut])).toEqual(new Set());
    await pool.query('DELETE FROM webhook_fan_outs');
    await pool.query('DELETE FROM webhook_deliveries');
    expect(await store([fanOut])).toEqual(new Set([receiver.deliveryId]));
    expect(await countOf('webhook_body_hashes')).toBe(1);
  });

  it('are skipped when an outcome is recorded twice, with another one that is new', async () => {
    const [old, fresh] = [fanOutOfOne(), fanOutOfOne()];
    await store([old.fanOut, fresh.fanOut]);
    await table.record([decided(old)]);
    await table.record([decided(old), decided(fresh)]);
    for (const name of ['webhook_attempts', 'webhook_finished_deliveries'])
      expect([name, await countOf(name)]).toEqual([name, 2]);
    expect(await countOf('webhook_deliveries')).toBe(0);
  });
});
