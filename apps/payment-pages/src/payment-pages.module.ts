/** The pages of payment links, rendered on the server: complete without JavaScript, better with it. One Nest module. */
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type Provider,
} from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { RoutingDirectory } from '@pis/bank-rails';
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import { type OfferedRails, PaymentLinks, type PaymentLinksOptions } from '@pis/commands';
import { type EventStore, StreamStates } from '@pis/event-store';
import { ApiError, configureHttp as configureHttpSide, rateLimitOf } from '@pis/http-api';
import type { Keyring } from '@pis/keyring';
import { OrganizationLogos, PaymentLinkAccesses, PaymentLinkTable } from '@pis/read-models';
import {
  configuredBanks,
  EVENT_STORE,
  type GatewayConfig,
  KEYRING,
  LOGGER,
  type Logger,
  PG_POOL,
  type ProcessConfig,
  streamStates,
} from '@pis/service-kit';
import { PageLimits } from './page-limits.js';
import { PaymentPagesController } from './payment-pages.controller.js';
import { OFFERED_RAILS, PAGE_SETTINGS, type PageSettings, ROUTING_DIRECTORY } from './tokens.js';

export type PaymentPagesConfig = GatewayConfig & Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

/** A form has a dozen short fields. */
const formBytesMax = 16 * 1024;

/** The HTTP side of a process that has this module. */
export function configureHttp(app: NestFastifyApplication): void {
  const { publicUrl } = app.get<PageSettings>(PAGE_SETTINGS);
  configureHttpSide(app, { publicUrl, api: false });
  app.useBodyParser(
    'application/x-www-form-urlencoded',
    { bodyLimit: formBytesMax },
    (request, body, done) => {
      // Other apps of the process take JSON alone.
      if (request.routeOptions.config.errorPage === undefined) done(notAForm());
      else done(null, new URLSearchParams(body.toString('utf8')));
    },
  );
}

function notAForm(): ApiError {
  return new ApiError('UNSUPPORTED_MEDIA_TYPE', 'send application/json');
}

type PgPool = ConstructorParameters<typeof PaymentLinkTable>[0];

@Module({})
export class PaymentPagesModule implements BeforeApplicationShutdown {
  constructor(
    @Inject(PaymentLinks) private readonly links: Pick<PaymentLinks, 'close'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** @param replaced providers instead of the module's own, in tests */
  static register(config: PaymentPagesConfig, replaced: readonly Provider[] = []): DynamicModule {
    return {
      module: PaymentPagesModule,
      controllers: [PaymentPagesController],
      providers: [...settingsFor(config), linkProvider, ...replaced],
    };
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.links.close().catch(uncounted(this.logger));
  }
}

function settingsFor(config: PaymentPagesConfig): Provider[] {
  const { PIS_PUBLIC_URL: publicUrl, PIS_REQUEST_TIMEOUT_MS: timeoutMs } = config;
  const settings: PageSettings = {
    timeoutMs,
    publicUrl,
    pathPrefix: publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, ''),
  };
  return [
    { provide: PAGE_SETTINGS, useValue: settings },
    { provide: OFFERED_RAILS, useFactory: async () => (await configuredBanks(config)).rails },
    {
      provide: ROUTING_DIRECTORY,
      inject: [PG_POOL],
      useFactory: (pool: PgPool) => openRoutingDirectory(pool, config.PIS_ENVIRONMENT),
    },
    {
      provide: OrganizationLogos,
      inject: [PG_POOL],
      useFactory: (pool: PgPool) => new OrganizationLogos(pool),
    },
    {
      provide: StreamStates,
      inject: [PG_POOL, KEYRING, LOGGER],
      useFactory: streamStates,
    },
    {
      provide: PageLimits,
      inject: [PG_POOL, LOGGER],
      useFactory: (pool: PgPool, logger: Logger) =>
        new PageLimits(
          rateLimitOf(addressLimit(config), { kind: 'page-address', pool, logger }),
          rateLimitOf(config, { kind: 'page-link', pool, logger }),
        ),
    },
  ];
}

/** A person needs few requests. A link, which many may open, has the whole limit. 0 stays 0. */
const shareOfAddress = 1 / 10;

function addressLimit({ PIS_RATE_LIMIT_PER_KEY: perSecond, ...config }: PaymentPagesConfig) {
  return { ...config, PIS_RATE_LIMIT_PER_KEY: Math.ceil(perSecond * shareOfAddress) };
}

/** No page shows a list, so nothing waits for one. */
const ownWrites = { note: () => undefined };

const uncounted = (logger: Logger) => (err: unknown) =>
  logger.warn({ err }, 'repeated visits of payment links could not be counted yet');

const linkProvider: Provider = {
  provide: PaymentLinks,
  inject: [EVENT_STORE, KEYRING, ROUTING_DIRECTORY, OFFERED_RAILS, StreamStates, PG_POOL, LOGGER],
  useFactory: (
    store: EventStore,
    keyring: Keyring,
    banks: RoutingDirectory,
    rails: OfferedRails,
    states: StreamStates,
    pool: PgPool,
    logger: Logger,
  ) => {
    const table = new PaymentLinkTable(pool);
    const accesses = new PaymentLinkAccesses(pool);
    // The pages make no links.
    const publicUrl = '';
    const options: PaymentLinksOptions = {
      ...{ store, keyring, banks, rails, states, ownWrites },
      ...{ table, accesses, publicUrl, onUncounted: uncounted(logger) },
    };
    return new PaymentLinks(options);
  },
};
