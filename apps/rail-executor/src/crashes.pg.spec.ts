import { Died, Life, mortalBank, mortalPool, mortalStore } from './testing/mortality.js';
import { goRound, openWorld, type QueuedMessage, type World } from './testing/world.js';
import { until } from '@pis/local-servers/testing';
import type { RailExecutor } from './rail-executor.js';

/** Where each payment must end, whichever executor dies on the way. */
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
/** The bank is asked again about payments that it has not settled. */
const waiting: Readonly<Record<string, string>> = { '0401': 'in_flight', '0502': 'submitted' };

describe('an executor that dies', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  it.each(atBothMoments(outcomes))(
    '$moment any of its steps with $ending leaves one transfer and the right end to its successor',
    async (row) => {
      await dieAtEveryStep(world, row);
      expect(await world.count('rail_pending')).toBe(0);
      expect(await world.count('rail_notifications')).toBe(0);
    },
    60_000,
  );
});

describe('an executor that dies while the bank takes its time', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ delayMs: 3, confirmationTimeoutMs: 60_000 });
  });
  afterAll(() => world.close());

  it.each(atBothMoments(outcomes.filter(([ending]) => ['0101', '0201', '0204'].includes(ending))))(
    '$moment any of its steps with $ending leaves one transfer and the right end to its successor',
    async (row) => {
      await dieAtEveryStep(world, row);
      expect(await world.count('rail_notifications')).toBe(0);
    },
    60_000,
  );
});

interface Row {
  readonly ending: string;
  readonly moment: 'before' | 'after';
  readonly history: readonly string[];
  readonly transfers: number;
}

function atBothMoments(rows: typeof outcomes): Row[] {
  return rows.flatMap(([ending, history, transfers]) =>
    (['before', 'after'] as const).map((moment) => ({ ending, moment, history, transfers })),
  );
}

/**
 * Runs the loops until the payment has ended. It takes several rounds: the bank has its own clock, and the
 * locks of a dead executor are held until the server has noticed its death.
 */
async function rest(world: World, row: Row, executor: RailExecutor, message: QueuedMessage) {
  const end = await until(
    async () => {
      await world.timePasses(message.paymentId);
      const failure: unknown = await goRound(executor).catch((error: unknown) => error);
      if (failure !== undefined) return { failure };
      const { length } = await world.history(message.paymentId);
      return length >= row.history.length && { failure };
    },
    { timeoutMs: 20_000, everyMs: 1, what: `${row.history.join()} of ${message.paymentId}` },
  );
  if (end.failure !== undefined) throw end.failure;
}

async function dieAtEveryStep(world: World, row: Row): Promise<void> {
  const { ending, moment, history, transfers } = row;
  let survived = false;
  for (let diesAt = 1; !survived; diesAt += 1) {
    expect(diesAt).toBeLessThan(stepsMax);
    const message = await world.queue(ending);
    const life = new Life(diesAt, moment);
    const handled = await liveThrough(world, row, world.executor(mortal(world, life)), message);
    survived = !life.dead;
    // Only time ends the leases of dead executors.
    await world.makeNotificationsDue();
    const successor = world.executor();
    // A handled message is not delivered again: the rest must come from the loops.
    if (!handled) await successor.handle(message.value, message.delivery);
    await rest(world, row, successor, message);
    // The result stays the same. The row that the dead executor left behind is due and is deleted.
    await world.timePasses(message.paymentId);
    await goRound(successor);

    const crash = `died ${moment} step ${diesAt}`;
    expect({ crash, history: await world.history(message.paymentId) }).toEqual({ crash, history });
    const atTheBank = await world.transfers(message.paymentId);
    expect(atTheBank).toHaveLength(transfers);
    if (history.includes('FailedInFlight')) expect(atTheBank).toMatchObject([{ inquired: true }]);
    const pending = await world.pending(message.paymentId);
    expect({ crash, stage: pending?.stage }).toEqual({ crash, stage: waiting[ending] });
    // The next one counts its steps without it.
    await world.pool.query('DELETE FROM rail_pending WHERE payment_id = $1', [message.paymentId]);
  }
}

function mortal(world: World, life: Life) {
  return {
    store: mortalStore(world.store, life),
    bank: mortalBank(world.bank, life),
    pool: mortalPool(world.pool, life),
  };
}

/** Handles the message and runs the loops until it dies. Returns whether the message was handled. */
async function liveThrough(
  world: World,
  row: Row,
  executor: RailExecutor,
  message: QueuedMessage,
): Promise<boolean> {
  let handled = false;
  try {
    await executor.handle(message.value, message.delivery);
    handled = true;
    await rest(world, row, executor, message);
  } catch (error) {
    if (!(error instanceof Died)) throw error;
  }
  return handled;
}
