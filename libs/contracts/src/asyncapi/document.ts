/** docs/asyncapi.json: the topics, for teams that read them, as an AsyncAPI 3 document. */
import type { Json } from '../openapi/schemas.js';
import { messageHeaders, type Topic, topics, topicSettings } from '../topics.js';
import { jsonSchemaOf, publishedEvents, type PublishedEvent } from './published-events.js';

const bindingVersion = '0.5.0';

export function asyncApiDocument(): Json {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Payment Initiation Service: events',
      version: '1.0.0',
      description: introduction,
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(
      Object.entries(topics).map(([name, topic]) => [name, channel(topic)]),
    ),
    operations: Object.fromEntries(
      Object.entries(topics).map(([name, topic]) => [
        `publish${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        {
          action: 'send',
          channel: { $ref: `#/channels/${name}` },
          summary: 'Published by event-relay, at least once.',
          messages: eventsOn(topic).map((event) => ({
            $ref: `#/channels/${name}/messages/${event.name}`,
          })),
        },
      ]),
    ),
    components: {
      messages: Object.fromEntries(publishedEvents.map((event) => [event.name, message(event)])),
      schemas: Object.fromEntries(
        publishedEvents.map((event) => {
          const { $schema: _, ...schema } = jsonSchemaOf(event);
          return [event.name, schema];
        }),
      ),
    },
  };
}

const introduction = `What changes in payments, originators, contacts and statements, for any team that wants to know.
Account and routing numbers are masked in every event.

- A message may arrive twice: deduplicate by \`eventId\`. The messages of one key are in order.
- Events may gain fields and enums may gain values at any time: ignore what you do not know. No field is removed
  or gets another meaning on the same topic.
- On a shared cluster every topic has the prefix of the installation (KAFKA_PREFIX).`;

function eventsOn(topic: Topic): readonly PublishedEvent[] {
  return publishedEvents.filter((event) => event.topic === topic);
}

function channel(topic: Topic): Json {
  const { partitions, retentionMs } = topicSettings[topic];
  return {
    address: topic,
    messages: Object.fromEntries(
      eventsOn(topic).map(({ name }) => [name, { $ref: `#/components/messages/${name}` }]),
    ),
    bindings: {
      kafka: {
        topic,
        partitions,
        topicConfiguration: { 'retention.ms': retentionMs },
        bindingVersion,
      },
    },
  };
}

function message({ name, summary, key, eventTypes }: PublishedEvent): Json {
  return {
    name,
    title: name,
    summary,
    contentType: 'application/json',
    headers: {
      type: 'object',
      required: [messageHeaders.eventType, messageHeaders.eventId],
      properties: {
        [messageHeaders.eventType]: { type: 'string', enum: eventTypes },
        [messageHeaders.eventId]: { type: 'string', format: 'uuid' },
        [messageHeaders.traceparent]: {
          type: 'string',
          description: 'W3C Trace Context of the request that led to the event.',
        },
      },
    },
    payload: { $ref: `#/components/schemas/${name}` },
    bindings: { kafka: { key: { type: 'string', description: key }, bindingVersion } },
  };
}
