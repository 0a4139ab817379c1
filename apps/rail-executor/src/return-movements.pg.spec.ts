/** The money that comes back with a return is a movement of its own, found in the bank's books by its reference. */
import { bankBooks } from '@pis/bank-rails/sandbox';
import {
  type Movement,
  movementPages,
  movementsProjection,
  ProjectionRunner,
} from '@pis/read-models';
import { openWorld, settle, type World } from './testing/world.js';

const caughtUpWithinMs = 30_000;

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

/** The movements of all organizations, as the log has them now. */
async function movements(): Promise<Movement[]> {
  const { store, pool } = world;
  const runner = new ProjectionRunner({ projection: movementsProjection, store, pool });
  runner.start();
  try {
    if (!(await runner.waitFor(await store.lastPosition(), caughtUpWithinMs)))
      throw new Error('the projection has not caught up in time');
  } finally {
    await runner.stop();
  }
  const { rows } = await pool.query<{ organizationId: string }>(
    'SELECT DISTINCT organization_id AS "organizationId" FROM movements',
  );
  const all: Movement[] = [];
  for (const { organizationId } of rows)
    for await (const page of movementPages(pool, { organizationId }, { limit: 100 }))
      all.push(...page);
  return all;
}

it('each return in the books of the bank is one opposite movement with its reference there, however often it is told', async () => {
  const executor = world.executor();
  for (const ending of ['4321', '0101', '0102', '0199', '9029', '0201', '0204', '0401', '0402'])
    for (const direction of ['INBOUND', 'OUTBOUND'] as const) {
      const message = await world.queue(ending, direction);
      await executor.handle(message.value, message.delivery);
    }
  await settle(executor);
  // The bank tells everything again.
  await world.pool.query('DELETE FROM rail_feed_checkpoint');
  await settle(executor);

  const all = await movements();
  const returned = (await bankBooks(world.pool)).filter(({ state }) => state === 'returned');
  expect(returned).toHaveLength(8);
  const back = all.filter(({ kind }) => kind === 'return');
  const inBooks = returned.map(({ reference, amount, direction }) => ({
    reference: `return-${reference}`,
    amountMinor: amount,
    side: direction === 'INBOUND' ? 'debit' : 'credit',
  }));
  const found = back.map(({ reference, amountMinor, side }) => ({ reference, amountMinor, side }));
  expect(new Set(found)).toEqual(new Set(inBooks));
  expect(found).toHaveLength(inBooks.length);
  for (const { paymentId, side } of back)
    expect(all.filter((one) => one.paymentId === paymentId && one.side !== side)).toMatchObject([
      { kind: 'transfer' },
    ]);
});
