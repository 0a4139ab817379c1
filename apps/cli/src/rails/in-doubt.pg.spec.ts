/** After an outage thousands of payments may be in doubt. Staff get all of them. */
import { railReferenceOf } from '@pis/bank-rails';
import { TransferStream } from '@pis/commands';
import { payment } from '@pis/domain';
import { paymentExample } from '@pis/domain/testing';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  systemContext,
} from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { orderedUuid } from '@pis/postgres';
import type pg from 'pg';
import { paymentsInDoubt } from './in-doubt.js';

/** More than are read from the table at a time. */
const inDoubt = 1_203;
const settled = 7;
const at = '2026-11-20T15:00:00.000Z';
const by = systemContext('test');
const store = sealedStore(memoryEventStore(), testKeyring());

let database: TestDatabase;
let pool: pg.Pool;
/** The oldest first. */
const paymentIds: string[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  const payments = new TransferStream(store, 'system:test');
  for (let count = 0; count < inDoubt + settled; count += 1) {
    const paymentId = orderedUuid();
    const data = paymentExample({ paymentId });
    const claim = { railReference: railReferenceOf(paymentId), connection: 'bank' };
    await repository(store, payment).create(paymentId, { type: 'QueuePayment', at, data }, by);
    await payments.apply(paymentId, {}, () => [
      { type: 'ProcessPayment', at, data: claim },
      { type: 'FailPaymentInFlight', at, data: { failureReason: 'late' } },
      ...(count < inDoubt ? [] : [{ type: 'CompletePayment', at, data: {} } as const]),
    ]);
    paymentIds.push(paymentId);
  }
  await pool.query(
    `INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, deadline_at, connection)
     SELECT id, id::text, 'ACH', 'in_flight', now() + n * interval '1 second', now(), 'bank'
       FROM unnest($1::uuid[]) WITH ORDINALITY AS t (id, n)`,
    [paymentIds],
  );
});
afterAll(async () => {
  await store.close();
  await pool?.end();
  await database?.drop();
});

it('all that are in doubt are listed once, the newest first, without those that have settled since', async () => {
  const listed: string[] = [];
  for await (const { paymentId } of paymentsInDoubt(store, pool)) listed.push(paymentId);
  expect(listed).toHaveLength(inDoubt);
  expect(listed).toEqual(paymentIds.slice(0, inDoubt).reverse());
});

it('all notifications that match no payment are shown, however many', async () => {
  await pool.query(
    `INSERT INTO rail_notifications (feed, sequence, reference, type, at, received_at, reason)
     SELECT 'bank', n::text, $1, 'returned', now(), now(), 'reason ' || n FROM generate_series(1, 120) n`,
    [railReferenceOf(paymentIds[inDoubt - 1] ?? '')],
  );
  const items = paymentsInDoubt(store, pool);
  const { value: newest } = await items.next();
  await items.return();
  expect(newest?.unmatchedNotifications.map(({ reason }) => reason)).toEqual(
    Array.from({ length: 120 }, (_, index) => `reason ${index + 1}`),
  );
});

describe('one that cannot be read', () => {
  const away = Object.assign(new Error('away'), { isUnavailable: true });
  const damaged = new Error('unknown type of event');
  /** Reads all streams but that of one payment. */
  const failingWith = (error: Error): EventStore => ({
    ...store,
    readStream: (streamId, ...rest) =>
      streamId === `payment-${paymentIds[inDoubt - 2]}`
        ? Promise.reject(error)
        : store.readStream(streamId, ...rest),
  });
  const listedOf = async (some: EventStore) => {
    const listed = [];
    for await (const item of paymentsInDoubt(some, pool)) listed.push(item);
    return listed;
  };

  it('is listed with the reason, and so are all others', async () => {
    const listed = await listedOf(failingWith(damaged));
    expect(listed.map(({ paymentId }) => paymentId)).toEqual(
      paymentIds.slice(0, inDoubt).reverse(),
    );
    const paymentId = paymentIds[inDoubt - 2] ?? '';
    expect(listed.filter((item) => 'unreadable' in item)).toEqual([
      {
        ...{ paymentId, reference: railReferenceOf(paymentId) },
        unreadable: 'unknown type of event',
        inquiries: expect.objectContaining({ inquiriesMade: 0 }) as unknown,
        unmatchedNotifications: [],
      },
    ]);
  });

  it('ends the list when the event store is away', async () => {
    await expect(listedOf(failingWith(away))).rejects.toBe(away);
  });
});

it('a payment is read when it is wanted, with a pool of one connection, and no session stays', async () => {
  const small = openTestPool(database.url, 1);
  let read = 0;
  const counting: EventStore = {
    ...store,
    readStream: async (...args) => {
      read += 1;
      await small.query('SELECT 1');
      return store.readStream(...args);
    },
  };
  for await (const listed of paymentsInDoubt(counting, small)) {
    expect(listed).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
    break;
  }
  // The first ones have settled. One that is no payment may be a collection, which is a second stream.
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(2 * (settled + 2));
  await small.end();
  const sessions = async () =>
    (
      await pool.query(
        `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE '%held_rows%' AND pid <> pg_backend_pid()`,
      )
    ).rowCount;
  await until(async () => (await sessions()) === 0, { timeoutMs: 60_000 });
});
