/**
 * `@pis/messaging/clients`: everything but the consumers, which are Nest microservices. For those who only
 * publish or administrate, above all `pis`: loading Nest takes longer than most commands run.
 */
export * from './message.js';
export { deadLetterTopicOf, waitingSince } from './message-headers.js';
export { errorText, NonRetryable } from './errors.js';
export type { ConsumerObserver, ConsumerProgress } from './attempts.js';
export {
  type DeferredBacklog,
  type DeferredMessage,
  type DeferredMessages,
} from './deferred-messages.js';
export { type RetryLimits } from './deferred-retries.js';
export { pgDeferredMessages } from './pg-deferred-messages.js';
export { type KeyQueueLimits } from './key-queues.js';
export { type CommitLimits } from './commit-schedule.js';
export {
  CheckpointMoved,
  pgConsumerState,
  type PgConsumerStateOptions,
  type Queryable,
  type ReplayRequests,
} from './pg-consumer-state.js';
export {
  type KafkaAcl,
  type KafkaClientName,
  type KafkaSasl,
  type KafkaSettings,
} from './kafka-client.js';
export { errorTypes, isBrokerError } from './kafka-failure.js';
export {
  BrokerUnavailable,
  kafkaPublisher,
  MessageRefused,
  ProduceError,
  type KafkaPublisher,
  publishPage,
} from './kafka.publisher.js';
export { applyAcls, type AclReport } from './kafka-acls.js';
export {
  applyTopics,
  type ApplyTopicsOptions,
  productionReplication,
  type Replication,
  type TopicReport,
  type TopicSpec,
} from './kafka-admin.js';
export { ensureEmptyTopic, TopicNotEmpty } from './kafka-new-topic.js';
export { type GroupProgress, kafkaProgress } from './kafka-progress.js';
export {
  type DeadLetter,
  kafkaDeadLetters,
  replayDeadLetters,
  type ReplayOptions,
} from './kafka-dead-letters.js';
export { rewriteWaitingMessages } from './message-rewriting.js';
