/**
 * The log is restored from a backup that is older than the bank's memory of references. A payment is claimed again, and the
 * bank has executed it so long ago that it would execute it again, or deny it.
 */
import type { RailExecutorOptions } from './rail-executor.js';
import { type Formats, openFormats } from './testing/formats.js';
import { handle, historyIn, restoredWith } from './testing/restored-log.js';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';

let world: World;
let formats: Formats;
beforeEach(async () => {
  world = await openWorld({ confirmationTimeoutMs: 60_000 });
  formats = await openFormats(world);
});
afterEach(async () => {
  await formats.close();
  await world.close();
});

/** The bank has executed it, and the executor never learned that. After the bank's memory it asks no more. */
async function executedUnseen(): Promise<QueuedMessage> {
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  formats.losesAnswers = true;
  await handle(world.executor({ banks: formats.banks }), message);
  formats.losesAnswers = false;
  expect(await formats.executions()).toBe(1);
  await world.pool.query('DELETE FROM rail_pending');
  return message;
}

const reviews: readonly (readonly [string, Partial<RailExecutorOptions>])[] = [
  ['is sent', {}],
  ['is blocked', { review: { of: () => Promise.resolve({ outcome: 'blocked', block: {} }) } }],
];

it.each(reviews)(
  'a payment that the bank has executed and forgotten is neither executed again nor FAILED when it %s in its second life',
  async (_end, changes) => {
    const message = await executedUnseen();
    await formats.forget();
    const store = await restoredWith(world, message, {});
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    const executor = world.executor({ banks: formats.banks, store, config, ...changes });
    await handle(executor, message);
    for (let times = 1; times <= 3; times += 1) {
      await world.timePasses(message.paymentId);
      await settle(executor);
    }
    expect(await historyIn(world, store, message)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await formats.executions()).toBe(1);
    expect(await world.pending(message.paymentId)).not.toBeNull();
  },
);

it.each(reviews)(
  'a payment that the bank has executed and remembers is COMPLETED when it %s in its second life',
  async (_end, changes) => {
    const message = await executedUnseen();
    const store = await restoredWith(world, message, {});
    const executor = world.executor({ banks: formats.banks, store, ...changes });
    await handle(executor, message);
    for (let times = 1; times <= 3; times += 1) {
      await world.timePasses(message.paymentId);
      await settle(executor);
    }
    expect(await historyIn(world, store, message)).toEqual(['Queued', 'Processing', 'Completed']);
    expect(await formats.executions()).toBe(1);
  },
);
