/** Who reads public messages inside this service. A group that is missing here cannot be an app's consumer. */
import { type Topic, topics } from '@pis/contracts';

/** The topics that each consumer group handles, on either broker. */
export const topicsOfGroup = {
  'rail-executor': [topics.payments],
  'webhook-dispatcher': [topics.payments],
} as const satisfies Record<string, readonly Topic[]>;

export type ConsumerGroup = keyof typeof topicsOfGroup;

// Sound: the object has exactly these keys.
export const consumerGroups = Object.keys(topicsOfGroup) as readonly ConsumerGroup[];

/** What all groups together handle. */
export const consumedTopics: readonly Topic[] = [...new Set(Object.values(topicsOfGroup).flat())];

/** The reader that publishes the log to Kafka. */
export const relayGroup = 'event-relay';
