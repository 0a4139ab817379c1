/** Payments that have to wait for their rail: how often, how long, and in how many statements. */
import { randomUUID } from 'node:crypto';
import { pauseConnections, readPauses } from '@pis/bank-rails/connections';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import type pg from 'pg';
import { PendingTransfers, type Transfer } from './pending-transfers.js';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: pg.Pool;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 5);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const transfer = (): Transfer => {
  const paymentId = randomUUID();
  return { paymentId, reference: `R${paymentId}`, rail: 'ACH', connection: 'bank' };
};

/** By payment: the pause that was set in milliseconds, and the tries. */
async function pauses() {
  const { rows } = await pool.query<{ id: string; ms: number; attempts: number }>(
    `SELECT payment_id AS id, attempts,
       (extract(epoch FROM deadline_at - submitted_at) * 1000)::float8 AS ms FROM rail_pending`,
  );
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

/** The pool, and how many statements were sent through it. */
function counted(): { readonly counting: pg.Pool; readonly statements: () => number } {
  let statements = 0;
  const counting = new Proxy(pool, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (property === 'query') statements += 1;
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { counting, statements: () => statements };
}

it('the loops of all connections ask together when their next payment is due, and each is told its own', async () => {
  await pool.query(
    `INSERT INTO rail_pending (payment_id, reference, rail, stage, connection, submitted_at, deadline_at, overdue_at)
     SELECT gen_random_uuid(), 'R' || connection || deadline, 'ACH', 'submitted', connection, now(),
            now() + deadline * interval '1 second', now() + overdue * interval '1 second'
       FROM (VALUES ('a', 3600, NULL), ('a', 7200, -60), ('b', -60, 10800), ('b', 60, 14400))
         AS row (connection, deadline, overdue)`,
  );
  const { counting, statements } = counted();
  const pending = new PendingTransfers(counting, Date.now);
  const inSeconds = await Promise.all([
    pending.nextDueInMs(['a']),
    pending.nextOverdueInMs(['a']),
    pending.nextDueInMs(['b']),
    pending.nextOverdueInMs(['b']),
    pending.nextDueInMs(['a', 'b']),
    pending.nextOverdueInMs(['c']),
    pending.nextDueInMs(['c', 'a']),
  ]);
  expect(statements()).toBe(1);
  const hours = inSeconds.map((ms) => (ms === null ? null : Math.ceil(ms / 3_600_000)));
  expect(hours).toEqual([1, 0, 0, 3, 0, null, 1]);
});

it('payments that wait at the same time are written together', async () => {
  const { counting, statements } = counted();
  const pending = new PendingTransfers(counting, Date.now);
  const transfers = Array.from({ length: 100 }, transfer);
  const waits = transfers.map((one, index) =>
    pending.wait(one, { initialMs: (index + 1) * 60_000, maxMs: 6_000_000, isExact: true }),
  );
  expect(new Set(await Promise.all(waits))).toEqual(new Set([0]));
  expect(statements()).toBe(1);
  const set = await pauses();
  for (const [index, { paymentId }] of transfers.entries())
    expect(set.get(paymentId)).toEqual({ ms: (index + 1) * 60_000, attempts: 1 });
});

it('each payment keeps its own doubling, limit and count of failures in a shared statement', async () => {
  const pending = new PendingTransfers(pool, Date.now);
  const [doubling, limited, failing] = [transfer(), transfer(), transfer()];
  const exact = { initialMs: 60_000, isExact: true } as const;
  const round = () =>
    Promise.all([
      pending.wait(doubling, { ...exact, maxMs: 1_000_000 }),
      pending.wait(limited, { ...exact, maxMs: 90_000 }),
      pending.wait(failing, { ...exact, maxMs: 60_000 }, true),
    ]);
  expect(await round()).toEqual([0, 0, 1]);
  expect(await round()).toEqual([0, 0, 2]);
  expect(await round()).toEqual([0, 0, 3]);
  const { rows } = await pool.query<{ id: string; s: number }>(
    `SELECT payment_id AS id, round(extract(epoch FROM deadline_at - now()))::int AS s
       FROM rail_pending`,
  );
  const seconds = new Map(rows.map(({ id, s }) => [id, s]));
  // The third try doubles twice. The margin is for a slow machine.
  expect(seconds.get(doubling.paymentId)).toBeGreaterThan(180);
  expect(seconds.get(doubling.paymentId)).toBeLessThanOrEqual(240);
  expect(seconds.get(limited.paymentId)).toBeGreaterThan(60);
  expect(seconds.get(limited.paymentId)).toBeLessThanOrEqual(90);
  expect(seconds.get(failing.paymentId)).toBeLessThanOrEqual(60);
});

it('a payment that has waited many times can wait for a rail that stays closed for days', async () => {
  const pending = new PendingTransfers(pool, Date.now);
  const [often, other] = [transfer(), transfer()];
  const closed = { initialMs: 61 * 3_600_000, maxMs: 61 * 3_600_000, isExact: true } as const;
  await pending.wait(often, closed);
  await pool.query('UPDATE rail_pending SET attempts = 50');
  expect(await Promise.all([pending.wait(often, closed), pending.wait(other, closed)])).toEqual([
    0, 0,
  ]);
  const { rows } = await pool.query<{ hours: number }>(
    `SELECT round(extract(epoch FROM deadline_at - now()) / 3600)::int AS hours FROM rail_pending`,
  );
  expect(rows).toEqual([{ hours: 61 }, { hours: 61 }]);
});

it('payments that another connection has a record of are not noted, and cost no statement of their own', async () => {
  await readPauses(pool, ['bank', 'files', 'messages']);
  const [unknown, own, twice] = [transfer(), transfer(), transfer()];
  const [filed, sent, voided] = [transfer(), transfer(), transfer()];
  await pool.query(
    `INSERT INTO ach_entries (reference, bank, status, submitted_at)
     VALUES ($1, 'bank', 'accepted', now()), ($2, 'files', 'filed', now()), ($3, 'bank', 'accepted', now())`,
    [own.reference, filed.reference, twice.reference],
  );
  await pool.query(
    `INSERT INTO iso_transfers (connection, reference, state)
     VALUES ('messages', $1, 'sending'), ('messages', $2, 'voided'), ('messages', $3, 'accepted')`,
    [sent.reference, voided.reference, twice.reference],
  );
  const { counting, statements } = counted();
  const pending = new PendingTransfers(counting, Date.now);
  const all = [unknown, own, filed, sent, voided, twice];
  const noted = await Promise.all(all.map((one) => pending.note(one, 60_000)));
  expect(statements()).toBe(1);
  const [files, messages] = [{ connection: 'files' }, { connection: 'messages' }];
  // The own connection knows its references.
  expect(noted).toEqual(['noted', 'noted', files, messages, messages, 'noted']);
  const { rows } = await pool.query<{ id: string }>('SELECT payment_id AS id FROM rail_pending');
  const ids = [unknown, own, twice].map(({ paymentId }) => paymentId);
  expect(rows.map(({ id }) => id).sort()).toEqual(ids.sort());
});

describe('the row of a payment that has ended', () => {
  let pending: PendingTransfers;
  let ended: Transfer;
  const ends: readonly [string, () => Promise<void>][] = [
    ['was completed', () => pending.flushCompleted()],
    ['failed', () => pending.done(ended.paymentId)],
  ];
  beforeEach(async () => {
    await readPauses(pool, ['bank', 'other']);
    pending = new PendingTransfers(pool, Date.now, 60_000);
    ended = transfer();
    await pending.note(ended, 60_000);
    await pool.query("UPDATE rail_pending SET deadline_at = now() + interval '1 day'");
  });

  it.each(ends)(
    'is kept if it %s just before a failover, and looked at when that is a minute old',
    async (_end, end) => {
      const elsewhere = { ...transfer(), connection: 'other' };
      await pending.note(elsewhere, 60_000);
      for (const { paymentId } of [ended, elsewhere]) pending.completed(paymentId);
      await pool.query("UPDATE rail_connections SET identity = 'lost' WHERE connection = 'bank'");
      await end();
      expect(await pending.find(ended.paymentId)).toMatchObject({ stage: 'claimed' });
      await readPauses(pool, ['bank', 'other']);
      await end();
      await pending.done(elsewhere.paymentId);
      expect(await pending.find(elsewhere.paymentId)).toBeNull();
      expect(await pending.find(ended.paymentId)).toMatchObject({ stage: 'claimed' });
      expect(await pending.nextDueInMs(['bank'])).toBeLessThanOrEqual(30_001);
      await pool.query("UPDATE rail_connections SET paused_at = paused_at - interval '1 minute'");
      await pending.done(ended.paymentId);
      expect(await pending.find(ended.paymentId)).toBeNull();
    },
  );

  it('is deleted while an operator has paused its connection for long', async () => {
    await pauseConnections(pool, { connection: 'bank', isRestored: false, reason: 'by hand' });
    await pool.query("UPDATE rail_connections SET paused_at = paused_at - interval '1 minute'");
    pending.completed(ended.paymentId);
    await pending.flushCompleted();
    expect(await pending.find(ended.paymentId)).toBeNull();
  });
});
