/** The consumer groups inside this service. An app cannot use a group that is missing here. */
import { type Topic, topicsOfGroup } from '@pis/contracts';
import { filledTopics, laterPrefixesAmong } from './public-facts.js';

export { topicsOfGroup };

export type ConsumerGroup = keyof typeof topicsOfGroup;

// Sound: the object has exactly these keys.
export const consumerGroups = Object.keys(topicsOfGroup) as readonly ConsumerGroup[];

/** The topics of all groups. */
export const consumedTopics: readonly Topic[] = [...new Set(Object.values(topicsOfGroup).flat())];

/** The reader that publishes the log to Kafka. */
export const relayGroup = 'event-relay';

/** Prefixes of the streams that a group or the relay follows, and that a process of another release may pass over. */
export function laterPrefixesOf(reader: string): readonly string[] {
  if (reader === relayGroup) return laterPrefixesAmong(filledTopics);
  const group = consumerGroups.find((one) => one === reader);
  return group === undefined ? [] : laterPrefixesAmong(topicsOfGroup[group]);
}
