/** What another executor does to the same rows of rail_pending at the same time. */
import { randomUUID } from 'node:crypto';
import { readPauses } from '@pis/bank-rails/connections';
import { createTestDatabase, openTestPool, until } from '@pis/local-servers/testing';
import type pg from 'pg';
import { PendingTransfers, type Transfer } from './pending-transfers.js';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: pg.Pool;
let pending: PendingTransfers;
let other: PendingTransfers;

const timeoutMs = 10_000;
const hourMs = 3_600_000;

const transfer = (): Transfer => {
  const paymentId = randomUUID();
  return { paymentId, reference: `R${paymentId}`, rail: 'ACH', connection: 'bank' };
};

/** Of payments that were noted, with a deadline in an hour. */
async function noted(count: number): Promise<readonly string[]> {
  const transfers = Array.from({ length: count }, transfer);
  await Promise.all(transfers.map((one) => pending.note(one, hourMs)));
  return transfers.map(({ paymentId }) => paymentId);
}

async function rows() {
  const { rows: found } = await pool.query<{ id: string; stage: string; overdueMs: number | null }>(
    `SELECT payment_id AS id, stage, (extract(epoch FROM overdue_at) * 1000)::float8 AS "overdueMs"
       FROM rail_pending`,
  );
  return new Map(found.map(({ id, ...row }) => [id, row]));
}

/** Does `work` while another transaction has made `change` and is not committed, and commits it once `work` waits. */
async function during(change: string, values: unknown[], work: () => Promise<unknown>) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(change, values);
    const done = work();
    await until(
      async () => {
        const { rows: waiting } = await pool.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
        return waiting.length > 0;
      },
      { timeoutMs },
    );
    await client.query('COMMIT');
    await done;
  } finally {
    client.release();
  }
}

describe.each([
  ['new', []],
  ['vacuumed when it was empty', ['VACUUM (ANALYZE) rail_pending']],
])('a table that is %s', (_, before) => {
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 8);
    for (const statement of before) await pool.query(statement);
    await readPauses(pool, ['bank']);
    pending = new PendingTransfers(pool, Date.now);
    other = new PendingTransfers(pool, Date.now);
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  const takeAll = (ids: readonly string[], by = pending) =>
    Promise.all(ids.map((id) => by.taken(id, 2 * hourMs, hourMs)));

  it('keeps a deadline that another executor sets while the payment is noted as taken', async () => {
    const [changed = '', same = ''] = await noted(2);
    await during(
      `UPDATE rail_pending SET overdue_at = to_timestamp(5000000000) WHERE payment_id = $1`,
      [changed],
      () => takeAll([changed, same]),
    );
    const found = await rows();
    expect(found.get(changed)).toEqual({ stage: 'submitted', overdueMs: 5_000_000_000_000 });
    expect(found.get(same)?.stage).toBe('submitted');
  });

  it('does not take back FAILED_IN_FLIGHT when the payment is noted as taken meanwhile', async () => {
    const [failed = '', same = ''] = await noted(2);
    await during(
      `UPDATE rail_pending SET stage = 'in_flight', overdue_at = NULL WHERE payment_id = $1`,
      [failed],
      () => takeAll([failed, same]),
    );
    const found = await rows();
    expect(found.get(failed)).toEqual({ stage: 'in_flight', overdueMs: null });
    expect(found.get(same)?.stage).toBe('submitted');
  });

  it('has no row again of a payment that ends while it is noted as taken', async () => {
    const [ended = '', same = ''] = await noted(2);
    await during('DELETE FROM rail_pending WHERE payment_id = $1', [ended], () =>
      takeAll([ended, same]),
    );
    const found = await rows();
    expect([...found.keys()]).toEqual([same]);
    expect(found.get(same)?.stage).toBe('submitted');
  });

  it('has no row left of a payment that another executor writes while it ends', async () => {
    const ids = await noted(3);
    await during(
      'UPDATE rail_pending SET deadline_at = now() - make_interval(secs => 1) WHERE payment_id = $1',
      [ids[1]],
      () => Promise.all([...ids, randomUUID()].map((id) => pending.done(id))),
    );
    expect((await rows()).size).toBe(0);
  });

  it('leases each due payment to one executor, also while others are locked', async () => {
    const ids = await noted(60);
    await pool.query('UPDATE rail_pending SET deadline_at = now() - make_interval(secs => 1)');
    const locked = ids.slice(0, 10);
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM rail_pending WHERE payment_id = ANY ($1) FOR UPDATE', [locked]);
    const leases = await Promise.all(
      [pending, other, pending, other].map((one) => one.leaseDue(['bank'], 20)),
    );
    await client.query('COMMIT');
    client.release();
    const leased = leases.flat().map(({ paymentId }) => paymentId);
    expect(new Set(leased).size).toBe(leased.length);
    expect(leased.filter((id) => locked.includes(id))).toEqual([]);
    const rest = await pending.leaseDue(['bank'], 60);
    expect([...leased, ...rest.map(({ paymentId }) => paymentId)].sort()).toEqual([...ids].sort());
  });

  it('lets executors note, lease, take and end the same payments in any order without a deadlock', async () => {
    for (let round = 0; round < 10; round += 1) {
      const ids = await noted(50);
      await pool.query('UPDATE rail_pending SET deadline_at = now() - make_interval(secs => 1)');
      await Promise.all([
        takeAll(ids),
        takeAll([...ids].reverse(), other),
        pending.leaseDue(['bank'], 50),
        other.leaseDue(['bank'], 50),
        Promise.all(ids.map((paymentId) => other.note({ ...transfer(), paymentId }, hourMs))),
      ]);
      await Promise.all([
        Promise.all(ids.map((id) => pending.done(id))),
        Promise.all([...ids].reverse().map((id) => other.done(id))),
        takeAll(ids),
        pending.leaseDue(['bank'], 50),
      ]);
      expect((await rows()).size).toBe(0);
    }
  });
});
