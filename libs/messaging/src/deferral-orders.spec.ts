/**
 * The retry table under random histories of crashes, rebalances, lost answers and late handlers. The seed
 * determines the history, so a failing one can be run again alone.
 */
import { generator, type Random } from '@pis/local-servers/testing';
import { type SimulatedMessage, Simulation } from './testing/simulation.js';

const histories = 300;
const stepsMax = 100_000;

describe('for every history of crashes, rebalances and failures', () => {
  it('each message of a key succeeds, and not before the earlier ones', async () => {
    let deferred = 0;
    for (let seed = 1; seed <= histories; seed += 1) deferred += await play(seed);
    // The histories are about the retry table.
    expect(deferred).toBeGreaterThan(histories);
  });
});

async function play(seed: number): Promise<number> {
  const random = generator(seed);
  const partitions = 1 + random(3);
  const messages = randomMessages(random, partitions);
  const world = {
    partitions,
    processes: 1 + random(3),
    messages,
    healthyFromMs: 2_000 + random(30_000),
  };
  const simulation = new Simulation(world, random);
  await simulation.run(stepsMax).catch((error: unknown) => {
    throw new Error(`seed ${seed}: ${String(error)}`);
  });
  for (const key of new Set(messages.map((message) => message.key))) {
    const expected = messages.filter((message) => message.key === key).map(({ id }) => id);
    // A message may succeed again, later: what counts is when each succeeded first.
    const first = [...new Set(simulation.succeeded.get(key))];
    expect({ seed, key, first }).toEqual({ seed, key, first: expected });
  }
  expect({ seed, parked: simulation.parked }).toEqual({ seed, parked: [] });
  return simulation.deferred;
}

function randomMessages(random: Random, partitions: number): SimulatedMessage[] {
  const keys = 2 + random(8);
  return Array.from({ length: 20 + random(40) }, (_, n) => {
    const key = random(keys);
    return {
      partition: key % partitions,
      key: `k${key}`,
      id: `m${n}`,
      isSick: random(6) === 0,
    };
  });
}
