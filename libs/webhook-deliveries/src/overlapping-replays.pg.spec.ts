import { randomUUID } from 'node:crypto';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { type RevivedDelivery, reviveDeliveries } from './delivery-revival.js';

const timeoutMs = 20_000;
const now = new Date();
const replayed = { now, isReplay: true } as const;

describe('Two replays of a delivery that does not exist yet', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  const delivery: RevivedDelivery = {
    ...{ id: randomUUID(), organizationId: randomUUID(), endpointId: randomUUID() },
    ...{ eventId: randomUUID(), eventType: 'payment.queued', paymentId: randomUUID() },
    ...{ occurredAt: now, body: '{}', windowEndsAt: new Date(now.getTime() + 3_600_000) },
  };

  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 3);
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const isWaiting = async () => {
    const { rows } = await pool.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return rows.length > 0;
  };

  it('leave one record of it, with all attempts, although it finished before the second one had created it', async () => {
    const replay = () =>
      inTransaction(pool, (client) => reviveDeliveries(client, [delivery], replayed));
    let second: Promise<unknown> = Promise.resolve();
    await inTransaction(pool, async (client) => {
      await reviveDeliveries(client, [delivery], replayed);
      second = replay();
      // Its snapshot is older than the end of this transaction.
      await until(isWaiting, { timeoutMs, what: 'the second replay to wait' });
      await client.query(
        `WITH ended AS (DELETE FROM webhook_deliveries RETURNING *)
          INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type, payment_id,
              occurred_at, body, is_replay, attempts, created_at, window_ends_at, last_status,
              state, finished_at)
            SELECT id, organization_id, endpoint_id, event_id, event_type, payment_id, occurred_at, body,
                is_replay, 1, created_at - interval '1 second', window_ends_at, 200,
                'delivered', now()
              FROM ended`,
      );
    });
    await second;
    const { rows } = await pool.query(
      'SELECT id, state, attempts, last_status, created_at FROM webhook_delivery_records',
    );
    expect(rows).toEqual([
      {
        ...{ id: delivery.id, state: 'pending', attempts: 1, last_status: 200 },
        created_at: new Date(now.getTime() - 1_000),
      },
    ]);
  });
});
