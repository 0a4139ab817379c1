/** Headers that this library writes. The message's own headers are passed on unchanged. */

/** On a replayed message: only this group handles it. The others have handled it already. */
export const replayForGroupHeader = 'replay-for-group';

/**
 * On a message that was put aside before it was handled: since when (ISO 8601). It arrived at that time,
 * however late it is handled.
 */
export const waitingSinceHeader = 'waiting-since';

/** The headers of a message that was put aside at `since`, unless it was put aside before. */
export function waitingSince(
  since: Date,
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  return { [waitingSinceHeader]: since.toISOString(), ...headers };
}

/** Inside the embedded transport: the dead letter whose replay this is. Never leaves it. */
export const replayOfHeader = 'replay-of';

/** On a parked message: its origin, the group that parked it, and the reason. */
export const deadLetterHeaders = {
  group: 'dead-letter-group',
  topic: 'dead-letter-topic',
  partition: 'dead-letter-partition',
  offset: 'dead-letter-offset',
  attempts: 'dead-letter-attempts',
  error: 'dead-letter-error',
  /** Of a message that is too large to be parked as it is: the bytes of its value, which is left out. */
  valueBytes: 'dead-letter-value-bytes',
} as const;

/** The topic for messages that no retry could handle; the same rule as in contracts' topics. */
export function deadLetterTopicOf(topic: string): string {
  return `${topic}.dlq`;
}
