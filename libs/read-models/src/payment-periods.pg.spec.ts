/**
 * Pages of payments as of a time, compared with a scan of the whole table, and their cost, counted by PostgreSQL in
 * index entries and rows read. A payment is queued for a minute at most, processed for one hour to three days, and
 * every fiftieth is returned twenty days later.
 */
import type { PaymentFilter } from '@pis/contracts';
import { payment, type PaymentEvent, paymentStatuses } from '@pis/domain';
import { paymentEvents, paymentHistories } from '@pis/domain/testing';
import { eventsAsOf, foldOf } from '@pis/event-store';
import { randomUUID } from 'node:crypto';
import {
  createTestDatabase,
  generator,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { historyProjection } from './history.projection.js';
import type { ListCursor } from './list-page.js';
import { bandOf, paymentPeriods, rangesAsOf } from './payment-periods.js';
import { recordedEvents } from './testing.js';

const organizationId = randomUUID();
const originatorId = randomUUID();
const contactId = randomUUID();
const payments = 30_000;
const limit = 20;
/** One payment was created each minute before. */
const newest = Date.parse('2026-11-21T09:00:00.000Z');
const minuteMs = 60_000;
const oldest = newest - payments * minuteMs;
/** Of three days. */
const inFlightMax = 3 * 24 * 60;

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  // One connection, so that it counts its own reads.
  pool = openTestPool(database.url, 1);
  await pool.query(
    `INSERT INTO payment_periods (payment_id, revision, organization_id, originator_id, contact_id, status, direction,
       payment_rail, created_at, valid_from, valid_to, last_at, band)
     SELECT payment_id, revision, $1, $2, $3, status, direction, rail, created, since, until, coalesce(until, since),
       CASE WHEN until IS NULL THEN 64 ELSE 0 END + CASE WHEN age < 1 THEN 0 ELSE floor(log(2, age)) + 1 END
     FROM generate_series(1, $4::int) n
     CROSS JOIN LATERAL (SELECT gen_random_uuid() AS payment_id, $5::timestamptz - n * interval '1 minute' AS created,
       (1000 + n::bigint * 7919 % 59000) * interval '1 ms' AS queued,
       (3600000 + n::bigint * 104729 % 250000000) * interval '1 ms' AS processed, interval '20 days' AS returned,
       CASE WHEN n % 3 = 0 THEN 'INBOUND' ELSE 'OUTBOUND' END AS direction,
       CASE WHEN n % 5 = 0 THEN 'RTP' ELSE 'ACH' END AS rail) AS p
     CROSS JOIN LATERAL (VALUES
       (0, 'QUEUED', created, created + queued),
       (1, 'PROCESSING', created + queued, created + queued + processed),
       (2, 'COMPLETED', created + queued + processed,
         CASE WHEN n % 50 = 0 THEN created + queued + processed + returned END),
       (3, 'RETURNED', CASE WHEN n % 50 = 0 THEN created + queued + processed + returned END, NULL)
     ) AS v (revision, status, since, until)
     CROSS JOIN LATERAL (SELECT extract(epoch FROM coalesce(until, since) - created) * 1000 AS age) AS a
     WHERE since IS NOT NULL`,
    [organizationId, originatorId, contactId, payments, new Date(newest)],
  );
  await pool.query('VACUUM ANALYZE payment_periods');
}, 120_000);

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** The same page from the whole table. */
async function scanned(filter: PaymentFilter, at: string, after?: ListCursor) {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT payment_id AS id FROM payment_periods
     WHERE organization_id = $1 AND coalesce(status = $2, true) AND coalesce(direction = $3, true)
       AND coalesce(payment_rail = $4, true) AND coalesce(contact_id = $5, true)
       AND coalesce(originator_id = $6, true)
       AND coalesce(created_at >= $7::timestamptz, true) AND coalesce(created_at <= $8::timestamptz, true)
       AND coalesce((created_at, payment_id) < ($9::timestamptz, $10::uuid), true)
       AND valid_from <= $11 AND (valid_to IS NULL OR valid_to > $11)
     ORDER BY created_at DESC, payment_id DESC LIMIT $12`,
    [
      organizationId,
      filter.status,
      filter.direction,
      filter.paymentRail,
      filter.contactId,
      filter.originatorId,
      filter.createdFrom,
      filter.createdTo,
      after?.createdAt,
      after?.id,
      at,
      limit,
    ],
  );
  return rows.map(({ id }) => id);
}

const random = generator(17);
const someTime = () => new Date(oldest + random(newest - oldest + 30 * 86_400_000)).toISOString();

function someFilter(): PaymentFilter {
  const maybe = <Value>(value: Value) => (random(3) === 0 ? value : undefined);
  const [createdFrom, createdTo] = [someTime(), someTime()].sort();
  return {
    status: random(8) === 0 ? undefined : paymentStatuses[random(paymentStatuses.length)],
    direction: maybe(random(2) === 0 ? 'INBOUND' : 'OUTBOUND'),
    paymentRail: maybe(random(2) === 0 ? 'ACH' : 'RTP'),
    contactId: maybe(contactId),
    originatorId: maybe(originatorId),
    createdFrom: maybe(createdFrom),
    createdTo: maybe(createdTo),
  };
}

describe('a page of payments as of a time', () => {
  it('has the same payments as a scan of all periods, and so has the page after it', async () => {
    const query = paymentPeriods(pool);
    for (let n = 0; n < 60; n += 1) {
      const [filter, at] = [someFilter(), someTime()];
      let after: ListCursor | undefined;
      for (let pages = 0; pages < 2; pages += 1) {
        const { items, next } = await query.list(organizationId, filter, at, { limit, after });
        const expected = await scanned(filter, at, after);
        expect({ filter, at, after, items }).toEqual({ filter, at, after, items: expected });
        if (next === null) break;
        after = next;
      }
    }
    const others = await query.list(randomUUID(), { status: 'COMPLETED' }, someTime(), { limit });
    expect(others).toEqual({ items: [], next: null });
  });

  // The payments in flight at the time are the edge of the ranges, for a status that comes after it.
  it.each([
    ['QUEUED', 300],
    ['PROCESSING', 3 * inFlightMax],
    ['COMPLETED', 3 * inFlightMax],
    ['RETURNED', 2 * inFlightMax],
    ['FAILED', 0],
  ] as const)('is read without the rest of the table: %s', async (status, readMax) => {
    const query = paymentPeriods(pool);
    const filters: PaymentFilter[] = [{ status }, { status, originatorId }, { status, contactId }];
    for (const filter of filters)
      for (const part of [0.1, 0.5, 0.9, 1.1]) {
        const at = new Date(oldest + part * (newest - oldest)).toISOString();
        const before = await readSoFar();
        // PostgreSQL plans a prepared statement anew for the first five.
        for (let n = 0; n < 7; n += 1) await query.list(organizationId, filter, at, { limit });
        const read = ((await readSoFar()) - before) / 7;
        expect({ filter, part, read, isBounded: read <= readMax }).toMatchObject({
          isBounded: true,
        });
      }
  });
});

/** Reads of the table and its indexes so far. */
async function readSoFar(): Promise<number> {
  await pool.query('SELECT pg_stat_force_next_flush()');
  const { rows: counted } = await pool.query<{ entries: number }>(
    `SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes
       WHERE relname = 'payment_periods'))::int AS entries
     FROM pg_stat_user_tables WHERE relname = 'payment_periods'`,
  );
  return counted[0]?.entries ?? NaN;
}

describe('the band of a period', () => {
  it('has the ranges in which its payment qualifies, at any time', () => {
    const draw = generator(3);
    const createdAt = '2026-03-01T00:00:00.000Z';
    const after = (ms: number) => new Date(Date.parse(createdAt) + ms).toISOString();
    const age = () => (draw(4) === 0 ? 0 : Math.floor(2 ** (draw(400) / 10)));
    for (let n = 0; n < 500; n += 1) {
      const [begin = 0, end = 0, asked = 0] = [age(), age(), age()].sort((a, b) => a - b);
      const [at, to] = draw(2) === 0 ? [asked, null] : [end - 1, end];
      if (to !== null && at < begin) continue;
      const period = {
        createdAt,
        validFrom: after(begin),
        validTo: to === null ? null : after(to),
      };
      const band = bandOf(period);
      const range = rangesAsOf(after(at), {}, undefined).find((one) => one.band === band);
      expect({ begin, at, to, range }).toMatchObject({ range: { band } });
      expect((range?.from ?? '') <= createdAt && createdAt < (range?.before.createdAt ?? '')).toBe(
        true,
      );
    }
  });
});

describe('the history', () => {
  const notes = [paymentEvents.corrected, paymentEvents.rejectedLate];
  const histories = paymentStatuses.flatMap((status) => paymentHistories[status]);
  const second = (n: number) => new Date(newest + n * 1000).toISOString();

  it('says what each stream says, with clocks that differ, with notes, and with pages that come twice', async () => {
    const [table] = historyProjection.tables;
    const draw = generator(5);
    const client = await pool.connect();
    try {
      for (const history of [...histories, ...histories]) {
        const paymentId = randomUUID();
        const events: PaymentEvent[] = [...history];
        events.splice(1 + draw(events.length), 0, notes[draw(2)] ?? paymentEvents.corrected);
        const recorded = recordedEvents(
          `payment-${paymentId}`,
          events.map((event) => ({ ...event, at: second(draw(12)) })),
        );
        for (let from = 0; from < recorded.length; ) {
          const to = from + 1 + draw(recorded.length);
          for (let times = 1 + draw(2); times > 0; times -= 1)
            await table?.write(client, 'payment_periods', recorded.slice(from, to));
          from = to;
        }
        const { rows } = await client.query<PeriodFound>(
          `SELECT status, payment_rail, valid_from, valid_to FROM payment_periods WHERE payment_id = $1`,
          [paymentId],
        );
        for (let n = -1; n < 13; n += 1) {
          const at = new Date(second(n));
          const { state } = foldOf(payment)(eventsAsOf(recorded, second(n)));
          const found = rows
            .filter((row) => row.valid_from <= at && (row.valid_to === null || row.valid_to > at))
            .map(({ status, payment_rail }) => ({ status, rail: payment_rail }));
          const expected = state && { status: state.status, rail: state.paymentRail };
          expect({ n, found }).toEqual({ n, found: expected === null ? [] : [expected] });
        }
      }
    } finally {
      client.release();
    }
  });
});

interface PeriodFound {
  readonly status: string;
  readonly payment_rail: string;
  readonly valid_from: Date;
  readonly valid_to: Date | null;
}
