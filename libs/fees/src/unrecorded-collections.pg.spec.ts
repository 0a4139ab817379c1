/** What ACH knows of collections when the log was restored from an older backup. */
import { railReferenceOf } from '@pis/bank-rails';
import { settlementPartyId } from '@pis/domain';
import { memoryEventStore, systemContext } from '@pis/event-store';
import { collectionIdOf, feePeriodIdOf, nextAttemptOf } from './fee-ids.js';
import { reopenFeePeriod } from './index.js';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';
import { type UnrecordedCollection, unrecordedCollections } from './unrecorded-collections.js';

const october = { year: 2026, month: 10 };
const fees = { discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 };
let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld();
});
afterEach(() => world?.close());

async function found(store = world.store): Promise<readonly UnrecordedCollection[]> {
  const all = [];
  for await (const one of unrecordedCollections({ pool: world.pool, store })) all.push(one);
  return all;
}

/** As the rail wrote it. */
const filed = (collectionId: string, originatorId: string, status = 'accepted') =>
  world.pool.query(
    `INSERT INTO ach_entries (reference, bank, status, payment_id, organization_id, originator_id,
        contact_id, direction, amount_minor, submitted_at, trace_number)
      VALUES ($5, 'first', $2, $1, $3, $3, $4, 'INBOUND', 362, '2026-11-05T12:00:00Z', '111000020000001')`,
    [collectionId, status, settlementPartyId, originatorId, railReferenceOf(collectionId)],
  );

/** An originator whose month has ended and is not closed. */
async function withFees(): Promise<string> {
  const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
  await world.pay({ originatorId, fees, completedAt: '2026-10-15T12:00:00.000Z' });
  world.setNow('2026-11-03T12:00:00.000Z');
  return originatorId;
}

it('lists one whose month cannot be read with the reason', async () => {
  const { originatorId, collectionId } = await collected();
  await filed(collectionId, originatorId);
  const feePeriodId = feePeriodIdOf(originatorId, october);
  const failingWith = (error: Error) => ({
    ...memoryEventStore(),
    readStream: (streamId: string) =>
      streamId === `feePeriod-${feePeriodId}` ? Promise.reject(error) : Promise.resolve([]),
  });
  expect(await found(failingWith(new Error('unknown type of event')))).toMatchObject([
    {
      collectionId,
      period: { feePeriodId, status: null, unreadable: 'unknown type of event' },
    },
  ]);
  const away = Object.assign(new Error('away'), { isUnavailable: true });
  await expect(found(failingWith(away))).rejects.toBe(away);
});

async function collected(): Promise<{ originatorId: string; collectionId: string }> {
  const originatorId = await withFees();
  await world.round();
  const period = await world.periodOf(originatorId, october);
  return { originatorId, collectionId: period?.collections[0]?.collectionId ?? '' };
}

it('lists none that the log has', async () => {
  const { originatorId, collectionId } = await collected();
  await filed(collectionId, originatorId);
  expect(await found()).toEqual([]);
});

it('lists those that the log lacks, with the month, the attempt and what the log has of the month', async () => {
  const { originatorId, collectionId } = await collected();
  await filed(collectionId, originatorId);
  const feePeriodId = feePeriodIdOf(originatorId, october);
  const entry = {
    ...{ originatorId, collectionId, connection: 'first', status: 'accepted', amountMinor: 362 },
    ...{ traceNumber: '111000020000001', returnReasonCode: null },
  };
  const period = { ...october, feePeriodId, attempt: 1 };
  expect(await found(memoryEventStore())).toMatchObject([
    { ...entry, period: { ...period, status: null } },
  ]);
  // The month is closed, and its second attempt is unknown.
  const second = '8d6a8e6c-0d4b-5b36-8f5f-2f6f54f0f6c1';
  await world.pool.query('UPDATE ach_entries SET payment_id = $1', [second]);
  expect(await found()).toMatchObject([{ collectionId: second, period: null }]);
  const state = await world.periodOf(originatorId, october);
  if (state === null) throw new Error('the month is not closed');
  await world.pool.query('UPDATE ach_entries SET payment_id = $1', [
    collectionIdOf(feePeriodId, nextAttemptOf(state)),
  ]);
  expect(await found()).toMatchObject([
    { period: { ...period, attempt: 2, status: 'COLLECTING' } },
  ]);
});

it('lists no entries that moved nothing, and none of payments', async () => {
  const { originatorId, collectionId } = await collected();
  for (const status of ['voided', 'rejected']) {
    await filed(collectionId, originatorId, status);
    expect(await found(memoryEventStore())).toEqual([]);
    await world.pool.query('DELETE FROM ach_entries');
  }
  await filed(collectionId, originatorId);
  await world.pool.query('UPDATE ach_entries SET organization_id = $1', [originatorId]);
  expect(await found(memoryEventStore())).toEqual([]);
});

