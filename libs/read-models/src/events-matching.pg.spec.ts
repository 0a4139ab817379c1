/** Pages of the feed of events: which events are on them, and how much of the index is read for them. */
import { createTestDatabase, expectFewRowsRead, openTestPool } from '@pis/local-servers/testing';
import type { TestDatabase } from '@pis/local-servers/testing';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { type EventsFilter, type EventsQuery, eventsQuery } from './events-query.js';

const organizationId = randomUUID();
const rowsMax = 5_000;
const timeoutMs = 120_000;
const all: EventsFilter = { eventType: undefined, from: undefined };

let database: TestDatabase;
let pool: pg.Pool;
let query: EventsQuery;
beforeEach(async () => {
  database = await createTestDatabase();
  // The plans of a statement belong to a connection.
  pool = openTestPool(database.url, 1);
  query = eventsQuery(pool);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

interface Indexed {
  readonly isOwn: boolean;
  readonly eventType: string;
  readonly occurredAt: string;
}

const positionOf = (index: number) => String(index + 1).padStart(20, '0');

async function index(events: readonly Indexed[]): Promise<void> {
  await pool.query('DELETE FROM integration_events');
  await pool.query(
    `INSERT INTO integration_events (organization_id, position, event_id, event_type, stream_id, revision, occurred_at)
      SELECT o, p, gen_random_uuid(), t, gen_random_uuid(), 0, a
        FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz(3)[]) AS e(o, p, t, a)`,
    [
      events.map(({ isOwn }) => (isOwn ? organizationId : randomUUID())),
      events.map((_, at) => positionOf(at)),
      events.map(({ eventType }) => eventType),
      events.map(({ occurredAt }) => occurredAt),
    ],
  );
}

/** The same page, from the list of events. */
function pageOf(
  events: readonly Indexed[],
  { begin, filter, max, scanMax }: Asked,
): { readonly found: readonly string[]; readonly reached: string } {
  const found: string[] = [];
  let reached = begin;
  const own = events.flatMap((event, at) =>
    event.isOwn && positionOf(at) > begin ? [{ ...event, position: positionOf(at) }] : [],
  );
  for (const { position, eventType, occurredAt } of own.slice(0, scanMax)) {
    if (found.length === max) break;
    reached = position;
    if (filter.eventType !== undefined && filter.eventType !== eventType) continue;
    if (filter.from !== undefined && occurredAt < filter.from) continue;
    found.push(position);
  }
  return { found, reached };
}

interface Asked {
  readonly begin: string;
  readonly filter: EventsFilter;
  readonly max: number;
  readonly scanMax: number;
}

const types = fc.constantFrom('payment.queued', 'payment.completed', 'payment.failed');
const times = fc.integer({ min: 0, max: 9 }).map((ms) => `2026-11-21T09:00:00.00${ms}Z`);
const optional = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined });

it(
  'a page has the events that match any filter, from any position on, and says how far it has looked',
  async () => {
    const indexed = fc.record({ isOwn: fc.boolean(), eventType: types, occurredAt: times });
    const asked = fc.record({
      begin: fc.oneof(
        fc.constant(''),
        fc.integer({ min: 0, max: 20 }).map((at) => positionOf(at)),
      ),
      filter: fc.record({ eventType: optional(types), from: optional(times) }),
      max: fc.integer({ min: 1, max: 6 }),
      scanMax: fc.integer({ min: 6, max: 12 }),
    });
    const property = fc.asyncProperty(
      fc.array(indexed, { maxLength: 20 }),
      fc.array(asked, { minLength: 1, maxLength: 20 }),
      async (events, pages) => {
        await index(events);
        for (const page of pages) {
          const { begin, filter, ...limits } = page;
          const { found, reached } = await query.matching(organizationId, begin, filter, limits);
          const positions = found.map(({ position }) => position);
          expect({ found: positions, reached }).toEqual(pageOf(events, page));
        }
      },
    );
    await fc.assert(property, { numRuns: 100 });
  },
  timeoutMs,
);

describe('a page reads few entries of the index, also by plans of the empty table,', () => {
  const last = { eventType: 'payment.queued', from: '2026-11-21T09:00:00.000Z' };
  it.each([
    ['without a filter', all, 20_000],
    ['when all events match', last, 20_000],
    ['when no event matches the type', { ...all, eventType: 'payment.failed' }, 10],
    ['when no event matches the time', { ...all, from: '2999-01-01T00:00:00.000Z' }, 10],
    ['when no event has both', { ...last, eventType: 'payment.failed' }, 10],
  ])('%s', async (_, filter, scanMax) => {
    const call = () => query.matching(organizationId, '', filter, { max: 10, scanMax });
    const fill = () => fillIndex(false);
    await expectFewRowsRead(pool, 'integration_events', { call, fill });
  });

  it.each([
    ['when no event has both', { ...last, eventType: 'payment.failed' }],
    ['when no event matches the time', { ...all, from: '2999-01-01T00:00:00.000Z' }],
  ])('%s, also after most events came since the table was analyzed', async (_, filter) => {
    await fillIndex(true);
    await pool.query('ANALYZE integration_events');
    const call = () =>
      query.matching(organizationId, positionOf(9_999), filter, { max: 10, scanMax: 10 });
    await expectFewRowsRead(pool, 'integration_events', { call, fill: () => fillIndex(false) });
  });
});

/** @param isOld whether they are before all others */
async function fillIndex(isOld: boolean): Promise<void> {
  await pool.query(
    `INSERT INTO integration_events (organization_id, position, event_id, event_type, stream_id, revision, occurred_at)
      SELECT $1, lpad((n + $3)::text, 20, '0'), gen_random_uuid(), 'payment.queued', gen_random_uuid(), 0,
          $4::timestamptz + n * interval '1 ms' FROM generate_series(1, $2::int) n`,
    [organizationId, rowsMax, isOld ? 0 : 10_000, isOld ? '2020-01-01' : '2026-11-22'],
  );
}
