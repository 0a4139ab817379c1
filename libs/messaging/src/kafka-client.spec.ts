import kafkajs from 'kafkajs';
import { MultipleErrors, NetworkError, ProtocolError, UserError } from '@platformatic/kafka';
import { errorTypes, failureOf, isBrokerError } from './kafka-failure.js';

it('knows what kafkajs throws, also when it gathers the refusals of several topics', () => {
  const refused = new kafkajs.KafkaJSProtocolError(
    Object.assign(new Error('too few brokers'), { type: 'INVALID_REPLICATION_FACTOR', code: 38 }),
  );
  const failure = failureOf(new kafkajs.KafkaJSAggregateError('topics', [refused]));
  expect(failure.types).toEqual(['INVALID_REPLICATION_FACTOR']);
  expect(failure.message).toBe('topics: too few brokers (INVALID_REPLICATION_FACTOR)');
  expect(isBrokerError(failure)).toBe(true);
  expect(isBrokerError(Object.assign(new Error('x'), { name: 'KafkaFailure' }))).toBe(false);
});

it('knows what platformatic throws, down to the refused connection, and says nothing twice', () => {
  const refused = () =>
    new NetworkError('Connection to 127.0.0.1:1 failed.', {
      cause: new Error('connect ECONNREFUSED 127.0.0.1:1'),
    });
  const failure = failureOf(new MultipleErrors('metadata failed 2 times.', [refused(), refused()]));
  expect(failure.message).toBe(
    'metadata failed 2 times.: Connection to 127.0.0.1:1 failed.: connect ECONNREFUSED 127.0.0.1:1',
  );
  const tooLarge = failureOf(new MultipleErrors('x', [new ProtocolError('MESSAGE_TOO_LARGE')]));
  expect(errorTypes(new Error('publishing', { cause: tooLarge }))).toEqual(['MESSAGE_TOO_LARGE']);
  expect(failureOf(new UserError('Unknown topic orders.')).types).toEqual([
    'UNKNOWN_TOPIC_OR_PARTITION',
  ]);
});
