/** What cannot be closed or collected, and is reported in each round until it can be. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { BankAccount } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { feePeriodIdOf } from './fee-ids.js';
import { feeWorld, type FeeWorld } from './testing/fee-world.js';

jest.setTimeout(240_000);

let world: FeeWorld;
beforeEach(async () => {
  world = await feeWorld();
});
afterEach(() => world?.close());

const october = { year: 2026, month: 10 };
const fees = { discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 };

/** An originator with one payment that was completed in October, which has ended. */
async function withFees(): Promise<string> {
  const originatorId = await world.newOriginator('2026-10-02T12:00:00.000Z');
  await world.pay({ originatorId, fees, completedAt: '2026-10-15T12:00:00.000Z' });
  world.setNow('2026-11-03T12:00:00.000Z');
  return originatorId;
}

it('fees of an organization that the lists lack, while those of others are collected', async () => {
  const originatorId = await withFees();
  await world.caughtUp();
  const streamId = `organization-${randomUUID()}`;
  // Handed over at a position that is never reached, so that the projection does not try the stream again meanwhile.
  await world.pool.query(
    `INSERT INTO quarantined_streams
       (reader, stream_id, from_revision, position, event_id, event_type, reason, released_to)
     VALUES ('projection:directory', $1, 0, '1', gen_random_uuid(), 'x', 'x', '~')`,
    [streamId],
  );
  const failure = { message: `${streamId} is in quarantine` };
  await world.round();
  expect(world.failures).toMatchObject([failure]);
  expect(await world.periodOf(originatorId, october)).not.toBeNull();
  // Also while nothing else is to be closed.
  await world.round();
  expect(world.failures).toMatchObject([failure, failure]);
  const byHand = world.collector({ environment: 'sandbox' });
  await expect(byHand.collectMonth(october, null)).rejects.toMatchObject(failure);
  expect(await byHand.collectMonth(october, world.organizationId)).toHaveLength(1);
});

it('an organization whose month cannot be closed by hand, while the others are collected', async () => {
  // Its turn comes first.
  const first = await world.newOrganization('00000000-0000-4000-8000-000000000001');
  const damaged = await world.newOriginator('2026-10-02T12:00:00.000Z', first);
  const completedAt = '2026-10-15T12:00:00.000Z';
  await world.pay({ originatorId: damaged, organizationId: first, fees, completedAt });
  const originatorId = await withFees();
  await world.caughtUp();
  const error = new Error('the event cannot be read');
  const on: EventStore = {
    ...world.store,
    append: (streamId, ...rest) =>
      streamId === `feePeriod-${feePeriodIdOf(damaged, october)}`
        ? Promise.reject(error)
        : world.store.append(streamId, ...rest),
  };
  const byHand = world.collector({ on, environment: 'sandbox' });
  await expect(byHand.collectMonth(october, null)).rejects.toBe(error);
  expect(world.failures).toEqual([error]);
  expect(await world.periodOf(originatorId, october)).toMatchObject({ status: 'COLLECTING' });
});

it('a collection that is refused', async () => {
  const originatorId = await withFees();
  const account = (bankAccount: BankAccount | null) =>
    world.change(originatorId, {
      ...{ type: 'UpdateOriginator', at: '2026-11-02T12:00:00.000Z' },
      data: { changes: { bankAccount } },
    });
  await account(null);
  await world.round();
  expect(String(world.failures.at(-1))).toContain('BANK_ACCOUNT_REQUIRED');
  await account(await world.sealed(originatorId, '999988887777'));
  await world.round();
  const period = await world.periodOf(originatorId, october);
  const collectionId = period?.collections[0]?.collectionId ?? '';
  expect(await world.collectionState(collectionId)).toHaveProperty('status', 'QUEUED');
});
