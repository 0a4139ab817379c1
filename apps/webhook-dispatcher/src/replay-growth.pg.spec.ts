import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { replayRequests, ReplayTable } from '@pis/webhook-deliveries';
import type pg from 'pg';

const finishedCount = 20_000;
const now = new Date('2026-11-21T10:00:00.000Z');

describe('An endpoint with very many replays that have ended', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let organizationId: string;
  let endpointId: string;
  beforeEach(async () => {
    database = await createTestDatabase();
    // One connection: what it has read is what is counted.
    pool = openTestPool(database.url, 1);
    organizationId = randomUUID();
    endpointId = randomUUID();
    await pool.query(
      `INSERT INTO webhook_replays (id, organization_id, endpoint_id, from_at, to_at, through_position,
          state, requested_at, finished_at, last_turn)
        SELECT gen_random_uuid(), $1, $2, $3, $3, '', 'completed', $3,
            $3::timestamptz - n * interval '1 second', n
          FROM generate_series(1, $4::int) n`,
      [organizationId, endpointId, now.toISOString(), finishedCount],
    );
    await pool.query('ANALYZE webhook_replays');
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });

  /** Rows of the table that were read during the call. */
  async function rowsRead(work: () => Promise<unknown>): Promise<number> {
    const count = async () => {
      await pool.query('SELECT pg_stat_force_next_flush()');
      const { rows } = await pool.query<{ read: number }>(
        `SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_user_tables
          WHERE relname = 'webhook_replays'`,
      );
      return rows[0]?.read ?? Number.NaN;
    };
    const before = await count();
    await work();
    return (await count()) - before;
  }
  const request = () =>
    replayRequests(pool).create({
      ...{ id: randomUUID(), organizationId, endpointId, eventTypes: null },
      ...{ fromAt: now, toAt: now, requestedAt: now, throughPosition: '' },
    });
  const remaining = async () =>
    (await pool.query<{ count: number }>('SELECT count(*)::int FROM webhook_replays')).rows[0]
      ?.count;

  it('starts and runs a new one at the cost of the first', async () => {
    const table = new ReplayTable(pool, randomUUID());
    expect(
      await rowsRead(async () => {
        expect(await request()).not.toBeNull();
        expect(await table.lease(now, new Date(now.getTime() + 1_000))).not.toBeNull();
      }),
    ).toBeLessThan(100);
  });

  describe('keeps the latest thousand of its organization', () => {
    const kept = 1_000;
    const waitUntil = new Date(now.getTime() + 1_000);
    const page = { deliveries: [], nextPosition: '', isLast: true, notBefore: now };
    let table: ReplayTable;
    const leased = async () => {
      const replay = await table.lease(now, waitUntil);
      if (replay === null) throw new Error('there is nothing to lease');
      return replay;
    };
    const ends = {
      'its client cancels one': async () => {
        const { id: replayId } = await leased();
        const one = { organizationId, endpointId, replayId };
        expect(await replayRequests(pool).cancel(one, now)).toBe(true);
      },
      'one is complete': async () => table.advance(await leased(), page, now),
      'the endpoint of one was deleted': async () => table.cancel(await leased(), now),
    };
    beforeEach(() => {
      table = new ReplayTable(pool, randomUUID());
    });

    it.each(Object.entries(ends))('when %s', async (_when, end) => {
      // n seconds ago.
      await pool.query('DELETE FROM webhook_replays WHERE last_turn > $1', [kept + 5]);
      const other = randomUUID();
      await pool.query(
        `INSERT INTO webhook_replays (id, organization_id, endpoint_id, from_at, to_at, through_position,
            state, requested_at, finished_at)
          VALUES ($1, gen_random_uuid(), $2, $3, $3, '', 'completed', $3, $3::timestamptz - interval '1 day')`,
        [other, endpointId, now.toISOString()],
      );
      for (let rounds = 0; rounds < 2; rounds += 1) {
        expect(await request()).not.toBeNull();
        await end();
      }
      const { rows } = await pool.query<{ oldest: number; count: number }>(
        `SELECT max(last_turn) FILTER (WHERE finished_at < $2)::int AS oldest, count(*)::int
          FROM webhook_replays WHERE organization_id = $1`,
        [organizationId, now.toISOString()],
      );
      expect(rows).toEqual([{ oldest: kept - 1, count: kept + 1 }]);
      const { rowCount } = await pool.query('SELECT FROM webhook_replays WHERE id = $1', [other]);
      expect(rowCount).toBe(1);
    });

    it('a hundred at a time, when an older release has left many', async () => {
      await request();
      const read = await rowsRead(ends['one is complete']);
      expect(await remaining()).toBe(finishedCount + 1 - 100);
      expect(read).toBeLessThan(kept + 500);
    });
  });

  it('deletes those past their retention in small statements', async () => {
    const table = new ReplayTable(pool, randomUUID());
    const batchMax = 3_000;
    const before = new Date(now.getTime() - 10_000 * 1_000);
    // The ones that ended more than 10,000 s ago.
    for (const left of [17_000, 14_000, 11_000, 10_000, 10_000]) {
      const deleted = (await remaining()) ?? 0;
      expect(await table.prune(before, batchMax)).toBe(deleted - left);
      expect(await remaining()).toBe(left);
    }
  });
});
