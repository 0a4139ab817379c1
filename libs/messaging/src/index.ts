export * from './clients.js';
export { MessageContext } from './message-context.js';
export { ConsumerStrategy, type ConsumerOptions, type ConsumerStatus } from './consumer.server.js';
export { EmbeddedConsumerStrategy, type EmbeddedConsumerOptions } from './embedded.server.js';
export { KafkaConsumerStrategy, type KafkaConsumerOptions } from './kafka.server.js';
