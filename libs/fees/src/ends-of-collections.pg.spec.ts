/** However a collection ends, its period ends or is collected again, and staff are told of what the log says. */
import { jest } from '@jest/globals';
import { railReferenceOf } from '@pis/bank-rails';
import { readPauses, resumeConnection } from '@pis/bank-rails/connections';
import {
  collection as collections,
  collectionSentBefore,
  feePeriod as feePeriods,
  operatorNotice,
  type PaymentCommand,
} from '@pis/domain';
import { type EventStore, repository, systemContext } from '@pis/event-store';
import { countFeePeriods, rebuildProjection } from '@pis/read-models';
import { reopenFeePeriod } from './index.js';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';

jest.setTimeout(240_000);

let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld();
});
afterEach(() => world?.close());

const by = systemContext('test');
const october = { year: 2026, month: 10 };
const fees = { discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 };
const at = '2026-11-03T12:00:00.000Z';

/** An originator with one payment that was completed in October. */
async function withFees(): Promise<string> {
  const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
  await world.pay({ originatorId, fees, completedAt: '2026-10-15T12:00:00.000Z' });
  world.setNow(at);
  return originatorId;
}

async function collecting(): Promise<string> {
  const originatorId = await withFees();
  await world.round();
  return originatorId;
}

async function periodOf(originatorId: string) {
  const period = await world.periodOf(originatorId, october);
  if (period === null) throw new Error('there is no period');
  return period;
}

async function take(originatorId: string, ...commands: readonly PaymentCommand[]): Promise<void> {
  const collectionId = (await periodOf(originatorId)).collections.at(-1)?.collectionId ?? '';
  for (const command of commands) {
    const done = await repository(world.store, collections).execute(collectionId, command, by);
    if ('refused' in done) throw new Error(done.refused);
  }
}

async function notice(originatorId: string, suffix = '') {
  const { feePeriodId } = await periodOf(originatorId);
  const id = `feesNotCollected-${feePeriodId}${suffix}`;
  return (await repository(world.store, operatorNotice).load(id)).state;
}

const claim: PaymentCommand = { type: 'ProcessPayment', at, data: { railReference: 'r' } };
const fail: PaymentCommand = {
  type: 'FailPayment',
  at,
  data: { failureCode: 'INTERNAL_ERROR', failureMessage: 'x', failureReason: 'x' },
};
const inFlight: readonly PaymentCommand[] = [
  claim,
  { type: 'FailPaymentInFlight', at, data: { failureReason: 'x' } },
];
const rejectLate: PaymentCommand = {
  type: 'RejectPaymentLate',
  at,
  data: {
    ...{ failureCode: 'INTERNAL_ERROR', field: null, message: 'x', reason: 'x', railCode: 'R03' },
  },
};
const complete: PaymentCommand = { type: 'CompletePayment', at, data: {} };

describe('a collection in flight', () => {
  it('that the bank settles late is collected', async () => {
    const originatorId = await collecting();
    await take(originatorId, ...inFlight);
    await world.round();
    expect(await periodOf(originatorId)).toHaveProperty('status', 'COLLECTING');
    await take(originatorId, complete);
    await world.round();
    expect(await periodOf(originatorId)).toHaveProperty('status', 'COLLECTED');
  });

  it('that the bank rejects late ends its period, and is collected if it is settled after all', async () => {
    const originatorId = await collecting();
    await take(originatorId, ...inFlight, rejectLate);
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({
      ...{ status: 'GIVEN_UP', givenUp: 'NOT_SENT', isTold: true },
    });
    expect(await notice(originatorId)).toMatchObject({ subject: { cause: 'NOT_SENT' } });
    await take(originatorId, complete);
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({ status: 'COLLECTED', givenUp: null });
  });
});

it('a collection that was sent before the log was restored has a cause of its own, and is collected again only when staff vouch for it', async () => {
  const originatorId = await collecting();
  const reasons = ['as filed: over 500 cents, here 362'];
  const data = { rules: [collectionSentBefore], reasons };
  await take(originatorId, { type: 'BlockPayment', at, data });
  await world.round();
  const { feePeriodId, givenUp } = await periodOf(originatorId);
  expect(givenUp).toBe('SENT_BEFORE');
  expect(await notice(originatorId)).toMatchObject({ subject: { cause: 'SENT_BEFORE', reasons } });
  expect(world.givenUp).toMatchObject([{ cause: 'SENT_BEFORE', reasons, amountMinor: 362 }]);
  const reopen = (isNotDebited: boolean) =>
    reopenFeePeriod({ store: world.store, by }, { feePeriodId, isNotDebited }, new Date(at));
  expect(await reopen(false)).toEqual({ refused: 'COLLECTION_SENT_BEFORE' });
  await world.round();
  expect(await world.streams('collection')).toHaveLength(1);
  expect(await reopen(true)).toHaveProperty('status', 'DUE');
  await world.round();
  expect(await world.streams('collection')).toHaveLength(2);
});

