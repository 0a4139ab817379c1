export { messagingConformance } from './testing/conformance.js';
export { Stage, type MessagingHarness, type Seen } from './testing/stage.js';
export { embeddedHarness } from './testing/embedded-harness.js';
export { kafkaHarness } from './testing/kafka-harness.js';
export { MemoryLog, memoryConsumerState, memoryDeferredMessages } from './testing/memory.js';
