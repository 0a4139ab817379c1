import { randomUUID } from 'node:crypto';
import { EmbeddedConsumerStrategy } from '../embedded.server.js';
import type { DeferredMessages } from '../deferred-messages.js';
import type { ConsumerState } from '../message.js';
import type { MessagingHarness } from './stage.js';
import { MemoryLog, memoryDeferredMessages } from './memory.js';

/** The embedded transport on a log in memory, any ConsumerState and any retry table. */
export function embeddedHarness(
  state: ConsumerState,
  deferred: DeferredMessages = memoryDeferredMessages(),
): MessagingHarness & { readonly log: MemoryLog } {
  const log = new MemoryLog();
  const consumers = new Map<string, EmbeddedConsumerStrategy>();
  return {
    log,
    deferred,
    createTopic: () => Promise.resolve(`topic-${randomUUID()}`),
    publish: (messages) => log.publish(messages),
    createConsumer(options) {
      const consumer = new EmbeddedConsumerStrategy({ deferred, ...options, source: log, state });
      consumers.set(options.group, consumer);
      return consumer;
    },
    async committed(group, topic) {
      const checkpoint = await state.loadCheckpoint(group);
      return log.offsetsOf(topic).filter((offset) => offset <= checkpoint).length;
    },
    async parked(group, topic) {
      const letters = await state.parked(group, 1_000);
      return letters
        .filter(({ delivery }) => delivery.topic === topic)
        .map(({ delivery, error }) => ({ value: delivery.value, error }));
    },
    async replay(group) {
      await consumers.get(group)?.replayDeadLetters();
    },
    close: () => Promise.resolve(),
  };
}
