import { randomUUID } from 'node:crypto';
import { collectionDetails, payment as payments, type PaymentEvent } from '@pis/domain';
import {
  bankAccountExample,
  linkExample,
  originatorParty,
  paymentEvents,
  paymentExample,
  stepsOfPaymentLives,
} from '@pis/domain/testing';
import { type EventStore, memoryEventStore, type RecordedEvent } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import {
  type Movement,
  type MovementFilter,
  movementPages,
  movementsOfPayment,
} from './movements.js';
import { movementsProjection } from './movements.projection.js';
import { ProjectionRunner } from './projection-runner.js';
import { rebuildProjection } from './rebuild.js';
import { eventToAppend } from './testing.js';

const caughtUpWithinMs = 30_000;
const organizationId = randomUUID();
const originatorId = randomUUID();

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let runner: ProjectionRunner;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  store = memoryEventStore();
  runner = new ProjectionRunner({ projection: movementsProjection, store, pool });
  runner.start();
});
afterEach(async () => {
  await runner?.stop();
  await pool?.end();
  await database?.drop();
});

async function caughtUp(): Promise<void> {
  if (!(await runner.waitFor(await store.lastPosition(), caughtUpWithinMs)))
    throw new Error('the projection has not caught up in time');
}

const append = (paymentId: string, ...events: readonly PaymentEvent[]) =>
  appendTo(`payment-${paymentId}`, ...events);

/** Appends at the current end of the stream. */
async function appendTo(streamId: string, ...events: readonly PaymentEvent[]): Promise<void> {
  const [last] = await store.readStream(streamId, { direction: 'backwards', maxCount: 1 });
  const records = events.map((event) => {
    const { metadata, ...record } = eventToAppend(event);
    const schemaVersion = payments.schemaVersions[event.type];
    return { ...record, metadata: { ...metadata, schemaVersion } };
  });
  await store.append(streamId, last?.revision ?? 'noStream', records);
}

const movesAt = (event: PaymentEvent, at: string): PaymentEvent => ({ ...event, at });
const owned = (overrides: Parameters<typeof paymentExample>[0] = {}) =>
  paymentExample({ organizationId, originatorId, ...overrides });

async function read(filter: Partial<MovementFilter> = {}, limit = 100): Promise<Movement[]> {
  const all: Movement[] = [];
  for await (const page of movementPages(pool, { organizationId, ...filter }, { limit }))
    all.push(...page);
  return all;
}

/** A payment that completes on the first of the month and is returned three months later. */
async function returnedPayment(overrides: Parameters<typeof paymentExample>[0] = {}) {
  const paymentId = randomUUID();
  await append(
    paymentId,
    { ...paymentEvents.queued, data: owned({ paymentId, ...overrides }) } as PaymentEvent,
    {
      type: 'PaymentProcessing',
      at: '2026-03-01T08:00:00.000Z',
      data: { railReference: 'ours-1' },
    },
    movesAt(paymentEvents.completed, '2026-03-01T09:00:00.000Z'),
  );
  await caughtUp();
  await append(paymentId, movesAt(paymentEvents.returned, '2026-06-15T10:00:00.000Z'));
  await caughtUp();
  return paymentId;
}

