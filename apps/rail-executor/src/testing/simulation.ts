/**
 * Executors that crash, a forgetful bank behind an unreliable line, and messages that are lost or repeated.
 * This is the workload. It does not know what must hold (see audit.ts). The seed chooses the faults. The
 * machine decides how the executors interleave.
 */
import { type BankConnection, type BankTerms, directBankConnection } from '@pis/bank-rails';
import { Died, Life, mortalBank, mortalPool } from '@pis/bank-rails/testing';
import { BankSimulator, UnreliableLine } from '@pis/bank-simulator/module';
import type { TransferOwner } from '@pis/domain';
import { until } from '@pis/local-servers/testing';
import type { RailExecutor, RailExecutorOptions } from '../rail-executor.js';
import { mortalStore } from './mortal-store.js';
import { openWorld, type QueuedMessage, type World } from './world.js';

export interface SimulationOptions {
  readonly seed: number;
  readonly payments: number;
  /** Whether the bank offers to void references. */
  readonly voids: boolean;
  readonly owner: TransferOwner;
}

/** Both shorter than a run: the bank's memory, and the time that a submission is in flight. */
const terms: BankTerms = { submissionInFlightMaxMs: 300, referenceMemoryMs: 2_000 };
const confirmationTimeoutMs = 4_500;
/** Between these times every call to the bank fails, so claims outlive the bank's memory. */
const outage = { fromMs: 800, untilMs: 3_300 };
const mishaps = 0.35;
const executorsMax = 3;
const lifeMaxSteps = 300;
const settledLimitMs = 90_000;
const endings = ['4321', '4321', '4321', '0101', '0204', '0401', '0402'];

export async function simulate(options: SimulationOptions): Promise<World> {
  const { seed, payments, voids, owner } = options;
  const random = seededRandom(seed);
  const world = await openWorld({ confirmationTimeoutMs, owner });
  const simulator = new BankSimulator(world.pool, { delayMs: 0, terms });
  const startedAt = performance.now();
  const line = new UnreliableLine(simulator, {
    random,
    get mishaps() {
      const atMs = performance.now() - startedAt;
      return atMs > outage.fromMs && atMs < outage.untilMs ? 1 : mishaps;
    },
  });
  const connection = directBankConnection(line);
  const unable = () => Promise.resolve({ outcome: 'unable' } as const);
  const bank = voids ? connection : { ...connection, void: unable };

  const messages: QueuedMessage[] = [];
  for (let made = 0; made < payments; made += 1) {
    const message = await world.queue(endings[made % endings.length] ?? '4321');
    // Nothing is published of a collection: the log alone starts it.
    if (owner === 'collection') continue;
    // Lost, once, twice or three times.
    for (let times = Math.floor(4 * random()); times > 0; times -= 1) messages.push(message);
  }
  messages.sort(() => random() - 0.5);

  let ended = false;
  const executors = Array.from({ length: executorsMax }, async () => {
    while (!ended) await liveOnce(world, bank, random, messages, () => ended);
  });
  await until(() => messages.length === 0, { timeoutMs: settledLimitMs });
  await until(async () => (await unsettled(world)) === 0, { timeoutMs: settledLimitMs });
  await line.quiet();
  ended = true;
  await Promise.all(executors);
  return world;
}

/** One process: it handles messages and runs its loops until it dies. */
async function liveOnce(
  world: World,
  bank: BankConnection,
  random: () => number,
  messages: QueuedMessage[],
  isEnded: () => boolean,
): Promise<void> {
  const life = new Life(Math.ceil(random() * lifeMaxSteps), random() < 0.5 ? 'before' : 'after');
  const mortal = {
    store: mortalStore(world.store, life),
    pool: mortalPool(world.pool, life),
  };
  const executor = world.executor({ ...mortal, bank: mortalBank(bank, life) });
  while (!life.isDead && !isEnded()) {
    const message = messages.pop();
    try {
      if (message !== undefined) await executor.handle(message.value, message.delivery);
    } catch (error) {
      // Not acknowledged: it is delivered again.
      if (message !== undefined) messages.unshift(message);
      if (!(error instanceof Died)) throw error;
    }
    await rounds(world, executor, mortal);
  }
}

/** Each round fails on its own: the bank is unavailable, or the process has died. */
async function rounds(
  world: World,
  executor: RailExecutor,
  mortal: Pick<RailExecutorOptions, 'store' | 'pool'>,
): Promise<void> {
  await world.pool.query(
    `UPDATE rail_pending SET deadline_at = now() - make_interval(secs => 1) WHERE payment_id IN (
       SELECT payment_id FROM rail_pending WHERE random() < 0.3 FOR UPDATE SKIP LOCKED)`,
  );
  await Promise.allSettled([
    executor.feedRound(),
    executor.deadlineRound(),
    executor.sweepRound(),
    world.followLog(mortal),
  ]);
}

/** How many payments have neither ended nor become FAILED_IN_FLIGHT. */
async function unsettled(world: World): Promise<number> {
  const log = await world.store.readLog({ after: '', pageMax: 100_000 });
  const last = new Map(log.events.map(({ streamId, type }) => [streamId, type]));
  return [...last.values()].filter((type) => /Queued|Processing$/.test(type)).length;
}

/** Mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
