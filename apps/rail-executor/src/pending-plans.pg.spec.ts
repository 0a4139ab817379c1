import { randomUUID } from 'node:crypto';
import { readPauses } from '@pis/bank-rails/connections';
import {
  createTestDatabase,
  describePlansOfQueue,
  expectFewRowsRead,
  expectKeptPlan,
  openTestPool,
} from '@pis/local-servers/testing';
import { openSql } from './open-payments.js';
import {
  endSql,
  leaseSql,
  nextSql,
  noteSql,
  sealSql,
  takenSql,
  waitSql,
} from './pending-statements.js';
import { PendingTransfers } from './pending-transfers.js';

describePlansOfQueue('rail_pending', {
  wait: waitSql,
  note: noteSql,
  seal: sealSql,
  taken: takenSql,
  end: endSql,
  open: openSql,
  'lease of due ones': leaseSql('deadline_at'),
  'lease of overdue ones': leaseSql('overdue_at'),
  next: nextSql,
});

const recordsMax = 2_000;

it.each([
  [
    'ach_entries',
    `INSERT INTO ach_entries (reference, bank, status, submitted_at)
     SELECT 'R' || n, 'bank', 'accepted', now() FROM generate_series(1, $1::int) n`,
  ],
  [
    'iso_transfers',
    `INSERT INTO iso_transfers (connection, reference, state)
     SELECT 'bank', 'R' || n, 'accepted' FROM generate_series(1, $1::int) n`,
  ],
])(
  'the records of a payment in %s are looked up by a plan from the time before there were any',
  async (table, fillSql) => {
    const database = await createTestDatabase();
    const pool = openTestPool(database.url, 1);
    try {
      await readPauses(pool, ['bank']);
      const pending = new PendingTransfers(pool, Date.now);
      const note = () => {
        const paymentId = randomUUID();
        const transfer = { paymentId, reference: paymentId, connection: 'bank' };
        return pending.note({ ...transfer, rail: 'ACH' }, 60_000);
      };
      const fill = () => pool.query(fillSql, [recordsMax]);
      await expectFewRowsRead(pool, table, { call: note, fill });
    } finally {
      await pool.end();
      await database.drop();
    }
  },
);

const transferOf = (paymentId: string) =>
  ({ paymentId, reference: paymentId, connection: 'bank', rail: 'ACH' }) as const;

it.each<[string, (pending: PendingTransfers, paymentId: string) => Promise<unknown>]>([
  ['rail-pending-note', (pending, id) => pending.note(transferOf(id), 60_000)],
  ['rail-pending-wait', (pending, id) => pending.wait(transferOf(id), { initialMs: 1, maxMs: 1 })],
  ['rail-pending-taken', (pending, id) => pending.taken(id, null, 1)],
  ['rail-pending-end', (pending, id) => pending.done(id)],
  ['rail-pending-next', (pending) => pending.nextDueInMs(['bank'])],
])('%s is not planned anew each time for one payment', async (name, call) => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 1);
  try {
    await readPauses(pool, ['bank']);
    const pending = new PendingTransfers(pool, Date.now);
    await expectKeptPlan(pool, name, () => call(pending, randomUUID()));
  } finally {
    await pool.end();
    await database.drop();
  }
});
