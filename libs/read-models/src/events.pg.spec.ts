import { randomUUID } from 'node:crypto';
import { paymentEvents } from '@pis/domain/testing';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import {
  createTestDatabase,
  itemsOf,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { eventsProjection } from './events.projection.js';
import { type EventsQuery, eventsQuery, type IndexedEventRef } from './events-query.js';
import { ProjectionRunner } from './projection-runner.js';
import { quarantinedStreams } from './quarantine.js';
import { rebuildProjection } from './rebuild.js';
import { appendEvents, completePayment, queuePayment } from './testing.js';

const timeoutMs = 20_000;
const organizationId = randomUUID();
const minute = (n: number) => new Date(Date.parse('2026-11-21T09:00:00.000Z') + n * 60_000);
const at = (n: number) => minute(n).toISOString();

let database: TestDatabase;
let store: EventStore;
let pool: pg.Pool;
let runner: ProjectionRunner;
let query: EventsQuery;

beforeEach(async () => {
  database = await createTestDatabase();
  store = memoryEventStore();
  pool = openTestPool(database.url, 4);
  runner = new ProjectionRunner({ projection: eventsProjection, store, pool });
  query = eventsQuery(pool);
  runner.start();
});
afterEach(async () => {
  await runner.stop();
  await pool.end();
  await database.drop();
});

const queue = (n: number, organization = organizationId) =>
  queuePayment(store, at(n), { organizationId: organization });
const all = { eventType: undefined, from: undefined };
const after = async (position: string, max: number) =>
  (await query.matching(organizationId, position, all, { max, scanMax: 1_000 })).found;
const caughtUp = async () =>
  expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
const types = (events: readonly IndexedEventRef[]) => events.map(({ eventType }) => eventType);

describe('the index of integration events', () => {
  it('has each event of a payment with its type and position, only for its organization', async () => {
    const payment = await queue(0);
    const other = await queue(0, randomUUID());
    await caughtUp();
    // The organization is only in the first event, which is in the table by now.
    await completePayment(store, payment);
    await completePayment(store, other);
    await caughtUp();
    const events = await after('', 10);
    expect(types(events)).toEqual(['payment.queued', 'payment.processing', 'payment.completed']);
    const recorded = await store.readStream(payment.streamId);
    expect(events).toEqual(
      recorded.map(({ id, position, revision, metadata }, index) => ({
        position,
        eventId: id,
        eventType: types(events)[index],
        streamId: payment.streamId,
        revision,
        paymentId: payment.paymentId,
        occurredAt: metadata.at,
      })),
    );
  });

  it('is read from any position, page by page, without a gap', async () => {
    for (let n = 0; n < 7; n += 1) await queue(n);
    await caughtUp();
    const seen: string[] = [];
    for (let position = ''; ; ) {
      const page = await after(position, 3);
      if (page.length === 0) break;
      seen.push(...page.map(({ eventId }) => eventId));
      position = page.at(-1)?.position ?? '';
    }
    const { events } = await store.readLog({ after: '' });
    expect(seen).toEqual(events.map(({ id }) => id));
  });

  it('looks through a bounded part for events that match, and says how far', async () => {
    const [first, second, third] = [await queue(0), await queue(1), await queue(2)];
    await completePayment(store, third);
    await queue(3, randomUUID());
    await caughtUp();
    const ask = (position: string, eventType: string, scanMax: number, from?: string) =>
      query.matching(organizationId, position, { eventType, from }, { max: 1, scanMax });
    const none = { found: [] };
    expect(await ask('', 'payment.completed', 2)).toEqual({ ...none, reached: second.position });
    const rest = await ask(second.position, 'payment.completed', 10);
    expect(types(rest.found)).toEqual(['payment.completed']);
    expect(rest.reached).toBe(rest.found[0]?.position);
    expect(await ask(rest.reached, 'payment.queued', 10)).toEqual({
      ...none,
      reached: rest.reached,
    });
    const later = await ask('', 'payment.queued', 10, at(1));
    expect(later.found).toMatchObject([{ streamId: second.streamId }]);
    expect(later.reached).toBe(second.position);
    expect(await ask('', 'payment.queued', 1, at(1))).toEqual({ ...none, reached: first.position });
  });

  it('finds the first position of a time, also when clocks disagree with the order of the log', async () => {
    const before = await queue(-30);
    const ahead = await queue(0.5);
    await queue(0);
    const last = await queue(40);
    await caughtUp();
    // A start at the first by time would miss the one that is before it in the log.
    expect(await query.positionBefore(organizationId, at(0))).toBe(before.position);
    expect(before.position < ahead.position).toBe(true);
    expect(await query.positionBefore(organizationId, at(100))).toBe(last.position);
    expect(await query.positionBefore(randomUUID(), at(0))).toBe('');
  });

  it('is read by time from any position, both ends included, with equal times', async () => {
    for (const n of [0, 1, 1, 1, 2, 3]) await queue(n);
    await caughtUp();
    const range = { from: at(1), to: at(2) };
    const first = await query.between(organizationId, { ...range, after: null }, 2);
    expect(first.map(({ occurredAt }) => occurredAt)).toEqual([at(1), at(1)]);
    const [, last] = first;
    const rest = await query.between(organizationId, { ...range, after: last ?? null }, 10);
    expect(rest.map(({ occurredAt }) => occurredAt)).toEqual([at(1), at(2)]);
    expect(new Set([...first, ...rest].map(({ eventId }) => eventId)).size).toBe(4);
  });

  it('is the same after a rebuild', async () => {
    const payment = await queue(0);
    await completePayment(store, payment);
    await caughtUp();
    const before = await after('', 10);
    await rebuildProjection('events', { store, pool });
    expect(await after('', 10)).toEqual(before);
    await queue(1);
    await caughtUp();
    expect(await after('', 10)).toHaveLength(4);
  });

  it('leaves out a payment that begins with something else, and indexes all others', async () => {
    const streamId = `payment-${randomUUID()}`;
    await appendEvents(store, streamId, [paymentEvents.completed]);
    await queue(0);
    await caughtUp();
    expect(await after('', 10)).toHaveLength(1);
    expect(await itemsOf(quarantinedStreams(pool))).toMatchObject([
      { streamId, reason: 'a payment cannot begin with this event' },
    ]);
  });
});
