import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { deliveryOf, type FanOut } from './delivery.js';
import { DeliveryTable } from './delivery-table.js';
import { Partitions } from './partitions.js';
import { poolAround } from './testing.js';

jest.setTimeout(60_000);

const timeoutMs = 20_000;
const dayMs = 24 * 3_600_000;
const hourMs = 3_600_000;

describe('What is written while the partition of its day is being attached', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let table: DeliveryTable;
  /** A day that nobody has made a partition for. */
  const now = new Date(Date.now() + 40 * dayMs);
  const eventId = randomUUID();
  const receiver = { deliveryId: randomUUID(), endpointId: randomUUID() };
  const fanOut: FanOut = {
    eventId,
    organizationId: randomUUID(),
    eventType: 'payment.queued',
    paymentId: randomUUID(),
    occurredAt: now,
    body: '{}',
    bodyHash: '00'.repeat(32),
    traceparent: null,
    createdAt: now,
    windowEndsAt: new Date(now.getTime() + dayMs),
    receivers: [receiver],
  };
  const leasedUntil = new Date(now.getTime() + hourMs);
  const attempt = {
    id: randomUUID(),
    at: now,
    status: 200,
    durationMs: 1,
    error: null,
    responseExcerpt: null,
  };
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 5);
    table = new DeliveryTable(pool, randomUUID());
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const store = () => table.insert([{ fanOut, leasedUntil: [leasedUntil] }]);
  const isWaiting = async () => {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE NOT l.granted AND c.relname LIKE 'webhook_%_default'`,
    );
    return rows.length > 0;
  };
  /** Attaches the day to one table while `write` is under way, and waits for it. */
  async function writeDuringAttach(name: string, write: () => Promise<unknown>): Promise<void> {
    let writing: Promise<unknown> = Promise.resolve();
    const held = poolAround(pool, async (statement, send, previous) => {
      if (statement === 'COMMIT' && previous.startsWith(`ALTER TABLE ${name} ATTACH`)) {
        if (previous.includes(now.toISOString().slice(0, 10))) {
          writing = write();
          // Handled below: it must not end the process meanwhile.
          writing.catch(() => undefined);
          await until(isWaiting, { timeoutMs, what: 'a writer that waits for the default' });
        }
      }
      return send();
    });
    await new Partitions({
      pool: held,
      now: () => now,
      retentionDays: 30,
      windowMs: dayMs,
      limits: {
        aheadDays: 1,
        lockTimeoutMs: 200,
        lockTriesMax: 20,
        lockPauseMs: 1_000,
        deleteMax: 5_000,
      },
      onDropped: () => undefined,
    }).maintain(new AbortController().signal);
    await writing;
  }
  const placesIn = async (name: string) =>
    (await pool.query<{ place: string }>(`SELECT tableoid::regclass::text AS place FROM ${name}`))
      .rows;
  const dayOf = (name: string) => ({
    place: `${name}_${now.toISOString().slice(0, 10).replaceAll('-', '')}`,
  });

  it('is stored: an event with its deliveries', async () => {
    await writeDuringAttach('webhook_fan_outs', async () => {
      expect(await store()).toEqual(new Set([receiver.deliveryId]));
    });
    expect(await placesIn('webhook_fan_outs')).toEqual([dayOf('webhook_fan_outs')]);
  });

  it.each(['webhook_finished_deliveries', 'webhook_attempts'])(
    'is stored: a delivery that arrived, in %s',
    async (name) => {
      await store();
      const delivery = deliveryOf(fanOut, receiver);
      const outcome = { kind: 'delivered', attempt, finishedAt: now } as const;
      await writeDuringAttach(name, () => table.record([{ delivery, outcome }]));
      for (const each of ['webhook_finished_deliveries', 'webhook_attempts'])
        expect(await placesIn(each)).toEqual([dayOf(each)]);
      expect(await placesIn('webhook_deliveries')).toEqual([]);
    },
  );

  it('is stored: an attempt that failed', async () => {
    await store();
    const delivery = deliveryOf(fanOut, receiver);
    const nextAttemptAt = new Date(now.getTime() + hourMs);
    const outcome = { kind: 'retry', attempt, nextAttemptAt } as const;
    await writeDuringAttach('webhook_attempts', () => table.record([{ delivery, outcome }]));
    expect(await placesIn('webhook_attempts')).toEqual([dayOf('webhook_attempts')]);
  });
});
