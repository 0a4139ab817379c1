import type { Consumer, ConsumerRunConfig, EachBatchPayload, Kafka } from 'kafkajs';
import { kafkaLimits } from '../kafka-port.js';
import { KafkaJsMember } from './kafkajs-member.js';

const events = {
  ...{ FETCH: 'fetch', HEARTBEAT: 'heartbeat', GROUP_JOIN: 'join' },
  ...{ REBALANCING: 'rebalancing', CRASH: 'crash' },
};

/** A member of a kafkajs that says what the test lets it say. */
async function scene() {
  const listeners = new Map<string, (event: unknown) => void>();
  let run: ConsumerRunConfig = {};
  const consumer = {
    events,
    on: (name: string, listener: (event: unknown) => void) => listeners.set(name, listener),
    connect: () => Promise.resolve(),
    subscribe: () => Promise.resolve(),
    run: (config: ConsumerRunConfig) => Promise.resolve(void (run = config)),
    disconnect: () => Promise.resolve(),
  } as unknown as Consumer;
  const seen: string[] = [];
  const member = new KafkaJsMember(
    { consumer: () => consumer } as unknown as Kafka,
    { ...{ group: 'g', topics: ['t'], sessionTimeoutMs: 1_000 }, ...limits },
    {
      alive: () => undefined,
      joined: (memberId) => void seen.push(`joined as ${memberId}`),
      rebalancing: () => Promise.resolve(void seen.push('rebalancing')),
      fetched: ({ next }) => {
        seen.push(`read to ${next}`);
        return { room: null };
      },
    },
  );
  let broken: unknown = null;
  member.broken.catch((error: unknown) => (broken = error));
  await member.start();
  return {
    seen,
    brokenBy: () => new Promise((resolve) => setImmediate(() => resolve(broken))),
    says: (name: keyof typeof events, payload: unknown = {}) =>
      listeners.get(events[name])?.({ payload }),
    gives: (lastOffset: string) => run.eachBatch?.(batchTo(lastOffset)),
  };
}

const limits = { rebalanceTimeoutMs: 1_000, heartbeatIntervalMs: kafkaLimits.fetchWaitMs };
const as = (memberId: string) => ({ memberId, memberAssignment: { t: [0] } });

function batchTo(lastOffset: string): EachBatchPayload {
  return {
    batch: {
      ...{ topic: 't', partition: 0, highWatermark: '100', messages: [] },
      lastOffset: () => lastOffset,
    },
    resolveOffset: () => undefined,
    pause: () => () => undefined,
  } as unknown as EachBatchPayload;
}

it('reads on after the group has handed out its partitions anew', async () => {
  const { seen, brokenBy, says, gives } = await scene();
  says('GROUP_JOIN', as('a'));
  says('REBALANCING');
  says('GROUP_JOIN', as('a'));
  await gives('7');
  expect(seen).toEqual(['joined as a', 'rebalancing', 'joined as a', 'read to 8']);
  expect(await brokenBy()).toBeNull();
});

it('is given up when it joins in the middle of its fetches, and what they bring is not read', async () => {
  const { seen, brokenBy, says, gives } = await scene();
  says('GROUP_JOIN', as('a'));
  says('GROUP_JOIN', as('b'));
  // Fetched as member a, beyond what the group has committed.
  await expect(gives('7')).rejects.toThrow();
  says('REBALANCING');
  says('GROUP_JOIN', as('c'));
  await expect(gives('8')).rejects.toThrow();
  expect(seen).toEqual(['joined as a', 'rebalancing']);
  expect(await brokenBy()).toMatchObject({
    message: expect.stringContaining('while it was reading'),
  });
});
