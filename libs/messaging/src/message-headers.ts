/** Headers this library writes; those of the message itself are passed on untouched. */

/** On a replayed message: only this group handles it, the others have done it already. */
export const replayForGroupHeader = 'replay-for-group';

/**
 * On a message that was put aside and could not be handled before: since when (ISO 8601). It came at that
 * time, however late it is handled.
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
