import kafkajs from 'kafkajs';
import { isBrokerError } from './kafka-client.js';

it('knows the errors of kafkajs, also the one that gathers the refusals of several topics', () => {
  const refused = new kafkajs.KafkaJSProtocolError('INVALID_REPLICATION_FACTOR');
  expect(isBrokerError(refused)).toBe(true);
  expect(isBrokerError(new kafkajs.KafkaJSAggregateError('topics', [refused]))).toBe(true);
  expect(isBrokerError(new kafkajs.KafkaJSConnectionError('refused'))).toBe(true);
  expect(isBrokerError(Object.assign(new Error('x'), { name: 'KafkaJSError' }))).toBe(false);
});