it('lists each of many once, also when the bank rejects some of them meanwhile', async () => {
  const count = 250;
  const originatorIds = [
    '00000000-0000-4000-8000-000000000001',
    '00000000-0000-4000-8000-000000000002',
  ];
  for (const [index, originatorId] of originatorIds.entries())
    await world.pool.query(
      `INSERT INTO ach_entries (reference, bank, status, payment_id, organization_id, originator_id, contact_id,
          direction, amount_minor, submitted_at)
        SELECT 'r' || n, 'first', 'accepted', $1, $2, $2, $3, 'INBOUND', n,
          timestamptz '2026-11-05T12:00:00Z' + (n % 3) * interval '1 millisecond'
        FROM generate_series(1, $4::int) AS n WHERE n % 2 = $5`,
      [
        ...[collectionIdOf(feePeriodIdOf(originatorId, october), 1), settlementPartyId],
        ...[originatorId, count, index],
      ],
    );
  const amounts: number[] = [];
  for await (const { amountMinor } of unrecordedCollections({
    pool: world.pool,
    store: memoryEventStore(),
  })) {
    amounts.push(amountMinor);
    // Those that were listed: the rest must not move up in their place.
    if (amounts.length === 100)
      await world.pool.query(
        `UPDATE ach_entries SET status = 'rejected' WHERE amount_minor = ANY($1::bigint[])`,
        [amounts],
      );
  }
  expect(amounts.toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: count }, (_, index) => index + 1),
  );
});

describe('a later attempt of a month that the log lacks', () => {
  const attempt = (originatorId: string, number: number) =>
    collectionIdOf(feePeriodIdOf(originatorId, october), number);
  const startedOf = async (originatorId: string) =>
    (await world.periodOf(originatorId, october))?.collections.map((one) => one.collectionId);

  it.each(['waiting', 'filed', 'accepted'])(
    'is the one that collects the month if it is %s, and the next one comes after it',
    async (status) => {
      const originatorId = await withFees();
      await filed(attempt(originatorId, 1), originatorId, 'returned');
      const second = attempt(originatorId, 2);
      await filed(second, originatorId, status);
      await filed(attempt(originatorId, 3), originatorId, 'voided');
      await world.round();
      expect(await startedOf(originatorId)).toEqual([second]);
      expect(await world.streams('collection')).toEqual([`collection-${second}`]);
      expect(await found()).toMatchObject([{ status: 'returned' }]);
      await world.settle(second, 'return', 'R01');
      await world.round();
      world.setNow('2026-11-07T12:00:00.000Z');
      await world.round();
      expect(await startedOf(originatorId)).toEqual([second, attempt(originatorId, 3)]);
    },
  );

  it.each(['returned', 'rejected', 'voided'])(
    'is not taken up if it is %s, because no money is kept by it',
    async (status) => {
      const originatorId = await withFees();
      await filed(attempt(originatorId, 2), originatorId, status);
      await world.round();
      expect(await startedOf(originatorId)).toEqual([attempt(originatorId, 1)]);
    },
  );

  it('of another originator or month is not taken up', async () => {
    const originatorId = await withFees();
    const other = await world.newOriginator();
    await filed(attempt(other, 2), other);
    const september = feePeriodIdOf(originatorId, { year: 2026, month: 9 });
    await filed(collectionIdOf(september, 2), originatorId);
    await world.round();
    expect(await startedOf(originatorId)).toEqual([attempt(originatorId, 1)]);
  });
});

describe('a collection of a month that is free now, because its payments count later', () => {
  const september = { year: 2026, month: 9 };
  const first = (originatorId: string) => collectionIdOf(feePeriodIdOf(originatorId, september), 1);
  const statusOf = async (originatorId: string, month = october) =>
    (await world.periodOf(originatorId, month))?.status;
  /** September has no fees, October has. */
  const withFreeMonth = async () => {
    const originatorId = await world.newOriginator('2026-09-02T12:00:00.000Z');
    await world.pay({ originatorId, fees, completedAt: '2026-10-15T12:00:00.000Z' });
    world.setNow('2026-11-03T12:00:00.000Z');
    return originatorId;
  };

  it('holds up the month after it until staff vouch for it, and no later one', async () => {
    const originatorId = await withFreeMonth();
    await filed(first(originatorId), originatorId);
    await world.round();
    expect(await statusOf(originatorId, september)).toBe('FREE');
    expect(await world.periodOf(originatorId, october)).toMatchObject({
      ...{ status: 'GIVEN_UP', givenUp: 'SENT_BEFORE', collections: [] },
    });
    const reasons = [expect.stringContaining('of 2026-09 as accepted, over 362 cents') as string];
    expect(world.givenUp).toMatchObject([{ originatorId, cause: 'SENT_BEFORE', reasons }]);
    const feePeriodId = feePeriodIdOf(originatorId, october);
    const reopen = (isNotDebited: boolean) =>
      reopenFeePeriod(
        { store: world.store, by: systemContext('test') },
        { feePeriodId, isNotDebited },
        new Date('2026-11-04T12:00:00.000Z'),
      );
    expect(await reopen(false)).toEqual({ refused: 'COLLECTION_SENT_BEFORE' });
    await reopen(true);
    await world.round();
    expect(await statusOf(originatorId)).toBe('COLLECTING');
    await world.pay({ originatorId, fees, completedAt: '2026-11-15T12:00:00.000Z' });
    world.setNow('2026-12-03T12:00:00.000Z');
    await world.round();
    expect(await statusOf(originatorId, { year: 2026, month: 11 })).toBe('COLLECTING');
  });

  it('holds up nothing if it was returned', async () => {
    const originatorId = await withFreeMonth();
    await filed(first(originatorId), originatorId, 'returned');
    await world.round();
    expect(await statusOf(originatorId)).toBe('COLLECTING');
  });
});
