/**
 * Event relay: publishes the events of the log to Kafka as integration events, in log order and at least
 * once. A PostgreSQL advisory lock makes one relay active at a time. The others wait.
 */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { anchorAt, type EventStore } from '@pis/event-store';
import { kafkaProgress, kafkaPublisher, pgConsumerState } from '@pis/messaging';
import {
  carryOverToRelay,
  consumedTopics,
  consumerGroups,
  filledTopics,
  goBackToGroups,
  integrationFeeds,
  isRelayToGoBack,
  laterPrefixesOf,
  relayGroup,
  relayPlace,
} from '@pis/integration';
import {
  type BrokerConfig,
  EVENT_STORE,
  HEALTH,
  type Health,
  heldLogger,
  kafkaSettings,
  LOG_WATCH,
  LOGGER,
  type Logger,
  type LogWatch,
  METRICS,
  PG_POOL,
  tracedPublisher,
  WAKE_UPS,
} from '@pis/service-kit';
import type { WakeUp, WakeUps } from '@pis/postgres';
import type pg from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import { GroupFollower } from './group-follower.js';
import { Relay } from './relay.js';

const CONFIG = Symbol('EventRelayConfig');

@Module({})
export class EventRelayModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private relay: Relay | undefined;
  private follower: GroupFollower | undefined;
  private readonly wakeUp: WakeUp;

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
    @Inject(WAKE_UPS) wakeUps: WakeUps,
  ) {
    this.wakeUp = wakeUps.for('locks');
  }

  onApplicationBootstrap(): void {
    const published = new Counter({
      name: 'pis_relay_published_total',
      help: 'Integration events published to the broker, by topic',
      labelNames: ['topic'],
      registers: [this.metrics],
    });
    const checkpoints = {
      anchorAt: (position: string) => anchorAt(this.store, position),
      laterPrefixesOf,
      transport: 'kafka',
    } as const;
    const feedOf = integrationFeeds({
      store: this.store,
      pool: this.pool,
      sameLog: (reader, ending) => this.logWatch.sameLog(reader, ending),
      onHeld: heldLogger(this.logger),
    });
    const relay = new Relay({
      feed: feedOf(relayGroup),
      topics: filledTopics,
      publisher: tracedPublisher(
        kafkaPublisher(kafkaSettings(this.config, 'pis-event-relay'), {
          prefix: this.config.KAFKA_PREFIX,
        }),
      ),
      state: pgConsumerState(this.pool, checkpoints),
      pool: this.pool,
      wakeUp: this.wakeUp,
      logger: this.logger,
      published: (topic) => published.inc({ topic }),
      onActive: async () => {
        const begin = await carryOverToRelay(this.pool);
        if (begin !== null)
          this.logger.info({ begin }, 'relay begins where the embedded groups were');
        const again = await goBackToGroups(this.pool);
        if (again !== null)
          this.logger.warn(
            { begin: again },
            'the database was restored or failed over: what the groups have read since is published again',
          );
      },
    });
    new Gauge({
      name: 'pis_relay_publishing',
      help: '1 while this relay is the active one and its last attempt to publish succeeded',
      registers: [this.metrics],
      collect() {
        this.set(relay.isPublishing ? 1 : 0);
      },
    });
    this.health.register('relay', () => relay.check());
    relay.start();
    this.relay = relay;
    this.follower = new GroupFollower({
      groups: consumerGroups,
      progress: kafkaProgress(kafkaSettings(this.config, 'pis-event-relay'), {
        prefix: this.config.KAFKA_PREFIX,
        topics: consumedTopics,
      }),
      published: () => relayPlace(this.pool),
      isUnknown: () => isRelayToGoBack(this.pool),
      state: pgConsumerState(this.pool, checkpoints),
      logger: this.logger,
    });
    this.follower.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.relay?.stop(), this.follower?.stop()]);
  }
}