it('a collection that the review has blocked is no such one', async () => {
  const originatorId = await collecting();
  await take(originatorId, { type: 'BlockPayment', at, data: { rules: ['OTHER'] } });
  await world.round();
  expect(await periodOf(originatorId)).toHaveProperty('givenUp', 'NOT_SENT');
});

/** A period whose first collection the bank has rejected late, and which staff have reopened. */
async function reopened(): Promise<{ readonly originatorId: string; readonly first: string }> {
  const originatorId = await collecting();
  await take(originatorId, ...inFlight, rejectLate);
  await world.round();
  const { feePeriodId, collections: started } = await periodOf(originatorId);
  await reopenFeePeriod({ store: world.store, by }, { feePeriodId }, new Date(at));
  return { originatorId, first: started[0]?.collectionId ?? '' };
}

const settle = (collectionId: string) =>
  repository(world.store, collections).execute(collectionId, complete, by);

async function lastOf(originatorId: string) {
  const collectionId = (await periodOf(originatorId)).collections.at(-1)?.collectionId ?? '';
  return { collectionId, state: await world.collectionState(collectionId) };
}

describe('a rejected collection that the bank settles after its period was reopened', () => {
  it('is what collects the fees: no other one starts', async () => {
    const { originatorId, first } = await reopened();
    await settle(first);
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({ status: 'COLLECTED', collectedBy: first });
    expect(await world.streams('collection')).toHaveLength(1);
  });

  it('withdraws the new one that was not sent', async () => {
    const { originatorId, first } = await reopened();
    await world.round();
    const { collectionId } = await lastOf(originatorId);
    await settle(first);
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({
      ...{ status: 'COLLECTED', collectedBy: first },
      collections: [{ collectionId: first }, { collectionId, isUnsent: true }],
    });
    const { state } = await lastOf(originatorId);
    expect(state).toMatchObject({ status: 'FAILED', railReference: null });
    expect(world.debitedTwice).toEqual([]);
    // It is followed like any other.
    const returned = { type: 'ReturnPayment', at, data: { returnReasonCode: 'R10' } } as const;
    await repository(world.store, collections).execute(first, returned, by);
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({
      ...{ status: 'GIVEN_UP', givenUp: 'RETURNED', returnReasonCode: 'R10' },
    });
  });

  it('does not withdraw the new one before the connections of a restored database were compared', async () => {
    const { originatorId, first } = await reopened();
    await world.round();
    await readPauses(world.pool, ['files']);
    await world.pool.query("UPDATE rail_connections SET identity = 'lost'");
    await settle(first);
    await world.round();
    expect((await lastOf(originatorId)).state).toHaveProperty('status', 'QUEUED');
    await resumeConnection(world.pool, 'files');
    await world.round();
    expect((await lastOf(originatorId)).state).toHaveProperty('status', 'FAILED');
  });

  it('does not withdraw the new one while ACH has a record of it that a restored log lacks', async () => {
    const { originatorId, first } = await reopened();
    await world.round();
    const { collectionId } = await lastOf(originatorId);
    await world.pool.query(
      `INSERT INTO ach_entries (reference, bank, status, amount_minor, submitted_at)
       VALUES ($1, 'files', 'filed', 362, now())`,
      [railReferenceOf(collectionId)],
    );
    await settle(first);
    await world.round();
    expect((await lastOf(originatorId)).state).toHaveProperty('status', 'QUEUED');
  });

  it('keeps a new one that was started from being sent', async () => {
    const { originatorId, first } = await reopened();
    await world.caughtUp();
    const dying = world.collector({ on: dyingAt('collection', 'before'), environment: 'sandbox' });
    await dying.round(new AbortController().signal);
    expect(await periodOf(originatorId)).toHaveProperty('status', 'COLLECTING');
    expect((await lastOf(originatorId)).state).toBeNull();
    await settle(first);
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({ status: 'COLLECTED', collectedBy: first });
    const { collectionId } = await lastOf(originatorId);
    const events = await world.store.readStream(`collection-${collectionId}`);
    expect(events.map(({ type }) => type)).toEqual(['PaymentQueued', 'PaymentFailed']);
  });

  it('is told to staff once, with both references, when the new one was sent', async () => {
    const { originatorId, first } = await reopened();
    await world.round();
    const { collectionId } = await lastOf(originatorId);
    await take(originatorId, { ...claim, data: { railReference: 'r2' } });
    await settle(first);
    await world.round();
    await take(originatorId, complete);
    await world.round();
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({
      ...{ status: 'COLLECTED', collectedBy: collectionId, debitedTwice: [first] },
    });
    const both = [
      { collectionId: first, railReference: 'r' },
      { collectionId, railReference: 'r2' },
    ];
    expect(world.debitedTwice).toMatchObject([{ originatorId, collections: both }]);
    const id = `feesDebitedTwice-${first}`;
    expect((await repository(world.store, operatorNotice).load(id)).state).toMatchObject({
      ...{ notice: 'fees debited twice', subject: { amountMinor: 362, collections: both } },
    });
    expect(await countFeePeriods(world.pool, new Date(at))).toMatchObject({ debitedTwice: 1 });
    // One of the two is returned: the other one counts, and nothing is debited again.
    await take(originatorId, { type: 'ReturnPayment', at, data: { returnReasonCode: 'R01' } });
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({ status: 'COLLECTED', collectedBy: first });
    expect(await world.streams('collection')).toHaveLength(2);
  });

  it('is found also if the list has the row of an earlier release', async () => {
    const { originatorId, first } = await reopened();
    await world.round();
    await take(originatorId, claim);
    await world.caughtUp();
    await world.pool.query('UPDATE fee_collections SET was_in_flight = false');
    await settle(first);
    await world.round();
    expect(await periodOf(originatorId)).toHaveProperty('debitedTwice', [first]);
  });

  it('is told to staff also when the new one was collected before', async () => {
    const { originatorId, first } = await reopened();
    await world.round();
    await take(originatorId, claim, complete);
    await world.round();
    const { collectionId } = await lastOf(originatorId);
    await settle(first);
    await world.round();
    expect(world.debitedTwice).toMatchObject([
      { collections: [{ collectionId: first }, { collectionId }] },
    ]);
    expect(await periodOf(originatorId)).toMatchObject({ collectedBy: collectionId });
  });

  it('collects the fees after the new one has failed, too, and they are not collected again', async () => {
    const { originatorId, first } = await reopened();
    await world.round();
    await take(originatorId, claim, fail);
    await world.round();
    const { feePeriodId, status } = await periodOf(originatorId);
    expect(status).toBe('GIVEN_UP');
    await settle(first);
    expect(
      await reopenFeePeriod({ store: world.store, by }, { feePeriodId }, new Date(at)),
    ).toEqual({
      refused: 'COLLECTION_SETTLED',
    });
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({ status: 'COLLECTED', collectedBy: first });
  });
});

