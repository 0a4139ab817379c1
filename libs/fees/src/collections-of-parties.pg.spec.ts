/** What the erasure of an originator knows of the collections from it. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { collection as collections, type PaymentCommand } from '@pis/domain';
import { type EventStore, type JsonObject, repository, systemContext } from '@pis/event-store';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { type Party, PartyTransfers, paymentsProjection, ProjectionRunner } from '@pis/read-models';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';

jest.setTimeout(240_000);

let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld();
});
afterEach(() => world?.close());

const october = { year: 2026, month: 10 };
const fees = { discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 };

async function due(): Promise<string> {
  const at = '2026-10-02T12:00:00.000Z';
  const originatorId = await world.newOriginator(at);
  await world.pay({ originatorId, fees, completedAt: '2026-10-15T12:00:00.000Z' });
  world.setNow('2026-11-03T12:00:00.000Z');
  return originatorId;
}

const partyOf = (id: string) =>
  ({ kind: 'originator', id, organizationId: world.organizationId }) as const;

async function collectionOf(originatorId: string): Promise<string> {
  const period = await world.periodOf(originatorId, october);
  return period?.collections.at(-1)?.collectionId ?? 'none';
}

it('a collection is open until it is final, and its last change counts for the retention period', async () => {
  const originatorId = await due();
  const transfers = new PartyTransfers(world.pool, world.store);
  const party = partyOf(originatorId);
  await world.round();
  const paymentId = await collectionOf(originatorId);
  const open = { transfer: 'collection', count: 1, paymentId };
  expect(await transfers.haveReached(await world.store.lastPosition(), 'originator')).toBe(true);
  expect(await transfers.open(party)).toEqual(open);
  expect(await transfers.open({ ...party, kind: 'contact' })).toBeNull();
  const another = await due();
  await world.caughtUp();
  expect(await transfers.open(partyOf(another))).toBeNull();
  const command = { type: 'ProcessPayment', at: '2026-11-04T12:00:00.000Z' } as const;
  const data = { railReference: 'r' };
  await repository(world.store, collections).execute(
    paymentId,
    { ...command, data },
    systemContext('test'),
  );
  await world.caughtUp();
  expect(await transfers.open(party)).toEqual(open);
  world.setNow('2026-11-05T12:00:00.000Z');
  await world.settle(paymentId, 'complete');
  await world.caughtUp();
  expect(await transfers.open(party)).toBeNull();
  expect(await transfers.lastFinalAt(party)).toBe('2026-11-05T12:00:00.000Z');
  expect(await transfers.collections(party)).toEqual([paymentId]);
});

it('a collection is open from its start, before its own stream is there', async () => {
  const originatorId = await due();
  await world.caughtUp();
  const on: EventStore = {
    ...world.store,
    append: (streamId, ...rest) =>
      streamId.startsWith('collection-')
        ? Promise.reject(new Error('died'))
        : world.store.append(streamId, ...rest),
  };
  const collector = world.collector({ on, environment: 'sandbox' });
  await expect(collector.collectMonth(october, null)).rejects.toThrow('died');
  await world.caughtUp();
  expect(await world.streams('collection')).toEqual([]);
  const transfers = new PartyTransfers(world.pool, world.store);
  expect(await transfers.open(partyOf(originatorId))).toMatchObject({
    transfer: 'collection',
    paymentId: await collectionOf(originatorId),
  });
});

it('a collection that the bank has rejected late is not open any more', async () => {
  const originatorId = await due();
  await world.round();
  const collectionId = await collectionOf(originatorId);
  const transfers = new PartyTransfers(world.pool, world.store);
  const party = partyOf(originatorId);
  const at = '2026-11-04T12:00:00.000Z';
  const execute = (command: PaymentCommand) =>
    repository(world.store, collections).execute(collectionId, command, systemContext('test'));
  await execute({ type: 'ProcessPayment', at, data: { railReference: 'r' } });
  await execute({ type: 'FailPaymentInFlight', at, data: { failureReason: 'no confirmation' } });
  await world.caughtUp();
  expect(await transfers.open(party)).toEqual({
    transfer: 'collection',
    count: 1,
    paymentId: collectionId,
  });
  const cause = { field: null, message: 'x', reason: 'x', railCode: 'R03' };
  const data = { failureCode: 'INTERNAL_ERROR', ...cause } as const;
  await execute({ type: 'RejectPaymentLate', at, data });
  await world.caughtUp();
  expect(await transfers.open(party)).toBeNull();
});

describe('a stream in quarantine', () => {
  const contactId = randomUUID();
  const hold = (streamId: string, reader: 'payments' | 'fees') =>
    // Handed over at a position that is never reached, so that the projection does not try the stream again meanwhile.
    world.pool.query(
      `INSERT INTO quarantined_streams
         (reader, stream_id, from_revision, position, event_id, event_type, reason, released_to)
       VALUES ($1, $2, 0, '1', gen_random_uuid(), 'x', 'x', '~')`,
      [`projection:${reader}`, streamId],
    );
  /** The erasure's question, with a stream whose first event has other data than this release wrote. */
  const openWith = (party: Party, streamId: string, data: unknown) => {
    const readStream: EventStore['readStream'] = async (id, options) => {
      if (id !== streamId) return world.store.readStream(id, options);
      const metadata = { at: '2026-10-02T12:00:00.000Z' };
      return [{ streamId, revision: 0, type: 'x', metadata, data: data as JsonObject }] as never;
    };
    return new PartyTransfers(world.pool, { ...world.store, readStream }).open(party);
  };
  const contact = () =>
    ({ kind: 'contact', id: contactId, organizationId: world.organizationId }) as const;
  const unreadable: readonly (readonly [string, unknown])[] = [
    ['null', null],
    ['a text', 'x'],
    ['a list', []],
    ['nothing', {}],
    ['IDs that are none', { originatorId: 'x', contactId: 'x', link: 'x' }],
    ['IDs of another form', { originatorId: 1, contactId: 1, link: { counterpartyId: 1 } }],
  ];

  it.each(unreadable)('is open for every party when its first event has %s', async (_, data) => {
    const paymentId = randomUUID();
    await hold(`payment-${paymentId}`, 'payments');
    const open = { transfer: 'payment', count: 1, paymentId };
    for (const party of [partyOf(randomUUID()), contact()])
      expect(await openWith(party, `payment-${paymentId}`, data)).toEqual(open);
  });

  it('is open for every party when it has no event', async () => {
    const paymentId = randomUUID();
    await hold(`payment-${paymentId}`, 'payments');
    const transfers = new PartyTransfers(world.pool, world.store);
    for (const party of [partyOf(randomUUID()), contact()])
      expect(await transfers.open(party)).toMatchObject({ count: 1, paymentId });
  });

  it('is open for its own parties only when its first event names them', async () => {
    const [streamId, originatorId] = [`payment-${randomUUID()}`, randomUUID()];
    await hold(streamId, 'payments');
    const saved = { originatorId, contactId };
    const unsaved = { originatorId, contactId: null, link: { counterpartyId: contactId } };
    for (const data of [saved, unsaved]) {
      for (const party of [partyOf(originatorId), contact()])
        expect(await openWith(party, streamId, data)).toMatchObject({ count: 1 });
      for (const party of [partyOf(randomUUID()), { ...contact(), id: randomUUID() }])
        expect(await openWith(party, streamId, data)).toBeNull();
    }
  });

  it('of a collection is open for originators, and no contact waits for it', async () => {
    const collectionId = randomUUID();
    await hold(`collection-${collectionId}`, 'fees');
    const open = { transfer: 'collection', count: 1, paymentId: collectionId };
    const streamId = `collection-${collectionId}`;
    expect(await openWith(partyOf(randomUUID()), streamId, {})).toEqual(open);
    expect(await openWith(contact(), streamId, {})).toBeNull();
  });
});

it('nothing of a contact waits for the list of fees', async () => {
  await due();
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 4);
  const { store } = world;
  const runner = new ProjectionRunner({ projection: paymentsProjection, store, pool });
  try {
    runner.start();
    const end = await store.lastPosition();
    expect(await runner.waitFor(end, 60_000)).toBe(true);
    const transfers = new PartyTransfers(pool, store);
    await world.round();
    const position = await store.lastPosition();
    expect(await transfers.haveReached(position, 'contact')).toBe(true);
    expect(await transfers.haveReached(position, 'originator')).toBe(false);
  } finally {
    await runner.stop();
    await pool.end();
    await database.drop();
  }
});
