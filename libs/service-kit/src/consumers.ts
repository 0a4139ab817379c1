/**
 * The transport of a consumer group, by configuration: Kafka, or the event store read in-process.
 * Which one it is shows nowhere but here.
 */
import type { EventStore } from '@pis/event-store';
import {
  type Delivery,
  EmbeddedConsumerStrategy,
  isTransient as isBrokerTransient,
  KafkaConsumerStrategy,
  type MessageSource,
  pgConsumerState,
} from '@pis/messaging';
import { isTransient as isDatabaseTransient } from '@pis/read-models';
import type pg from 'pg';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { kafkaSettings } from './composition.js';
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

/** @throws ConfigurationError when PIS_BROKER is kafka and its variables are not complete */
export function consumerStrategies(
  groups: readonly string[],
  context: ConsumerContext,
): ConsumerStrategy[] {
  const observe = observer(context);
  return groups.map((group) => {
    const strategy =
      context.config.PIS_BROKER === 'kafka'
        ? new KafkaConsumerStrategy({
            group,
            kafka: kafkaSettings(context.config, `pis-${group}`),
            prefix: context.config.KAFKA_PREFIX,
            observe: observe(group),
            isTransient,
          })
        : new EmbeddedConsumerStrategy({
            group,
            source: context.feedOf(group),
            state: pgConsumerState(context.pool),
            observe: observe(group),
            isTransient,
          });
    context.health.register(`consumer:${group}`, () => {
      const { connected, error } = strategy.consumerStatus;
      if (!connected) throw new Error(error ?? 'not connected');
    });
    return strategy;
  });
}

/** Whether waiting is the cure: a dependency is away, the message is not at fault. */
export function isTransient(error: unknown): boolean {
  return isBrokerTransient(error) || isDatabaseTransient(error) || isBankAway(error);
}

function isBankAway(error: unknown): boolean {
  return error instanceof Error && error.name === 'BankUnavailable';
}

function observer({ metrics, logger }: ConsumerContext) {
  const handled = new Histogram({
    name: 'pis_consumer_handled_seconds',
    help: 'Time a handler took for one message, by outcome',
    labelNames: ['group', 'topic', 'outcome'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [metrics],
  });
  const unfinished = new Gauge({
    name: 'pis_consumer_lag_messages',
    help: 'Messages a group knows of and has not done yet',
    labelNames: ['group'],
    registers: [metrics],
  });
  const parked = new Counter({
    name: 'pis_consumer_dead_letters_total',
    help: 'Messages given up on and parked',
    labelNames: ['group', 'topic'],
    registers: [metrics],
  });
  return (group: string) => ({
    handled: (delivery: Delivery, outcome: string, durationMs: number) =>
      handled.observe({ group, topic: delivery.topic, outcome }, durationMs / 1000),
    lag: (messages: number) => unfinished.set({ group }, messages),
    problem: (doing: string, error: unknown) =>
      logger.warn({ err: error, group, doing }, 'consumer problem, trying again'),
    parked: (delivery: Delivery, error: unknown) => {
      parked.inc({ group, topic: delivery.topic });
      logger.error(
        { err: error, group, topic: delivery.topic, key: delivery.key, offset: delivery.offset },
        'message parked as a dead letter',
      );
    },
  });
}