it('a collection that failed before it was sent is started again by policy', async () => {
  const originatorId = await collecting();
  await take(originatorId, fail);
  await world.round();
  expect(await periodOf(originatorId)).toMatchObject({
    ...{ status: 'RETRYING', nextAttemptAt: '2026-11-04T12:00:00.000Z' },
  });
  expect(await notice(originatorId)).toBeNull();
  world.setNow('2026-11-04T12:00:00.000Z');
  await world.round();
  await take(originatorId, claim, complete);
  await world.round();
  const period = await periodOf(originatorId);
  expect(period).toMatchObject({ status: 'COLLECTED' });
  expect(period.collections).toHaveLength(2);
});

/** Dies before an append to streams of a category, or after it was written. */
function dyingAt(category: string, when: 'before' | 'after'): EventStore {
  return {
    ...world.store,
    append: async (streamId, ...rest) => {
      const isTheOne = streamId.startsWith(`${category}-`);
      if (isTheOne && when === 'before') throw new Error('died');
      const done = await world.store.append(streamId, ...rest);
      if (isTheOne) throw new Error('died');
      return done;
    },
  };
}

it.each([
  ['feePeriod', 'before', 'COLLECTING'],
  ['feePeriod', 'after', 'GIVEN_UP'],
  ['operatorNotice', 'before', 'GIVEN_UP'],
  ['operatorNotice', 'after', 'GIVEN_UP'],
] as const)(
  'staff are told once of what the log says when the collector dies at the stream %s, %s the append',
  async (category, when, status) => {
    const originatorId = await collecting();
    await take(originatorId, claim, fail);
    await world.caughtUp();
    const dying = world.collector({ on: dyingAt(category, when), environment: 'sandbox' });
    await dying.round(new AbortController().signal);
    expect(world.failures).toHaveLength(1);
    const isTold = (await notice(originatorId)) !== null;
    expect(isTold).toBe(category === 'operatorNotice' && when === 'after');
    expect(await periodOf(originatorId)).toMatchObject({ status, isTold: false });
    await world.round();
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({ status: 'GIVEN_UP', isTold: true });
    expect(await notice(originatorId)).not.toBeNull();
    expect(await world.streams('operatorNotice')).toHaveLength(1);
  },
);