describe('movements', () => {
  it('a payment that completes is one movement, and its return is the opposite one, months later', async () => {
    const paymentId = await returnedPayment({ amountMinor: 12_345, direction: 'OUTBOUND' });
    const [, , completed, returned] = await store.readStream(`payment-${paymentId}`);
    const same = {
      organizationId,
      originatorId,
      paymentId,
      collectionId: null,
      amountMinor: 12_345,
      rail: 'ACH',
      movementId: expect.any(String),
    };
    const both = [
      {
        ...same,
        kind: 'transfer',
        side: 'debit',
        reference: 'ours-1',
        returnReasonCode: null,
        at: new Date('2026-03-01T09:00:00.000Z'),
        position: completed?.position,
      },
      {
        ...same,
        kind: 'return',
        side: 'credit',
        reference: null,
        returnReasonCode: 'R01',
        at: new Date('2026-06-15T10:00:00.000Z'),
        position: returned?.position,
      },
    ];
    expect(await read()).toEqual(both);
    expect(await movementsOfPayment(pool, organizationId, paymentId)).toEqual(both);
  });

  it('a return of less than was sent is a movement of what came back, also after a rebuild', async () => {
    const paymentId = randomUUID();
    const details = owned({ paymentId, amountMinor: 12_345, paymentRail: 'SWIFT' });
    const { queued, processing, completed } = paymentEvents;
    await append(paymentId, { ...queued, data: details }, processing, completed);
    await caughtUp();
    await append(paymentId, {
      ...{ type: 'PaymentReturned', at: '2026-12-01T10:00:00.000Z' },
      data: { returnReasonCode: null, returnReference: 'RTR1', returnedAmountMinor: 12_000 },
    });
    await caughtUp();
    const both = [
      { kind: 'transfer', side: 'debit', amountMinor: 12_345 },
      { kind: 'return', side: 'credit', amountMinor: 12_000, reference: 'RTR1' },
    ];
    expect(await read()).toMatchObject(both);
    await rebuildProjection('movements', { store, pool });
    expect(await read()).toMatchObject(both);
    const { rows } = await pool.query(
      'SELECT amount_minor, returned_amount_minor FROM transfers WHERE transfer_id = $1',
      [paymentId],
    );
    expect(rows).toEqual([{ amount_minor: '12345', returned_amount_minor: '12000' }]);
  });

  it('each later return is a movement of what came back with it, read in one page or not, also after a rebuild', async () => {
    const details = owned({ amountMinor: 12_345, paymentRail: 'SWIFT', direction: 'INBOUND' });
    const { queued, processing, completed } = paymentEvents;
    const returned = (returnReference: string, returnedAmountMinor: number, day: number) => ({
      ...{ type: 'PaymentReturned' as const, at: `2026-12-0${day}T10:00:00.000Z` },
      data: { returnReasonCode: null, returnReference, returnedAmountMinor },
    });
    const again = (...terms: Parameters<typeof returned>): PaymentEvent => ({
      ...returned(...terms),
      type: 'PaymentReturnedAgain',
    });
    const lives: Record<string, object[]> = {};
    for (const isTogether of [true, false]) {
      const paymentId = randomUUID();
      const sent: PaymentEvent = { ...queued, data: { ...details, paymentId } };
      await append(paymentId, sent, processing, completed, returned('RTR1', 12_000, 1));
      if (!isTogether) await caughtUp();
      await append(paymentId, again('RTR2', 300, 2));
      if (!isTogether) await caughtUp();
      await append(paymentId, again('RTR3', 45, 3));
      lives[paymentId] = [
        { kind: 'transfer', side: 'credit', amountMinor: 12_345 },
        { kind: 'return', side: 'debit', amountMinor: 12_000, reference: 'RTR1' },
        {
          ...{ kind: 'later_return', side: 'debit', amountMinor: 300, reference: 'RTR2' },
          ...{ rail: 'SWIFT', returnReasonCode: null, collectionId: null, paymentId },
          at: new Date('2026-12-02T10:00:00.000Z'),
        },
        { kind: 'later_return', side: 'debit', amountMinor: 45, reference: 'RTR3' },
      ];
    }
    await caughtUp();
    const movements = async (paymentId: string) =>
      movementsOfPayment(pool, details.organizationId, paymentId);
    for (const [paymentId, moved] of Object.entries(lives))
      expect(await movements(paymentId)).toMatchObject(moved);
    const before = await read();
    await rebuildProjection('movements', { store, pool });
    expect(await read()).toEqual(before);
  });

  it('are never those of another organization', async () => {
    const paymentId = await returnedPayment();
    const other = randomUUID();
    expect(await read({ organizationId: other })).toEqual([]);
    expect(await read({ organizationId: other, originatorId })).toEqual([]);
    expect(await movementsOfPayment(pool, other, paymentId)).toEqual([]);
  });

  it('are read from a time to another, of one originator or all, and up to a position', async () => {
    const inbound = randomUUID();
    await returnedPayment({ direction: 'INBOUND', originatorId: inbound });
    await returnedPayment();
    const kindsOf = async (filter: Partial<MovementFilter>) =>
      (await read(filter)).map(({ kind, side }) => `${kind} ${side}`);
    expect(await kindsOf({ originatorId: inbound })).toEqual(['transfer credit', 'return debit']);
    const from = new Date('2026-06-15T10:00:00.000Z');
    expect((await kindsOf({ from })).toSorted()).toEqual(['return credit', 'return debit']);
    expect((await kindsOf({ to: from })).toSorted()).toEqual(['transfer credit', 'transfer debit']);
    const [first] = await read({ originatorId: inbound });
    expect(await kindsOf({ through: first?.position })).toEqual(['transfer credit']);
  });

  it('a page continues after the last movement of the page before, also at equal times', async () => {
    for (let count = 0; count < 5; count += 1) await returnedPayment();
    const all = await read();
    expect(all).toHaveLength(10);
    for (const limit of [1, 2, 3, 10]) expect(await read({}, limit)).toEqual(all);
    const [, , third] = all;
    const rest: Movement[] = [];
    for await (const page of movementPages(pool, { organizationId }, { limit: 4, after: third }))
      rest.push(...page);
    expect(rest).toEqual(all.slice(3));
  });

  it('the payer of a link moves the processing fee, too', async () => {
    const paymentId = randomUUID();
    const details = owned({ paymentId, direction: 'INBOUND', amountMinor: 10_000 });
    const { processing, completed, queued } = paymentEvents;
    await append(
      paymentId,
      {
        type: 'PaymentAwaitingConfirmation',
        at: queued.at,
        data: { ...details, link: linkExample },
      },
      { type: 'PaymentQueued', at: queued.at, data: { ...details, paymentRail: 'ACH' } },
      processing,
      completed,
    );
    await caughtUp();
    const { discountFeeMinor, flatFeeMinor } = details;
    expect(await read()).toMatchObject([{ amountMinor: 10_000 + discountFeeMinor + flatFeeMinor }]);
  });

  it('a collection debits the originator, and its return gives the money back', async () => {
    const collectionId = randomUUID();
    const data = collectionDetails({
      ...{ collectionId, organizationId, amountMinor: 4_321, note: 'Fees 2026-10' },
      settlement: { name: 'Board Operations Inc', bankAccount: bankAccountExample() },
      originator: { ...originatorParty, id: originatorId },
    });
    const { queued, processing, completed } = paymentEvents;
    const streamId = `collection-${collectionId}`;
    await appendTo(streamId, { type: 'PaymentQueued', at: queued.at, data }, processing, completed);
    await caughtUp();
    await appendTo(streamId, {
      ...{ type: 'PaymentReturned', at: '2026-12-01T10:00:00.000Z' },
      data: { returnReasonCode: 'R01', returnReference: '011000130000001' },
    });
    await caughtUp();
    const same = { originatorId, paymentId: null, collectionId, amountMinor: 4_321, rail: 'ACH' };
    const both = [
      { ...same, kind: 'collection', side: 'debit' },
      {
        ...{ ...same, kind: 'collection_return', side: 'credit' },
        ...{ reference: '011000130000001', returnReasonCode: 'R01' },
      },
    ];
    expect(await read()).toMatchObject(both);
    await rebuildProjection('movements', { store, pool });
    expect(await read({ originatorId })).toMatchObject(both);
  });

  it('sum up to what an independent computation finds in the raw events of every life of a payment', async () => {
    const originators = [randomUUID(), randomUUID(), randomUUID()];
    const lives = stepsOfPaymentLives().map(({ history }, index) =>
      lifeOf(history, index, originators[index % originators.length] ?? ''),
    );
    // The first half of each life, then the rest: rows are loaded again in between.
    for (const { paymentId, events } of lives)
      await append(paymentId, ...events.slice(0, Math.ceil(events.length / 2)));
    await caughtUp();
    for (const { paymentId, events } of lives) {
      const rest = events.slice(Math.ceil(events.length / 2));
      if (rest.length > 0) await append(paymentId, ...rest);
    }
    await caughtUp();
    const { events } = await store.readLog({ after: '', pageMax: 100_000 });
    const expected = sumsOf(events);
    expect(expected.size).toBe(originators.length);
    const live = await read();
    expect(summed(live)).toEqual(expected);
    expect(live.filter(({ kind }) => kind === 'return').length).toBeGreaterThan(0);

    await rebuildProjection('movements', { store, pool });
    expect(await read()).toEqual(live);
  });
});

