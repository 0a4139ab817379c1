import { jest } from '@jest/globals';
import { operatorNotice } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { openBankAccount, ownerOf } from '@pis/keyring';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';

jest.setTimeout(240_000);

let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld();
});
afterEach(() => world?.close());

const october = { year: 2026, month: 10 };
const september = { year: 2026, month: 9 };
const november = { year: 2026, month: 11 };
const inOctober = '2026-10-15T12:00:00.000Z';
const inNovember = '2026-11-03T12:00:00.000Z';
const fees = { discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 };

/** An originator with one payment that was completed in October. */
async function withFees() {
  const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
  await world.pay({ originatorId, fees, completedAt: inOctober });
  world.setNow(inNovember);
  return originatorId;
}

async function collectionOf(originatorId: string): Promise<string> {
  const period = await world.periodOf(originatorId, october);
  const collectionId = period?.collections.at(-1)?.collectionId;
  if (collectionId === undefined) throw new Error('there is no collection');
  return collectionId;
}

const notices = async (originatorId: string) => {
  const period = await world.periodOf(originatorId, october);
  const id = `feesNotCollected-${period?.feePeriodId ?? ''}`;
  return (await repository(world.store, operatorNotice).load(id)).state;
};

/** Dies at one append: before it, or after it was written. */
function dyingAt(store: EventStore, append: number, when: 'before' | 'after'): EventStore {
  let appends = 0;
  return new Proxy(store, {
    get(target, name) {
      if (name !== 'append') {
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return async (...given: Parameters<EventStore['append']>) => {
        appends += 1;
        const isTheOne = appends === append;
        if (isTheOne && when === 'before') throw new Error('died');
        const done = await target.append(...given);
        if (isTheOne) throw new Error('died');
        return done;
      };
    },
  });
}

describe('the fees of a month', () => {
  it('are those of payments completed in it, and return fees of payments returned in it', async () => {
    const originatorId = await world.newOriginator();
    const late = await world.pay({
      originatorId,
      fees,
      completedAt: '2026-09-30T12:00:00.000Z',
    });
    await world.pay({ originatorId, fees, completedAt: inOctober });
    await world.pay({ originatorId, fees, completedAt: inOctober, returnedAt: inOctober });
    await world.pay({ originatorId, fees, failedAt: inOctober });
    await world.pay({ originatorId, fees });
    await world.giveBack(late, '2026-10-31T12:00:00.000Z');
    world.setNow(inNovember);
    await world.round();
    expect(await world.periodOf(originatorId, september)).toMatchObject({
      ...{ discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 0 },
      ...{ paymentsCompleted: 1, paymentsReturned: 0 },
    });
    expect(await world.periodOf(originatorId, october)).toMatchObject({
      ...{ discountFeeMinor: 624, flatFeeMinor: 100, returnFeeMinor: 800 },
      ...{ paymentsCompleted: 2, paymentsReturned: 2, status: 'COLLECTING' },
    });
    const collection = await world.collectionState(await collectionOf(originatorId));
    expect(collection).toMatchObject({ amountMinor: 1_524, status: 'QUEUED', originatorId });
    expect(await world.streams('collection')).toHaveLength(2);
  });

  it('without fees are closed without a debit, and missed months are caught up', async () => {
    const originatorId = await world.newOriginator();
    world.setNow(inNovember);
    await world.round();
    for (const month of [8, 9, 10])
      expect(await world.periodOf(originatorId, { year: 2026, month })).toMatchObject({
        status: 'FREE',
        paymentsCompleted: 0,
      });
    expect(await world.periodOf(originatorId, { year: 2026, month: 7 })).toBeNull();
    expect(await world.periodOf(originatorId, { year: 2026, month: 11 })).toBeNull();
    expect(await world.streams('collection')).toEqual([]);
  });

  it('end with the month of the time zone, also after the zone was changed', async () => {
    const originatorId = await world.newOriginator();
    await world.setTimeZone('Asia/Tokyo');
    // In Tokyo it is October already.
    await world.pay({ originatorId, fees, completedAt: '2026-09-30T16:00:00.000Z' });
    world.setNow('2026-10-01T02:00:00.000Z');
    await world.round();
    expect(await world.periodOf(originatorId, september)).toMatchObject({ status: 'FREE' });
    await world.setTimeZone('America/Los_Angeles');
    // Both are in October there, one of them before the end of September there.
    await world.pay({ originatorId, fees, completedAt: '2026-10-31T23:00:00.000Z' });
    world.setNow(inNovember);
    await world.round();
    expect(await world.periodOf(originatorId, october)).toMatchObject({ paymentsCompleted: 2 });
  });

  it('that were recorded after the month was closed count in the next one', async () => {
    const originatorId = await withFees();
    await world.round();
    await world.pay({ originatorId, fees, completedAt: '2026-10-31T12:00:00.000Z' });
    await world.pay({ originatorId, fees, completedAt: '2026-11-04T12:00:00.000Z' });
    world.setNow('2026-12-02T12:00:00.000Z');
    await world.round();
    const november = await world.periodOf(originatorId, { year: 2026, month: 11 });
    expect(november).toMatchObject({ paymentsCompleted: 2, discountFeeMinor: 624 });
  });

  it('are closed while payments go on and the lists are always a little behind', async () => {
    const originatorId = await withFees();
    await world.caughtUp();
    const on: EventStore = {
      ...world.store,
      lastPosition: async () => {
        for (let payments = 0; payments < 20; payments += 1)
          await world.pay({ originatorId, fees, completedAt: inNovember });
        return world.store.lastPosition();
      },
    };
    const signal = new AbortController().signal;
    const done = await world.collector({ on, environment: 'sandbox' }).round(signal);
    expect(world.failures).toEqual([]);
    expect(done).toMatchObject({ periodsClosed: 1 });
    expect(await world.periodOf(originatorId, october)).toMatchObject({ paymentsCompleted: 1 });
  });

  it('of all organizations are closed in one round, and by one command', async () => {
    const originators = [await withFees()];
    for (let organizations = 0; organizations < 2; organizations += 1) {
      const organizationId = await world.newOrganization();
      const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z', organizationId);
      await world.pay({ organizationId, originatorId, fees, completedAt: inOctober });
      originators.push(originatorId);
    }
    expect(await world.round()).toMatchObject({ periodsClosed: 3 });
    expect(world.failures).toEqual([]);
    for (const originatorId of originators)
      expect(await world.periodOf(originatorId, october)).toHaveProperty('status', 'COLLECTING');
    world.setNow('2026-12-03T12:00:00.000Z');
    const november = { year: 2026, month: 11 };
    const byHand = await world.collector({ environment: 'sandbox' }).collectMonth(november, null);
    expect(byHand).toHaveLength(3);
  });

  describe('while a list holds a stream back in quarantine', () => {
    const hold = async (streamId: string, reader = 'movements') => {
      await world.caughtUp();
      // Handed over at a position that is never reached, so that the projection does not try the stream again meanwhile.
      await world.pool.query(
        `INSERT INTO quarantined_streams
           (reader, stream_id, from_revision, position, event_id, event_type, reason, released_to)
         VALUES ($1, $2, 0, '1', gen_random_uuid(), 'x', 'x', '~')`,
        [`projection:${reader}`, streamId],
      );
    };

    it('are closed for everybody but the owner of the stream', async () => {
      const held = await withFees();
      const paymentId = await world.pay({ originatorId: held, fees, completedAt: inOctober });
      const [other, elsewhere] = [await withFees(), await world.newOrganization()];
      const ofElsewhere = await world.newOriginator('2026-10-02T12:00:00.000Z', elsewhere);
      await hold(`payment-${paymentId}`);
      await world.round();
      expect(await world.periodOf(held, october)).toBeNull();
      for (const originatorId of [other, ofElsewhere])
        expect(await world.periodOf(originatorId, october)).not.toBeNull();
      const failure = { message: `payment-${paymentId} is in quarantine` };
      expect(world.failures).toMatchObject([failure]);
      const byHand = world.collector({ environment: 'sandbox' }).collectMonth(october, null);
      await expect(byHand).rejects.toMatchObject({ name: 'FeesUnknown', ...failure });
      expect(await world.round()).toMatchObject({ periodsClosed: 0 });
      // It is closed as soon as the stream is released: its organization does not count as done.
      await world.pool.query('DELETE FROM quarantined_streams');
      await world.round();
      expect(await world.periodOf(held, october)).toMatchObject({ paymentsCompleted: 2 });
    });

    it('wait in one organization for its own stream, and for an originator that its list lacks', async () => {
      const held = await withFees();
      const elsewhere = await world.newOrganization();
      const ofElsewhere = await world.newOriginator('2026-10-02T12:00:00.000Z', elsewhere);
      const lacking = await withFees();
      await hold(`organization-${elsewhere}`, 'directory');
      await hold(`originator-${lacking}`, 'directory');
      await world.round();
      expect(await world.periodOf(ofElsewhere, october)).toBeNull();
      expect(await world.periodOf(lacking, october)).toBeNull();
      expect(await world.periodOf(held, october)).not.toBeNull();
      const { rows } = await world.pool.query('SELECT FROM fee_months');
      expect(rows).toEqual([]);
    });

    it('wait for everybody if nobody can say whose the stream is', async () => {
      const originatorId = await withFees();
      await hold('payment-held');
      await world.round();
      expect(world.failures).toMatchObject([
        {
          message: 'payment-held is in quarantine: nobody can say whose it is, so it holds up all',
        },
      ]);
      expect(await world.periodOf(originatorId, october)).toBeNull();
    });
  });

  it('are not closed before the month has ended, but by hand in the sandbox', async () => {
    const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
    const idle = await world.newOriginator('2026-10-02T12:00:00.000Z');
    await world.pay({ originatorId, fees, completedAt: inOctober });
    world.setNow('2026-10-20T12:00:00.000Z');
    expect(await world.round()).toMatchObject({ periodsClosed: 0 });
    const byHand = (environment: 'sandbox' | 'production', month = october) =>
      world.collector({ environment }).collectMonth(month, null);
    expect(await byHand('production')).toEqual({ refused: 'MONTH_NOT_ENDED' });
    expect(await byHand('sandbox', november)).toEqual({ refused: 'MONTH_NOT_BEGUN' });
    expect(await byHand('sandbox')).toMatchObject([{ originatorId, status: 'COLLECTING' }]);
    expect(await byHand('sandbox')).toMatchObject([{ originatorId, status: 'COLLECTING' }]);
    expect(await world.streams('collection')).toHaveLength(1);
    expect(await world.periodOf(idle, october)).toBeNull();
    // The rest of the month.
    await world.pay({ originatorId, fees, completedAt: '2026-10-25T12:00:00.000Z' });
    world.setNow('2026-12-02T12:00:00.000Z');
    await world.round();
    expect(await world.periodOf(originatorId, november)).toMatchObject({ paymentsCompleted: 1 });
    expect(await world.periodOf(idle, october)).toMatchObject({ status: 'FREE' });
    // Later months are closed by now.
    await world.caughtUp();
    expect(await byHand('sandbox')).toMatchObject([october, october]);
  });

  it('are not collected in production without a settlement account', async () => {
    const originatorId = await withFees();
    await world.caughtUp();
    const refused = { refused: 'SETTLEMENT_ACCOUNT_MISSING' };
    const collector = world.collector({ environment: 'production' });
    expect(await collector.collectMonth(october, null)).toEqual(refused);
    expect(await world.round('production')).toMatchObject({ settlementAccountMissing: true });
    expect(await world.periodOf(originatorId, october)).toMatchObject({ status: 'DUE' });
    expect(await world.streams('collection')).toEqual([]);
  });

  it('that were collected are recorded, although others wait for a settlement account', async () => {
    const collected = await withFees();
    await world.round('sandbox');
    await world.settle(await collectionOf(collected), 'complete');
    for (let originators = 0; originators < 3; originators += 1) {
      const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
      await world.pay({ originatorId, fees, completedAt: '2026-11-15T12:00:00.000Z' });
    }
    world.setNow('2026-12-03T12:00:00.000Z');
    // Production does not collect to the account that the sandbox has made up.
    expect(await world.round('production')).toMatchObject({ settlementAccountMissing: true });
    expect(await world.periodOf(collected, october)).toHaveProperty('status', 'COLLECTED');
    expect(await world.streams('collection')).toHaveLength(1);
  });
});

describe('exactly one collection', () => {
  it.each(['before', 'after'] as const)('if the collector dies %s any append', async (when) => {
    let deaths = 0;
    for (let append = 1; ; append += 1) {
      await world.close();
      world = await feeWorld();
      const originatorId = await withFees();
      await world.caughtUp();
      const on = dyingAt(world.store, append, when);
      const died = await world
        .collector({ on, environment: 'sandbox' })
        .collectMonth(october, null)
        .then(
          () => false,
          () => true,
        );
      await world.round();
      await world.round();
      const period = await world.periodOf(originatorId, october);
      expect(period).toMatchObject({ status: 'COLLECTING', discountFeeMinor: 312 });
      expect(period?.collections).toHaveLength(1);
      expect(await world.streams('collection')).toHaveLength(1);
      if (!died) break;
      deaths += 1;
    }
    // The period, the settlement account, the start and the collection.
    expect(deaths).toBe(4);
  });

  it('if jobs and operators collect at the same time', async () => {
    const originators = [await withFees(), await withFees(), await withFees()];
    await world.caughtUp();
    const one = () => world.collector({ environment: 'sandbox' });
    await Promise.all([
      one().collectMonth(october, null),
      one().round(new AbortController().signal),
      one().collectMonth(october, world.organizationId),
    ]);
    await world.round();
    for (const originatorId of originators)
      expect((await world.periodOf(originatorId, october))?.collections).toHaveLength(1);
    expect(await world.streams('collection')).toHaveLength(3);
    expect(world.failures).toEqual([]);
  });
});

describe('a collection', () => {
  it('debits the account as it is at collection, and becomes collected', async () => {
    const originatorId = await withFees();
    const bankAccount = await world.sealed(originatorId, '999988887777');
    const at = inOctober;
    await world.change(originatorId, {
      type: 'UpdateOriginator',
      at,
      data: { changes: { bankAccount } },
    });
    await world.round();
    const collectionId = await collectionOf(originatorId);
    const debited = (await world.collectionState(collectionId))?.contact?.bankAccount;
    if (!debited) throw new Error('the collection has no account');
    expect(
      await openBankAccount(world.keyring, debited, ownerOf.originator(originatorId)),
    ).toHaveProperty('achAccountNumber', '999988887777');
    await world.settle(collectionId, 'complete');
    await world.round();
    expect(await world.periodOf(originatorId, october)).toHaveProperty('status', 'COLLECTED');
  });

  it('that follows a return is no second presentation if the account is another one', async () => {
    const originatorId = await withFees();
    await world.round();
    await world.settle(await collectionOf(originatorId), 'return');
    await world.round();
    const data = { changes: { bankAccount: await world.sealed(originatorId, '555556789012') } };
    await world.change(originatorId, { type: 'UpdateOriginator', at: inNovember, data });
    world.setNow('2026-11-08T12:00:00.000Z');
    await world.round();
    const state = await world.collectionState(await collectionOf(originatorId));
    expect(state).toMatchObject({ status: 'QUEUED' });
    expect(state).not.toHaveProperty('reinitiates');
  });

  it('that is returned for R01 is tried again after days, and staff are told in the end', async () => {
    const originatorId = await withFees();
    await world.round();
    const returnedOn = async (now: string, again: string) => {
      world.setNow(now);
      const returned = await collectionOf(originatorId);
      await world.settle(returned, 'return');
      await world.round();
      expect(await world.periodOf(originatorId, october)).toHaveProperty('status', 'RETRYING');
      world.setNow(again);
      await world.round();
      expect(await world.periodOf(originatorId, october)).toHaveProperty('status', 'COLLECTING');
      // The bank is told that it presents the same entry again.
      const presented = await world.collectionState(await collectionOf(originatorId));
      expect(presented).toMatchObject({ reinitiates: returned, amountMinor: 362 });
    };
    const first = await world.collectionState(await collectionOf(originatorId));
    expect(first).not.toHaveProperty('reinitiates');
    await returnedOn('2026-11-05T12:00:00.000Z', '2026-11-08T12:00:00.000Z');
    await returnedOn('2026-11-10T12:00:00.000Z', '2026-11-20T12:00:00.000Z');
    expect(await notices(originatorId)).toBeNull();
    await world.settle(await collectionOf(originatorId), 'return');
    await world.round();
    expect(await world.periodOf(originatorId, october)).toMatchObject({
      ...{ status: 'GIVEN_UP', givenUp: 'RETURNED', returnReasonCode: 'R01' },
    });
    expect(await notices(originatorId)).toMatchObject({
      notice: 'fees not collected',
      subject: { originatorId, amountMinor: 362, cause: 'RETURNED' },
    });
    await world.round();
    expect(await world.streams('collection')).toHaveLength(3);
    expect(world.givenUp).toHaveLength(1);
  });

  it('that is returned after it was collected is seen', async () => {
    const originatorId = await withFees();
    await world.round();
    const collectionId = await collectionOf(originatorId);
    await world.settle(collectionId, 'complete');
    await world.round();
    await world.settle(collectionId, 'return', 'R02');
    await world.round();
    expect(await world.periodOf(originatorId, october)).toMatchObject({
      ...{ status: 'GIVEN_UP', returnReasonCode: 'R02' },
    });
  });

  it('that fails is given up', async () => {
    const originatorId = await withFees();
    await world.round();
    await world.settle(await collectionOf(originatorId), 'fail');
    await world.round();
    expect(await world.periodOf(originatorId, october)).toHaveProperty('givenUp', 'NOT_SENT');
    expect(await notices(originatorId)).toMatchObject({ subject: { cause: 'NOT_SENT' } });
  });

  it('waits while an erasure of the originator is checked, and is given up once it is erased', async () => {
    const originatorId = await withFees();
    const requestId = originatorId;
    const erase = (type: 'RequestErasure' | 'ConfirmErasure', data: object) =>
      world.change(originatorId, { type, at: inOctober, data } as never);
    await erase('RequestErasure', { reason: 'x', by: 'x', overridesRetention: true, requestId });
    await world.round();
    expect(await world.periodOf(originatorId, october)).toHaveProperty('status', 'DUE');
    await erase('ConfirmErasure', { requestId });
    await world.keyring.destroy([ownerOf.originator(originatorId)]);
    await world.round();
    expect(await world.periodOf(originatorId, october)).toHaveProperty(
      'givenUp',
      'ORIGINATOR_ERASED',
    );
    expect(await notices(originatorId)).toMatchObject({ subject: { cause: 'ORIGINATOR_ERASED' } });
    expect(await world.streams('collection')).toEqual([]);
  });
});
