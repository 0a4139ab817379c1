import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { eraseFromDeliveries } from './body-erasure.js';

const occurredAt = '2026-11-21T09:00:00.000Z';
const organizationId = randomUUID();
const contactId = randomUUID();
const originatorId = randomUUID();
const tables = ['webhook_fan_outs', 'webhook_deliveries', 'webhook_finished_deliveries'] as const;

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const named = (id: string, name: string) => ({
  id,
  entityType: 'INDIVIDUAL',
  firstName: name,
  lastName: name,
  companyName: null,
});

/** A body in every table that has bodies. */
async function delivered() {
  const [paymentId, eventId] = [randomUUID(), randomUUID()];
  const parties = { originator: named(originatorId, 'Dana'), contact: named(contactId, 'Ada') };
  const body = JSON.stringify({ id: eventId, data: { paymentId, ...parties } });
  await pool.query(
    `INSERT INTO webhook_fan_outs (event_id, occurred_at, organization_id, body, created_at)
     VALUES ($1, $2, $3, $4, $2)`,
    [eventId, occurredAt, organizationId, body],
  );
  const values = [randomUUID(), organizationId, randomUUID(), eventId, paymentId, occurredAt, body];
  await pool.query(
    `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, payment_id,
       occurred_at, body, created_at, next_attempt_at, window_ends_at)
     VALUES ($1, $2, $3, $4, 'payment.queued', $5, $6, $7, now(), now(), now() + interval '1 day')`,
    values,
  );
  await pool.query(
    `INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type,
       payment_id, occurred_at, body, created_at, window_ends_at, state, finished_at)
     VALUES ($1, $2, $3, $4, 'payment.queued', $5, $6, $7, now(), now(), 'delivered', now())`,
    values,
  );
  const bodies = async () => {
    const found = tables.map((table) =>
      pool.query<{ body: string | null }>(`SELECT body FROM ${table} WHERE event_id = $1`, [
        eventId,
      ]),
    );
    return (await Promise.all(found)).flatMap(({ rows }) => rows.map((row) => row.body));
  };
  return { events: { paymentIds: [paymentId], events: [{ eventId, occurredAt }] }, bodies };
}

/** The pool, with work done before each statement that changes a table of bodies. */
function interrupted(work: (table: string) => Promise<void>): pg.Pool {
  const query = async (text: string, values: unknown[]) => {
    const [, table] = /^UPDATE (\w+)/.exec(text) ?? [];
    if (table !== undefined) await work(table);
    return pool.query(text, values);
  };
  return { query } as unknown as pg.Pool;
}

it.each(tables)(
  'two erasures that rewrite one body in %s at the same time erase both parties from it',
  async (name) => {
    const { events, bodies } = await delivered();
    let isInterrupted = false;
    const slow = interrupted(async (table) => {
      if (table !== name || isInterrupted) return;
      isInterrupted = true;
      await eraseFromDeliveries(pool, events, { partyId: originatorId, organizationId });
    });
    await eraseFromDeliveries(slow, events, { partyId: contactId, organizationId });
    expect(isInterrupted).toBe(true);
    const texts = await bodies();
    expect(texts).toHaveLength(3);
    for (const text of texts) expect(text).not.toMatch(/Ada|Dana/);
  },
);

it('a body that a dispatcher takes away meanwhile stays away', async () => {
  const { events, bodies } = await delivered();
  const slow = interrupted(async (table) => {
    await pool.query(`UPDATE ${table} SET body = NULL WHERE event_id = $1`, [
      events.events[0]?.eventId,
    ]);
  });
  await eraseFromDeliveries(slow, events, { partyId: contactId, organizationId });
  expect(await bodies()).toEqual([null, null, null]);
});