it('a period that staff reopen is collected again, once however often they ask', async () => {
  const originatorId = await collecting();
  await take(originatorId, claim, fail);
  await world.round();
  const { feePeriodId } = await periodOf(originatorId);
  const again = () => reopenFeePeriod({ store: world.store, by }, { feePeriodId }, new Date(at));
  const reopened = await Promise.all([again(), again(), again()]);
  for (const period of reopened) expect(period).toMatchObject({ status: 'DUE' });
  await world.round();
  expect(await again()).toMatchObject({ status: 'COLLECTING' });
  await take(originatorId, claim, fail);
  await world.round();
  expect(await periodOf(originatorId)).toMatchObject({ status: 'GIVEN_UP', timesGivenUp: 2 });
  expect((await periodOf(originatorId)).collections).toHaveLength(2);
  expect(await notice(originatorId, '-2')).not.toBeNull();
  const events = await world.store.readStream(`feePeriod-${feePeriodId}`);
  expect(events.filter(({ type }) => type === 'FeePeriodReopened')).toHaveLength(1);
  expect(
    await reopenFeePeriod(
      { store: world.store, by },
      { feePeriodId: world.organizationId },
      new Date(at),
    ),
  ).toEqual({
    refused: 'FEE_PERIOD_NOT_FOUND',
  });
});

it('months that ended before the settlement account was set stay due, and are collected to it', async () => {
  const originatorId = await withFees();
  world.setNow('2027-03-03T12:00:00.000Z');
  expect(await world.round('production')).toMatchObject({ settlementAccountMissing: true });
  // As a sandbox has made it up on this log.
  await world.setSettlementAccount('SANDBOX OPERATOR', '1000000001');
  expect(await world.round('production')).toMatchObject({ settlementAccountMissing: true });
  expect(await periodOf(originatorId)).toHaveProperty('status', 'DUE');
  expect(await world.streams('collection')).toEqual([]);
  await world.setSettlementAccount('PAYSERVICE INC', '1234567890');
  await world.round('production');
  const period = await periodOf(originatorId);
  expect(period).toHaveProperty('status', 'COLLECTING');
  const collection = await world.collectionState(period.collections[0]?.collectionId ?? '');
  expect(collection).toMatchObject({
    ...{ amountMinor: 362, originator: { companyName: 'PAYSERVICE INC' } },
  });
});

describe('on a log that was restored from an older backup', () => {
  it('nothing is closed or collected by lists that are ahead of it', async () => {
    const originatorId = await withFees();
    await world.caughtUp();
    // The backup has everything but the last events, which the lists know.
    const events = await world.store.readStream(`originator-${originatorId}`);
    expect(events).toHaveLength(1);
    const on: EventStore = {
      ...world.store,
      readStream: async (streamId, options) =>
        streamId.startsWith('payment-') ? [] : world.store.readStream(streamId, options),
    };
    const collector = world.collector({ on, environment: 'sandbox' });
    const signal = new AbortController().signal;
    await expect(collector.round(signal)).rejects.toThrow('events that the log does not have');
    await expect(collector.collectMonth(october, null)).rejects.toThrow('does not have');
    expect(await world.streams('feePeriod')).toEqual([]);
  });

  it('a month is closed again although the table says that it was closed', async () => {
    const originatorId = await withFees();
    await world.caughtUp();
    await world.pool.query(
      `INSERT INTO fee_months (organization_id, year, month, position, event_id, stream_id, revision)
       VALUES ($1, 2026, 10, '9', gen_random_uuid(), $2, 7)`,
      [world.organizationId, `feePeriod-${originatorId}`],
    );
    await rebuildProjection('fees', { store: world.store, pool: world.pool });
    await world.round();
    expect(await periodOf(originatorId)).toHaveProperty('status', 'COLLECTING');
    expect(await world.round()).toMatchObject({ periodsClosed: 0 });
    const { rows } = await world.pool.query('SELECT year, month, revision FROM fee_months');
    expect(rows).toMatchObject([{ year: 2026, month: 10 }]);
    expect(await repository(world.store, feePeriods).load(originatorId)).toHaveProperty(
      'state',
      null,
    );
  });
});
