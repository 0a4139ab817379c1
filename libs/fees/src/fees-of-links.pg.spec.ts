/** What the payer of a link pays on top of the amount is the originator's: the service collects it like any fee. */
import { jest } from '@jest/globals';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';

jest.setTimeout(240_000);

let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld();
});
afterEach(() => world?.close());

const october = { year: 2026, month: 10 };
const inOctober = '2026-10-15T12:00:00.000Z';
const inNovember = '2026-11-03T12:00:00.000Z';
const fees = { discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 };

it('the fees of a linked payment are debited once from the originator though its payer paid them on top', async () => {
  const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
  await world.pay({ originatorId, fees, isLinked: true, completedAt: inOctober });
  world.setNow(inNovember);
  await world.round();
  await world.round();
  expect(await world.periodOf(originatorId, october)).toMatchObject({
    ...{ discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 0, paymentsCompleted: 1 },
  });
  const collectionId =
    (await world.periodOf(originatorId, october))?.collections.at(-1)?.collectionId ?? '';
  const collection = await world.collectionState(collectionId);
  expect(collection).toMatchObject({ amountMinor: 362, originatorId });
  await world.settle(collectionId, 'complete');
  world.setNow('2026-12-02T12:00:00.000Z');
  await world.round();
  expect(await world.streams('collection')).toHaveLength(1);
});
