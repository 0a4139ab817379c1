/** Topics of the broker: what the event relay publishes and any team may consume. */

export const topics = {
  payments: 'pis.payment-events.v1',
  directory: 'pis.directory-events.v1',
  statements: 'pis.statement-events.v1',
} as const;
export type Topic = (typeof topics)[keyof typeof topics];

/** Partitions and retention of each topic; `pis kafka apply` creates them. */
export const topicSettings = {
  [topics.payments]: { partitions: 12, retentionMs: 30 * 24 * 3_600_000 },
  [topics.directory]: { partitions: 6, retentionMs: 30 * 24 * 3_600_000 },
  [topics.statements]: { partitions: 3, retentionMs: 30 * 24 * 3_600_000 },
} as const satisfies Record<Topic, { partitions: number; retentionMs: number }>;

/** The topic for messages that no retry could handle. Retained longer, because a person must check them. */
export function deadLetterTopicOf(topic: string): string {
  return `${topic}.dlq`;
}

/** Dead letters wait for a person: kept longer than what they came from. */
const deadLetterRetentionMs = 365 * 24 * 3_600_000;

/** Every topic with its dead letters, as `pis kafka apply` creates them. */
export function allTopicSpecs(): { topic: string; partitions: number; retentionMs: number }[] {
  return Object.entries(topicSettings).flatMap(([topic, settings]) => [
    { topic, ...settings },
    { topic: deadLetterTopicOf(topic), partitions: 1, retentionMs: deadLetterRetentionMs },
  ]);
}

/** Message headers. `eventType` is for example `payment.queued`; the key of a message is its stream id. */
export const messageHeaders = {
  eventType: 'event-type',
  eventId: 'event-id',
  traceparent: 'traceparent',
} as const;
