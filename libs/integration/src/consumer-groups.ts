/** The consumer groups inside this service. An app cannot use a group that is missing here. */
import { type Topic, topicsOfGroup } from '@pis/contracts';

export { topicsOfGroup };

export type ConsumerGroup = keyof typeof topicsOfGroup;

// Sound: the object has exactly these keys.
export const consumerGroups = Object.keys(topicsOfGroup) as readonly ConsumerGroup[];

/** The topics of all groups. */
export const consumedTopics: readonly Topic[] = [...new Set(Object.values(topicsOfGroup).flat())];

/** The reader that publishes the log to Kafka. */
export const relayGroup = 'event-relay';
