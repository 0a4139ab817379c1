import { randomUUID } from 'node:crypto';
import {
  directions,
  payment as payments,
  type PaymentEvent,
  paymentRails,
  type PaymentStatus,
} from '@pis/domain';
import { ids, linkExample, paymentEvents, paymentExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, repository } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { figuresProjection } from './figures.projection.js';
import { figuresQuery } from './figures-query.js';
import { paymentsProjection } from './payments.projection.js';
import { ProjectionRunner } from './projection-runner.js';
import { rebuildProjection } from './rebuild.js';
import { eventToAppend } from './testing.js';

const caughtUpWithinMs = 30_000;
/** Half of a bucket of 5 %, and rounding. */
const durationErrorMax = 0.026;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let runners: readonly ProjectionRunner[];
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  store = memoryEventStore();
  runners = [figuresProjection, paymentsProjection].map(
    (projection) => new ProjectionRunner({ projection, store, pool }),
  );
  for (const runner of runners) runner.start();
});
afterEach(async () => {
  await Promise.all((runners ?? []).map((runner) => runner.stop()));
  await pool?.end();
  await database?.drop();
});

async function caughtUp(): Promise<void> {
  const position = await store.lastPosition();
  for (const runner of runners)
    if (!(await runner.waitFor(position, caughtUpWithinMs)))
      throw new Error('a projection has not caught up in time');
}

