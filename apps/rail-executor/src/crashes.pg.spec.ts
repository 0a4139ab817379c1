import { Died, Life, mortalBank, mortalPool } from '@pis/bank-rails/testing';
import { mortalStore } from './testing/mortal-store.js';
import { goRound, openWorld, type QueuedMessage, type World } from './testing/world.js';
import { until } from '@pis/local-servers/testing';
import { type TransferOwner, transferOwners } from '@pis/domain';
import type { RailExecutor } from './rail-executor.js';

type Outcomes = readonly (readonly [string, string[], number])[];

/** Where each payment must end, whichever executor dies on the way. */
const ofPayments: Outcomes = [
  ['4321', ['Queued', 'Processing', 'Completed'], 1],
  ['0101', ['Queued', 'Processing', 'Completed', 'Returned'], 1],
  ['0201', ['Queued', 'Failed'], 0],
  ['0204', ['Queued', 'Processing', 'Failed'], 1],
  ['0301', ['Queued', 'Blocked'], 0],
  ['0401', ['Queued', 'Processing', 'FailedInFlight'], 1],
  ['0402', ['Queued', 'Processing', 'FailedInFlight', 'Completed'], 1],
  ['0502', ['Queued', 'Processing'], 1],
];
/** The review of the sandbox judges payments only. */
const reviewed: readonly string[] = ['0201', '0301'];
const outcomesOf: Readonly<Record<TransferOwner, Outcomes>> = {
  payment: ofPayments,
  collection: ofPayments.filter(([ending]) => !reviewed.includes(ending)),
};
const stepsMax = 200;
/** The bank is asked again about payments that it has not settled. */
const waiting: Readonly<Record<string, string>> = { '0401': 'in_flight', '0502': 'submitted' };

describe.each(transferOwners)('an executor that dies with a %s', (owner) => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ owner });
  });
  afterAll(() => world.close());

  it.each(atBothMoments(outcomesOf[owner], owner))(
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

  const slow = ofPayments.filter(([ending]) => ['0101', '0201', '0204'].includes(ending));
  it.each(atBothMoments(slow, 'payment'))(
    '$moment any of its steps with $ending leaves one transfer and the right end to its successor',
    async (row) => {
      await dieAtEveryStep(world, row);
      expect(await world.count('rail_notifications')).toBe(0);
    },
    60_000,
  );
});

interface Row {
  readonly owner: TransferOwner;
  readonly ending: string;
  readonly moment: 'before' | 'after';
  readonly history: readonly string[];
  readonly transfers: number;
}

function atBothMoments(rows: Outcomes, owner: TransferOwner): Row[] {
  return rows.flatMap(([ending, history, transfers]) =>
    (['before', 'after'] as const).map((moment) => ({ owner, ending, moment, history, transfers })),
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
    { timeoutMs: 60_000, everyMs: 1, what: `${row.history.join()} of ${message.paymentId}` },
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
    const handled = await liveThrough(world, row, mortal(world, life), message);
    survived = !life.isDead;
    // Only time ends the leases of dead executors.
    await world.makeNotificationsDue();
    const successor = world.executor();
    // A handled message is not delivered again: the rest must come from the loops.
    if (!handled) await begin(world, row, {}, successor, message);
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
    // The next one counts its steps without it, and does not follow its events.
    if (row.owner === 'collection') await world.followLog();
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

/** A payment begins with its message, and a collection when the log was followed. */
async function begin(
  world: World,
  { owner }: Row,
  stores: Partial<Pick<ReturnType<typeof mortal>, 'store' | 'pool'>>,
  executor: RailExecutor,
  message: QueuedMessage,
): Promise<void> {
  if (owner === 'payment') return executor.handle(message.value, message.delivery);
  await world.followLog(stores);
  await executor.sweepRound();
}

/** Begins the transfer and runs the loops until it dies. Returns whether its message was handled. */
async function liveThrough(
  world: World,
  row: Row,
  stores: ReturnType<typeof mortal>,
  message: QueuedMessage,
): Promise<boolean> {
  const executor = world.executor(stores);
  let handled = false;
  try {
    const { store, pool } = stores;
    await begin(world, row, { store, pool }, executor, message);
    handled = true;
    await rest(world, row, executor, message);
  } catch (error) {
    if (!(error instanceof Died)) throw error;
  }
  return handled;
}
