/** What the erasure of an originator knows of the collections from it. */
import { jest } from '@jest/globals';
import { collection as collections, type PaymentCommand } from '@pis/domain';
import { type EventStore, repository, systemContext } from '@pis/event-store';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { PartyTransfers, paymentsProjection, ProjectionRunner } from '@pis/read-models';
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
