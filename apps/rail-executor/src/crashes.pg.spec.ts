import { Died, Life, mortalBank, mortalPool, mortalStore } from './testing/mortality.js';
import { openWorld, settle, type World } from './testing/world.js';
import type { RailExecutor } from './rail-executor.js';

/** Where each payment must end, whoever dies on the way. */
const outcomes: readonly [string, string[], number][] = [
  ['4321', ['Queued', 'Processing', 'Completed'], 1],
  ['0101', ['Queued', 'Processing', 'Completed', 'Returned'], 1],
  ['0201', ['Queued', 'Failed'], 0],
  ['0204', ['Queued', 'Processing', 'Failed'], 1],
  ['0301', ['Queued', 'Blocked'], 0],
  ['0401', ['Queued', 'Processing', 'FailedInFlight'], 1],
  ['0402', ['Queued', 'Processing', 'FailedInFlight', 'Completed'], 1],
  ['0502', ['Queued', 'Processing'], 1],
];
const stepsMax = 200;

describe('an executor that dies', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  it.each(
    outcomes.flatMap(([ending, history, transfers]) =>
      (['before', 'after'] as const).map((moment) => ({ ending, moment, history, transfers })),
    ),
  )(
    '$moment any of its steps with $ending leaves one transfer and the right end to its successor',
    async ({ ending, moment, history, transfers }) => {
      let survived = false;
      for (let diesAt = 1; !survived; diesAt += 1) {
        expect(diesAt).toBeLessThan(stepsMax);
        const message = await world.queue(ending);
        const life = new Life(diesAt, moment);
        const redelivered = await liveThrough(world.executor(mortal(world, life)), message);
        survived = !life.dead;
        const successor = world.executor();
        // A message that was handled is not delivered again: what is left must come from elsewhere.
        if (redelivered) await successor.handle(message.value, message.delivery);
        await settle(successor);

        const told = `died ${moment} step ${diesAt}`;
        expect({ told, history: await world.history(message.paymentId) }).toEqual({
          told,
          history,
        });
        expect(await world.transfers(message.paymentId)).toHaveLength(transfers);
      }
      expect(await world.count('rail_pending')).toBe(0);
      expect(await world.count('rail_unmatched_notifications')).toBe(0);
    },
    60_000,
  );
});

function mortal(world: World, life: Life) {
  return {
    store: mortalStore(world.store, life),
    bank: mortalBank(world.bank, life),
    pool: mortalPool(world.pool, life),
  };
}

/** Handles the message and runs the loops' rounds until it dies. True when the message was not handled. */
async function liveThrough(
  executor: RailExecutor,
  message: { value: unknown; delivery: Parameters<RailExecutor['handle']>[1] },
): Promise<boolean> {
  let handled = false;
  try {
    await executor.handle(message.value, message.delivery);
    handled = true;
    await settle(executor);
  } catch (error) {
    if (!(error instanceof Died)) throw error;
  }
  return !handled;
}
