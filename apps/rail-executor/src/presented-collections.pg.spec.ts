/** Collections that are presented again: the bank may get them within 180 days of the first one. */
import { randomUUID } from 'node:crypto';
import { collection, collectionDetails } from '@pis/domain';
import { bankAccountExample, originatorParty } from '@pis/domain/testing';
import { repository, systemContext } from '@pis/event-store';
import { openWorld, settle, type World } from './testing/world.js';

const dayMs = 86_400_000;
const [returned, again] = [randomUUID(), randomUUID()];
let world: World;
beforeEach(async () => {
  world = await openWorld({ owner: 'collection', reinitiates: again });
});
afterEach(() => world.close());

/** An earlier collection of the same fees. */
async function presented(collectionId: string, daysAgo: number, reinitiates: string | null) {
  const data = collectionDetails({
    ...{ collectionId, organizationId: randomUUID(), amountMinor: 12_345, note: 'Fees 2026-10' },
    settlement: { name: 'Operator Inc', bankAccount: bankAccountExample() },
    originator: originatorParty,
    reinitiates,
  });
  const at = new Date(Date.now() - daysAgo * dayMs).toISOString();
  const command = { type: 'QueuePayment', at, data } as const;
  await repository(world.store, collection).create(collectionId, command, systemContext('test'));
}

async function outcome() {
  const { paymentId, value, delivery } = await world.queue('4321');
  const executor = world.executor();
  await executor.handle(value, delivery);
  await settle(executor);
  return { history: await world.history(paymentId), executions: await world.executions() };
}

it('one whose first entry is older is not sent, and fails', async () => {
  await presented(returned, 181, null);
  await presented(again, 20, returned);
  expect(await outcome()).toEqual({ history: ['Queued', 'Failed'], executions: 0 });
});

it('one whose first entry is younger is sent', async () => {
  await presented(returned, 179, null);
  await presented(again, 20, returned);
  expect(await outcome()).toEqual({
    history: ['Queued', 'Processing', 'Completed'],
    executions: 1,
  });
});

it('one whose first entry a restored log lacks is sent', async () => {
  expect(await outcome()).toEqual({
    history: ['Queued', 'Processing', 'Completed'],
    executions: 1,
  });
});
