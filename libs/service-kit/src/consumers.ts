/**
 * The transport of a consumer group, chosen by configuration: Kafka, or the event store read in-process.
 * No other code depends on this choice.
 */
import { anchorAt, type EventStore } from '@pis/event-store';
import { laterPrefixesOf } from '@pis/integration';
import {
  EmbeddedConsumerStrategy,
  KafkaConsumerStrategy,
  type MessageSource,
  pgConsumerState,
  pgDeferredMessages,
} from '@pis/messaging';
import type pg from 'pg';
import type { Registry } from 'prom-client';
import { kafkaSettings } from './composition.js';
import { consumerObservers } from './consumer-observer.js';
import type { BrokerConfig } from './environment.js';
import type { Health } from './health.js';
import type { Logger } from './logging.js';

export interface ConsumerContext {
  readonly config: BrokerConfig;
  readonly store: EventStore;
  readonly pool: pg.Pool;
  /** By consumer group. */
  readonly feedOf: (group: string) => MessageSource;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly health: Health;
}

export type ConsumerStrategy = EmbeddedConsumerStrategy | KafkaConsumerStrategy;

/** @throws ConfigurationError when PIS_BROKER is kafka and one of its variables is missing */
export function consumerStrategies(
  groups: readonly string[],
  context: ConsumerContext,
): ConsumerStrategy[] {
  const observe = consumerObservers(context.metrics, context.logger);
  const deferred = pgDeferredMessages(context.pool);
  const { PIS_CONSUMER_CONCURRENCY: concurrencyMax } = context.config;
  return groups.map((group) => {
    const strategy =
      context.config.PIS_BROKER === 'kafka'
        ? new KafkaConsumerStrategy({
            group,
            deferred,
            kafka: kafkaSettings(context.config, `pis-${group}`),
            prefix: context.config.KAFKA_PREFIX,
            observe: observe(group),
            concurrencyMax,
          })
        : new EmbeddedConsumerStrategy({
            group,
            deferred,
            source: context.feedOf(group),
            state: pgConsumerState(context.pool, {
              anchorAt: (position) => anchorAt(context.store, position),
              laterPrefixesOf,
            }),
            observe: observe(group),
            concurrencyMax,
          });
    context.health.register(`consumer:${group}`, () => {
      const { connected, error } = strategy.consumerStatus;
      if (!connected) throw new Error(error ?? 'not connected');
    });
    return strategy;
  });
}
