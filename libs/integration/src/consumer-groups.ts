/** The consumer groups inside this service. An app cannot use a group that is missing here. */
import { type Topic, topics } from '@pis/contracts';

/** The topics that each consumer group handles, on either broker. */
export const topicsOfGroup = {
  'rail-executor': [topics.payments],
  'webhook-dispatcher': [topics.payments, topics.statements],
} as const satisfies Record<string, readonly Topic[]>;

export type ConsumerGroup = keyof typeof topicsOfGroup;

// Sound: the object has exactly these keys.
export const consumerGroups = Object.keys(topicsOfGroup) as readonly ConsumerGroup[];

/** The topics of all groups. */
export const consumedTopics: readonly Topic[] = [...new Set(Object.values(topicsOfGroup).flat())];

/** The reader that publishes the log to Kafka. */
export const relayGroup = 'event-relay';
