import { KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } from 'kafkajs';
import { failureOf } from './kafka-failure.js';
import { onceCoordinated } from './kafka-dead-letters.js';

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
