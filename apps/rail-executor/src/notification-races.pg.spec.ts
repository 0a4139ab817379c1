/** Notifications that one executor stores while another one settles earlier ones of the same payment. */
import { type BankNotification, feedBeginning } from '@pis/bank-rails';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { deleteSql, forgetSql, leasedSql } from './notification-statements.js';
import { NotificationTable, type Outcome } from './notification-table.js';

const feed = 'bank';
const reference = 'R1';
const timeoutMs = 10_000;

let database: TestDatabase;
let pool: pg.Pool;
let table: NotificationTable;

const notification = (sequence: string): BankNotification => ({
  sequence,
  reference,
  type: 'confirmed',
  returnReasonCode: null,
  returnReference: null,
  returnedAmount: null,
  sentAmountMinor: null,
  rejection: null,
  correction: null,
  at: '2026-11-28T12:00:00.000Z',
});

const keep = (by: NotificationTable, sequence: string, after: string) =>
  by.keep({ notifications: [notification(sequence)], cursor: sequence }, after);

const recorded = (sequence: string): Outcome => ({
  reference,
  paymentId: null,
  recorded: [sequence],
  unmatched: [],
  ended: 'tried',
});

/** Commits what the client has done once `work` waits for it. */
async function commitDuring(client: pg.PoolClient, work: () => Promise<unknown>) {
  const done = work();
  const waiting = `SELECT FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  await until(async () => (await pool.query(waiting)).rows.length > 0, { timeoutMs });
  await client.query('COMMIT');
  await done;
}

/** What is due now: the references, and the notifications of each. */
async function due() {
  const { turns } = await table.claim();
  return turns.map((turn) => [turn.reference, turn.notifications.map((one) => one.sequence)]);
}

describe.each([
  ['new', []],
  [
    'vacuumed when they were empty',
    ['VACUUM (ANALYZE) rail_notifications', 'VACUUM (ANALYZE) rail_notified_references'],
  ],
])('in tables that are %s', (_, before) => {
  let client: pg.PoolClient;
  beforeEach(async () => {
    database = await createTestDatabase();
    pool = openTestPool(database.url, 4);
    for (const statement of before) await pool.query(statement);
    table = new NotificationTable(pool, feed);
    client = await pool.connect();
  });
  afterEach(async () => {
    client.release();
    await pool.end();
    await database.drop();
  });

  it('a notification that is stored while its payment is forgotten is due', async () => {
    await keep(table, '1', feedBeginning);
    const { lease } = await table.claim();
    await client.query('BEGIN');
    await client.query(leasedSql, [lease, [reference], feed]);
    await client.query(deleteSql, [feed, ['1']]);
    expect((await client.query(forgetSql, [[reference], feed])).rowCount).toBe(1);
    await commitDuring(client, () => keep(table, '2', '1'));
    expect(await due()).toEqual([[reference, ['2']]]);
  });

  it('a payment is not forgotten if another notification of it is being stored', async () => {
    await keep(table, '1', feedBeginning);
    const { lease } = await table.claim();
    await client.query('BEGIN');
    // It only calls query.
    await keep(new NotificationTable(client as unknown as pg.Pool, feed), '2', '1');
    await commitDuring(client, () => table.settle(lease, [recorded('1')]));
    expect(await due()).toEqual([[reference, ['2']]]);
  });

  it('a turn that another executor has taken over is not settled by the first one', async () => {
    await keep(table, '1', feedBeginning);
    const { lease } = await table.claim();
    await client.query('BEGIN');
    await client.query('UPDATE rail_notified_references SET lease = gen_random_uuid()');
    await commitDuring(client, () => table.settle(lease, [recorded('1')]));
    const { rows } = await pool.query('SELECT sequence FROM rail_notifications');
    expect(rows).toEqual([{ sequence: '1' }]);
  });

  it('executors that claim at the same time share the references', async () => {
    const notifications = Array.from({ length: 300 }, (__, n) => ({
      ...notification(String(n)),
      reference: `R${n}`,
    }));
    await table.keep({ notifications, cursor: '300' }, feedBeginning);
    const claims = await Promise.all([table.claim(), table.claim(), table.claim()]);
    const claimed = claims.flatMap(({ turns }) => turns.map((turn) => turn.reference));
    expect(new Set(claimed).size).toBe(claimed.length);
    const rest = (await table.claim()).turns.map((turn) => turn.reference);
    expect([...claimed, ...rest].sort()).toEqual(notifications.map((one) => one.reference).sort());
  });
});
