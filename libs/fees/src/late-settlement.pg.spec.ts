/** A collection that the bank rejects late, settles after its period was reopened, and then returns. */
import { jest } from '@jest/globals';
import { collection as collections, type PaymentCommand } from '@pis/domain';
import { repository, systemContext } from '@pis/event-store';
import { reopenFeePeriod } from './index.js';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';

jest.setTimeout(240_000);

let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld();
});
afterEach(() => world?.close());

const by = systemContext('test');
const at = '2026-11-03T12:00:00.000Z';
const afterThreeDays = '2026-11-06T12:00:00.000Z';
const rejectedLate = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: 'x',
  reason: 'x',
  railCode: 'R03',
} as const;

async function take(collectionId: string, ...commands: readonly PaymentCommand[]): Promise<void> {
  for (const command of commands) {
    const done = await repository(world.store, collections).execute(collectionId, command, by);
    if ('refused' in done) throw new Error(done.refused);
  }
}

async function periodOf(originatorId: string) {
  const period = await world.periodOf(originatorId, { year: 2026, month: 10 });
  if (period === null) throw new Error('there is no period');
  return period;
}

const startedOf = async (originatorId: string) =>
  (await periodOf(originatorId)).collections.map(({ collectionId }) => collectionId);

it.each(['R01', 'R09'])(
  'is presented again after %s, as the debit that was settled',
  async (returnReasonCode) => {
    const fees = { discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 };
    const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
    await world.pay({ originatorId, fees, completedAt: '2026-10-15T12:00:00.000Z' });
    world.setNow(at);
    await world.round();
    const [first = ''] = await startedOf(originatorId);
    await take(
      first,
      { type: 'ProcessPayment', at, data: { railReference: 'r' } },
      { type: 'FailPaymentInFlight', at, data: { failureReason: 'x' } },
      { type: 'RejectPaymentLate', at, data: rejectedLate },
    );
    await world.round();
    const { feePeriodId } = await periodOf(originatorId);
    await reopenFeePeriod({ store: world.store, by }, { feePeriodId }, new Date(at));
    await world.round();
    expect(await startedOf(originatorId)).toHaveLength(2);
    await take(first, { type: 'CompletePayment', at, data: {} });
    await world.round();
    await take(first, { type: 'ReturnPayment', at, data: { returnReasonCode } });
    await world.round();
    expect(await periodOf(originatorId)).toMatchObject({
      ...{ status: 'RETRYING', nextAttemptAt: afterThreeDays },
    });
    world.setNow(afterThreeDays);
    await world.round();
    const [, withdrawn = '', last = ''] = await startedOf(originatorId);
    expect(await world.collectionState(withdrawn)).toMatchObject({ status: 'FAILED' });
    expect(await world.collectionState(last)).toMatchObject({
      ...{ status: 'QUEUED', reinitiates: first, amountMinor: 362 },
    });
    expect(await world.streams('collection')).toHaveLength(3);
  },
);
