/** webhook-dispatcher: integration events → signed deliveries, retries, attempt log. */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import type { WakeUps } from '@pis/postgres';
import {
  EVENT_STORE,
  KEYRING,
  LOGGER,
  type Logger,
  METRICS,
  ownHosts,
  type OwnHostsConfig,
  PG_POOL,
  WAKE_UPS,
  webhookReceiverCa,
  type DispatcherConfig,
  type WebhooksConfig,
} from '@pis/service-kit';
import type pg from 'pg';
import type { Registry } from 'prom-client';
import { createDispatcher, type Dispatcher } from './dispatcher.js';
import { type BanksConfig, hostsOfBanks } from './hosts-of-banks.js';
import { DISPATCHER, PaymentEventsController } from './payment-events.controller.js';
import { StatementEventsController } from './statement-events.controller.js';

@Module({})
export class WebhookDispatcherModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(DISPATCHER) private readonly dispatcher: Dispatcher) {}

  /** @throws ConfigurationError when the CA file cannot be read */
  static register(
    config: WebhooksConfig & Partial<DispatcherConfig> & OwnHostsConfig & BanksConfig,
  ): DynamicModule {
    const receivers = webhookReceiverCa(config);
    return {
      module: WebhookDispatcherModule,
      controllers: [PaymentEventsController, StatementEventsController],
      providers: [
        {
          provide: DISPATCHER,
          inject: [EVENT_STORE, KEYRING, PG_POOL, WAKE_UPS, LOGGER, METRICS],
          useFactory: async (
            store: EventStore,
            keyring: Keyring,
            pool: pg.Pool,
            wakeUps: WakeUps,
            logger: Logger,
            metrics: Registry,
          ) =>
            createDispatcher({
              ...{ config, ...receivers, store, keyring, pool, logger, metrics },
              replaysWakeUp: wakeUps.for('replays'),
              deliveriesWakeUp: wakeUps.for('deliveries'),
              ownHosts: [...ownHosts(config), ...(await hostsOfBanks(config))],
            }),
        },
      ],
    };
  }

  onApplicationBootstrap(): void {
    this.dispatcher.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.dispatcher.stop();
  }
}
