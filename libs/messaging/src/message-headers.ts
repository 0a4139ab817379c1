/** Headers this library writes; those of the message itself are passed on untouched. */

/** On a replayed message: only this group handles it, the others have done it already. */
export const replayForGroupHeader = 'replay-for-group';

/** Inside the embedded transport: the dead letter whose replay this is. Never leaves it. */
export const replayOfHeader = 'replay-of';

/** On a parked message: where it came from, who gave up on it and why. */
export const deadLetterHeaders = {
  group: 'dead-letter-group',
  topic: 'dead-letter-topic',
  partition: 'dead-letter-partition',
  offset: 'dead-letter-offset',
  attempts: 'dead-letter-attempts',
  error: 'dead-letter-error',
} as const;

/** Where messages go that no retry could handle; the same rule as in contracts' topics. */
export function deadLetterTopicOf(topic: string): string {
  return `${topic}.dlq`;
}
