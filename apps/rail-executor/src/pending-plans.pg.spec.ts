import { randomUUID } from 'node:crypto';
import { readPauses } from '@pis/bank-rails/connections';
import {
  createTestDatabase,
  describePlansOfQueue,
  expectFewRowsRead,
  expectKeptPlan,
  openTestPool,
} from '@pis/local-servers/testing';
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

it('a note of one payment is not planned anew each time', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 1);
  try {
    await readPauses(pool, ['bank']);
    const pending = new PendingTransfers(pool, Date.now);
    await expectKeptPlan(pool, 'rail-pending-note', () => {
      const paymentId = randomUUID();
      const transfer = {
        paymentId,
        reference: paymentId,
        connection: 'bank',
        rail: 'ACH',
      } as const;
      return pending.note(transfer, 60_000);
    });
  } finally {
    await pool.end();
    await database.drop();
  }
});