/** mulberry32: the same numbers for the same seed, 0 to 1. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const next: Readonly<Record<string, readonly PaymentEvent['type'][]>> = {
  PaymentAwaitingConfirmation: ['PaymentQueued', 'PaymentCanceled'],
  PaymentQueued: ['PaymentProcessing', 'PaymentProcessing', 'PaymentFailed', 'PaymentBlocked'],
  PaymentProcessing: [
    'PaymentCompleted',
    'PaymentCompleted',
    'PaymentFailed',
    'PaymentFailedInFlight',
  ],
  PaymentFailedInFlight: ['PaymentCompleted', 'PaymentRejectedLate'],
  PaymentCompleted: ['PaymentReturned'],
};
const examples = new Map<string, PaymentEvent>(
  Object.values(paymentEvents).map((event) => [event.type, event]),
);
const organizations = [ids.organization, '0c0c0c0c-0000-4000-8000-000000000002'];
const dayMs = 86_400_000;
const startMs = Date.parse('2026-11-01T00:00:00.000Z');

/** A payment with a random history, appended in pieces between those of others. */
function randomPayment(random: () => number): PaymentEvent[] {
  const pick = <Value>(values: readonly Value[]): Value => {
    const value = values[Math.floor(random() * values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  };
  const paymentId = randomUUID();
  const data = {
    ...paymentExample({ paymentId, organizationId: pick(organizations) }),
    direction: pick(directions),
    paymentRail: pick(paymentRails),
    amountMinor: 1 + Math.floor(random() * 99_999_999_999),
  };
  let atMs = startMs + Math.floor(random() * 12 * dayMs);
  let type: PaymentEvent['type'] = random() < 0.3 ? 'PaymentAwaitingConfirmation' : 'PaymentQueued';
  const events: PaymentEvent[] = [];
  for (;;) {
    const at = new Date(atMs).toISOString();
    if (type === 'PaymentAwaitingConfirmation')
      events.push({ type, at, data: { ...data, link: linkExample } });
    // The rail of a link's payment is chosen again.
    else if (type === 'PaymentQueued')
      events.push({ type, at, data: { ...data, paymentRail: pick(paymentRails) } });
    else if (type === 'PaymentReturned')
      events.push({ type, at, data: { returnReasonCode: pick(['R01', 'R02', null]) } });
    else events.push({ ...examples.get(type), at } as PaymentEvent);
    const following: readonly PaymentEvent['type'][] = next[type] ?? [];
    if (following.length === 0 || random() < 0.25) return events;
    type = pick(following);
    atMs += Math.floor(10 ** (random() * 8));
  }
}

async function append(paymentId: string, events: readonly PaymentEvent[], after: number) {
  const records = events.map((event) => {
    const { metadata, ...record } = eventToAppend(event);
    const schemaVersion = payments.schemaVersions[event.type];
    return { ...record, metadata: { ...metadata, schemaVersion } };
  });
  const expected = after < 0 ? ('noStream' as const) : after;
  await store.append(`payment-${paymentId}`, expected, records);
}

function idOf([first]: readonly PaymentEvent[]): string {
  if (first?.type === 'PaymentQueued' || first?.type === 'PaymentAwaitingConfirmation')
    return first.data.paymentId;
  throw new Error('a payment cannot begin with this event');
}

/** Counts the payments themselves, one by one. */
async function counted(all: readonly (readonly PaymentEvent[])[], organizationId: string) {
  const states = await Promise.all(
    all.map(async (events) => ({
      events,
      state: (await repository(store, payments).load(idOf(events))).state,
    })),
  );
  const own = states.flatMap(({ state, events }) =>
    state?.organizationId === organizationId ? [{ state, events }] : [],
  );
  const from = (status: PaymentStatus) => own.filter(({ state }) => state.status === status);
  const sum = (some: typeof own) => ({
    payments: some.length,
    amount: some.reduce((total, { state }) => total + state.amountMinor, 0),
  });
  return { own, from, sum };
}

type Counted = Awaited<ReturnType<typeof counted>>;

function durationsOf(own: Counted['own']): readonly number[] {
  return own
    .flatMap(({ state, events }) => {
      const queuedAt = events.find(({ type }) => type === 'PaymentQueued')?.at;
      return state.completedAt === null || queuedAt === undefined
        ? []
        : [Date.parse(state.completedAt) - Date.parse(queuedAt)];
    })
    .toSorted((one, other) => one - other);
}

function expectDuration(
  shown: { readonly medianMs: number | null; readonly p95Ms: number | null },
  all: readonly number[],
): void {
  for (const [part, found] of [
    [0.5, shown.medianMs],
    [0.95, shown.p95Ms],
  ] as const) {
    const exact = all[Math.ceil(part * all.length) - 1];
    if (exact === undefined) expect(found).toBeNull();
    else expect(Math.abs((found ?? 0) - exact)).toBeLessThanOrEqual(1 + exact * durationErrorMax);
  }
}

function expectFigures(
  figures: Awaited<ReturnType<ReturnType<typeof figuresQuery>['of']>>,
  { own, from, sum }: Counted,
): void {
  const keyOf = ({ state }: Counted['own'][number]) =>
    `${state.createdAt.slice(0, 10)} ${state.direction}`;
  const volume = [...Map.groupBy(own, keyOf)].map(([key, some]) => ({ key, ...sum(some) }));
  expect(
    figures.volume.map(({ day, direction, ...rest }) => ({ key: `${day} ${direction}`, ...rest })),
  ).toEqual(volume.toSorted((one, other) => (one.key < other.key ? -1 : 1)));
  expect(figures.inDoubt).toEqual(sum(from('FAILED_IN_FLIGHT')));
  const waiting = from('AWAITING_CONFIRMATION');
  expect(figures.awaitingPayer).toEqual(sum(waiting));
  const expired = waiting.filter(({ state }) => state.createdAt <= expiredUntil);
  expect(figures.expiredLinks).toBe(expired.length);
  const codes = [...Map.groupBy(from('RETURNED'), ({ state }) => state.returnReasonCode)];
  expect(new Set(figures.returns)).toEqual(
    new Set(codes.map(([returnReasonCode, some]) => ({ returnReasonCode, ...sum(some) }))),
  );
  for (const rail of paymentRails) {
    const of = (status: PaymentStatus) =>
      from(status).filter(({ state }) => state.paymentRail === rail).length;
    const [completed, returned, failed, inDoubt] = [
      of('COMPLETED'),
      of('RETURNED'),
      of('FAILED'),
      of('FAILED_IN_FLIGHT'),
    ];
    const ended = completed + returned + failed + inDoubt;
    const shown = figures.rails.find(({ paymentRail }) => paymentRail === rail);
    if (ended === 0) {
      expect(shown).toBeUndefined();
      continue;
    }
    expect(shown).toMatchObject({ completed, returned, failed, inDoubt });
    expect(shown?.successRate).toBe(completed / ended);
    const ofRail = own.filter(({ state }) => state.paymentRail === rail);
    expectDuration(shown ?? { medianMs: null, p95Ms: null }, durationsOf(ofRail));
  }
  expectDuration(figures.duration, durationsOf(own));
}

/** Within a day that has payments. */
const expiredUntil = '2026-11-06T12:34:56.789Z';
const wholePeriod = { from: '2026-11-01', to: '2026-12-31' };

describe('figures', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'are those of the payments counted one by one, also after a rebuild (seed %i)',
    async (seed) => {
      const random = generator(seed);
      const all = Array.from({ length: 120 }, () => randomPayment(random));
      // In two pieces each, so that rows change in later pages.
      for (const events of all) await append(idOf(events), events.slice(0, 1), -1);
      await caughtUp();
      for (const events of all)
        if (events.length > 1) await append(idOf(events), events.slice(1), 0);
      await caughtUp();
      const figures = figuresQuery(pool);
      for (const organizationId of organizations) {
        const shown = await figures.of(organizationId, wholePeriod, expiredUntil);
        expectFigures(shown, await counted(all, organizationId));
        await pool.query('UPDATE payment_days SET payments = 0');
        await rebuildProjection('figures', { store, pool });
        expect(await figures.of(organizationId, wholePeriod, expiredUntil)).toEqual(shown);
      }
      expect(await figures.of(randomUUID(), wholePeriod, expiredUntil)).toMatchObject({
        volume: [],
        rails: [],
        inDoubt: { payments: 0, amount: 0 },
        expiredLinks: 0,
      });
    },
    60_000,
  );

  it('have the days of the period alone, both ends included', async () => {
    for (const day of ['01', '02', '03', '04']) {
      const paymentId = randomUUID();
      const at = `2026-11-${day}T23:59:59.999Z`;
      const data = paymentExample({ paymentId, amountMinor: Number(day) });
      await append(paymentId, [{ type: 'PaymentQueued', at, data }], -1);
    }
    await caughtUp();
    const period = { from: '2026-11-02', to: '2026-11-03' };
    const { volume } = await figuresQuery(pool).of(ids.organization, period, expiredUntil);
    expect(volume).toEqual([
      { day: '2026-11-02', direction: 'OUTBOUND', payments: 1, amount: 2 },
      { day: '2026-11-03', direction: 'OUTBOUND', payments: 1, amount: 3 },
    ]);
  });
});
