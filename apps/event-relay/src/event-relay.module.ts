/**
 * Event relay: publishes the event store's facts to Kafka as integration events, in log order, at
 * least once. One relay is active at a time, by a PostgreSQL advisory lock; the others wait.
 */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { topics } from '@pis/contracts';
import { anchorAt, type EventStore } from '@pis/event-store';
import { kafkaPublisher, pgConsumerState } from '@pis/messaging';
import {
  type BrokerConfig,
  EVENT_STORE,
  HEALTH,
  type Health,
  heldLogger,
  integrationFeeds,
  kafkaSettings,
  LOG_WATCH,
  LOGGER,
  type Logger,
  type LogWatch,
  METRICS,
  PG_POOL,
  relayGroup,
} from '@pis/service-kit';
import type pg from 'pg';
import { Counter, type Registry } from 'prom-client';
import { Relay } from './relay.js';

const CONFIG = Symbol('EventRelayConfig');

@Module({})
export class EventRelayModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private relay: Relay | undefined;

  static register(config: BrokerConfig): DynamicModule {
    return { module: EventRelayModule, providers: [{ provide: CONFIG, useValue: config }] };
  }

  constructor(
    @Inject(CONFIG) private readonly config: BrokerConfig,
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(PG_POOL) private readonly pool: pg.Pool,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(METRICS) private readonly metrics: Registry,
    @Inject(HEALTH) private readonly health: Health,
    @Inject(LOG_WATCH) private readonly logWatch: LogWatch,
  ) {}

  onApplicationBootstrap(): void {
    const published = new Counter({
      name: 'pis_relay_published_total',
      help: 'Integration events published to the broker, by topic',
      labelNames: ['topic'],
      registers: [this.metrics],
    });
    const feedOf = integrationFeeds({
      store: this.store,
      pool: this.pool,
      sameLog: (reader, ending) => this.logWatch.sameLog(reader, ending),
      onHeld: heldLogger(this.logger),
    });
    const relay = new Relay({
      feed: feedOf(relayGroup),
      topics: [topics.payments, topics.directory],
      publisher: kafkaPublisher(kafkaSettings(this.config, 'pis-event-relay'), {
        prefix: this.config.KAFKA_PREFIX,
      }),
      state: pgConsumerState(this.pool, {
        anchorAt: (position) => anchorAt(this.store, position),
        transport: 'kafka',
      }),
      pool: this.pool,
      logger: this.logger,
      published: (topic) => published.inc({ topic }),
    });
    this.health.register('relay', () => relay.check());
    relay.start();
    this.relay = relay;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.relay?.stop();
  }
}
