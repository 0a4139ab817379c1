/** A new table, also that of a rebuild, has many rows within a minute, before PostgreSQL has analyzed it. */
import { paymentEvents, paymentExample } from '@pis/domain/testing';
import { createTestDatabase, openTestPool, expectFewRowsRead } from '@pis/local-servers/testing';
import { randomUUID } from 'node:crypto';
import { paymentsProjection } from './payments.projection.js';
import { recordedEvents } from './testing.js';

const paymentsOfPage = 20;
const rowsMax = 5_000;

it('a projection loads the rows that it changes by their ids, also by a plan of the empty table', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 1);
  try {
    const at = '2026-11-21T09:00:00.000Z';
    const payments = Array.from({ length: paymentsOfPage }, () => {
      const paymentId = randomUUID();
      const queued = { type: 'PaymentQueued', at, data: paymentExample({ paymentId }) } as const;
      return recordedEvents(`payment-${paymentId}`, [queued, paymentEvents.processing]);
    });
    const write = async (first: number) => {
      const client = await pool.connect();
      try {
        for (const table of paymentsProjection.tables)
          await table.write(
            client,
            table.name,
            payments.flatMap((events) => events.slice(first)),
          );
      } finally {
        client.release();
      }
    };
    await write(0);
    const fill = () =>
      pool.query(
        `INSERT INTO payments (payment_id, organization_id, originator_id, status, direction, payment_rail,
           created_at, revision, item)
         SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', '', '', now(), 0, '{}'
           FROM generate_series(1, $1::int)`,
        [rowsMax],
      );
    await expectFewRowsRead(pool, 'payments', { call: () => write(1), fill });
  } finally {
    await pool.end();
    await database.drop();
  }
});
