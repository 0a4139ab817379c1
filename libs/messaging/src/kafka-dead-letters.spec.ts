import { KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } from 'kafkajs';
import { failureOf } from './kafka-failure.js';
import { onceCoordinated, type Replay, replayUpTo } from './kafka-dead-letters.js';
import type { GroupMember, MemberEvents } from './kafka-port.js';
import { deadLetterHeaders } from './message-headers.js';

/** How the client fails after its own few tries. */
function givenUp(type: string) {
  const refused = Object.assign(new Error(type), { type, code: 14, retriable: true });
  return failureOf(
    new KafkaJSNumberOfRetriesExceeded(new KafkaJSProtocolError(refused), {
      retryCount: 3,
      retryTime: 1_000,
    }),
  );
}

describe('a query about a group', () => {
  it.each([
    'GROUP_LOAD_IN_PROGRESS',
    'COORDINATOR_LOAD_IN_PROGRESS',
    'GROUP_COORDINATOR_NOT_AVAILABLE',
    'COORDINATOR_NOT_AVAILABLE',
    'NOT_COORDINATOR_FOR_GROUP',
    'NOT_COORDINATOR',
  ])('is repeated after %s', async (type) => {
    const failures = [givenUp(type), givenUp(type)];
    const ask = async () => {
      const failure = failures.shift();
      if (failure) throw failure;
      return 'an answer';
    };
    expect(await onceCoordinated(ask, Infinity)).toBe('an answer');
  });

  it('is given up at the deadline, and at once when a retry cannot help', async () => {
    const asked: string[] = [];
    const asking = (type: string) => () => {
      asked.push(type);
      return Promise.reject(givenUp(type));
    };
    const past = performance.now() - 1;
    for (const [type, deadlineMs] of [
      ['GROUP_LOAD_IN_PROGRESS', past],
      ['GROUP_AUTHORIZATION_FAILED', Infinity],
    ] as const)
      await expect(onceCoordinated(asking(type), deadlineMs)).rejects.toThrow(type);
    expect(asked).toEqual(['GROUP_LOAD_IN_PROGRESS', 'GROUP_AUTHORIZATION_FAILED']);
  });
});

it('a replay counts the messages whose commit is answered last', async () => {
  const [topic, group] = ['payments.dlq', 'executor'];
  const answered = Promise.withResolvers<void>();
  let committed = 0n;
  const memberOf = (_options: unknown, events: MemberEvents): GroupMember => ({
    start() {
      const headers = { [deadLetterHeaders.group]: group, [deadLetterHeaders.topic]: 'payments' };
      const message = { offset: 0n, key: '1', value: '{}', headers, timestamp: 0 };
      events.fetched({ topic, partition: 0, highWatermark: 1n, next: 1n, messages: [message] });
      return Promise.resolve();
    },
    broken: new Promise<never>(() => undefined),
    commit() {
      committed = 1n;
      return answered.promise;
    },
    stop: () => Promise.resolve(),
    unwrap: () => undefined,
  });
  const replay: Replay = {
    client: { member: memberOf } as Replay['client'],
    admin: {
      committed() {
        // The broker has the commit, and answers another question first.
        if (committed === 1n) setImmediate(() => answered.resolve());
        return Promise.resolve([{ topic, partition: 0, offset: committed }]);
      },
    } as unknown as Replay['admin'],
    publisher: { publish: () => Promise.resolve() } as unknown as Replay['publisher'],
    ...{ groupId: 'replay', group, ends: new Map([[topic, new Map([[0, 1n]])]]) },
    timeoutMs: 60_000,
  };
  expect(await replayUpTo(replay)).toEqual({ replayed: 1 });
});