/** A life of its own payment, with its own amount and direction. */
function lifeOf(history: readonly PaymentEvent[], index: number, originator: string) {
  const paymentId = randomUUID();
  const overrides = {
    paymentId,
    organizationId,
    originatorId: originator,
    amountMinor: 1_000 + 7 * index,
    direction: index % 2 === 0 ? ('INBOUND' as const) : ('OUTBOUND' as const),
  };
  const events = history.map((event) =>
    event.type === 'PaymentQueued' || event.type === 'PaymentAwaitingConfirmation'
      ? ({ ...event, data: { ...event.data, ...overrides } } as PaymentEvent)
      : event,
  );
  return { paymentId, events };
}

interface Details {
  readonly originatorId: string;
  readonly direction: string;
  readonly amountMinor: number;
  readonly discountFeeMinor: number;
  readonly flatFeeMinor: number;
  readonly link?: unknown;
}

/** What each originator's account gained, from the recorded data alone. */
function sumsOf(events: readonly RecordedEvent[]): Map<string, number> {
  const sums = new Map<string, number>();
  const first = new Map<string, Details>();
  for (const { streamId, revision, type, data } of events) {
    if (revision === 0) first.set(streamId, data as unknown as Details);
    const details = first.get(streamId);
    if (details === undefined) throw new Error('a stream without its first event');
    const isInbound = details.direction === 'INBOUND';
    const fee =
      isInbound && details.link !== undefined ? details.discountFeeMinor + details.flatFeeMinor : 0;
    const gain = (isInbound ? 1 : -1) * (details.amountMinor + fee);
    const change = { PaymentCompleted: gain, PaymentReturned: -gain }[type] ?? 0;
    sums.set(details.originatorId, (sums.get(details.originatorId) ?? 0) + change);
  }
  return sums;
}

function summed(movements: readonly Movement[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { originatorId: owner, side, amountMinor } of movements)
    sums.set(owner, (sums.get(owner) ?? 0) + (side === 'credit' ? amountMinor : -amountMinor));
  return sums;
}
