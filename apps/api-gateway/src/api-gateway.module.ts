/**
 * The API gateway: authenticate, validate, decide, append, answer. One Nest module. The checks before a body
 * is parsed are in @pis/http-api. The domain makes the decisions.
 */
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { reportByHand } from '@pis/bank-rails/sandbox';
import {
  ContactDirectory,
  type OfferedRails,
  OriginatorDirectory,
  PaymentCreation,
  PaymentSimulation,
  WebhookEndpointDirectory,
} from '@pis/commands';
import type { RoutingDirectory } from '@pis/bank-rails';
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OpenApiOptions } from '@pis/contracts';
import { type DocumentStore, openDocuments } from '@pis/documents';
import { type EventStore, StreamStates } from '@pis/event-store';
import { ExportFiles, exportRequests } from '@pis/exports';
import {
  Authentication,
  configureHttp as configureHttpSide,
  Cursors,
  DirectoryLists,
  OwnWrites,
  OrganizationRateLimit,
  organizationRateLimitOf,
  RateLimit,
  rateLimitOf,
  RequestTimeLimit,
  ServedWebhookTests,
} from '@pis/http-api';
import type { Keyring } from '@pis/keyring';
import {
  directoryAsOf,
  directoryQuery,
  eventsQuery,
  paymentPeriods,
  paymentsQuery,
  type PaymentsQuery,
  projectionProgress,
  StatementsQuery,
} from '@pis/read-models';
import {
  configuredBanks,
  type ConfiguredBanks,
  type DocumentsConfig,
  EVENT_STORE,
  type GatewayConfig,
  type OrganizationLimitsConfig,
  KEYRING,
  LOGGER,
  type Logger,
  PG_POOL,
  type ProcessConfig,
  streamStates,
  type WebhooksConfig,
} from '@pis/service-kit';
import { deliveryLog, endpointHealths, replayRequests } from '@pis/webhook-deliveries';
import { retryWindowsOf } from '@pis/webhooks';
import { AsOf } from './as-of.js';
import { AuditController } from './audit.controller.js';
import { ContactsController } from './contacts.controller.js';
import { EventsController } from './events.controller.js';
import { ExportsController } from './exports.controller.js';
import { KeyDownloads } from './key-downloads.js';
import { OriginatorsController } from './originators.controller.js';
import { PaymentByKey } from './payment-by-key.js';
import { PaymentsController } from './payments.controller.js';
import { RailsController } from './rails.controller.js';
import { ReferenceController } from './reference.controller.js';
import { SandboxController } from './sandbox.controller.js';
import { ScalarScript } from './scalar-script.js';
import { StatementsController } from './statements.controller.js';
import {
  CONFIGURED_BANKS,
  DELIVERY_LOG,
  DIRECTORY_QUERY,
  DOCUMENTS,
  EVENTS_QUERY,
  EXPORT_REQUESTS,
  OFFERED_RAILS,
  OPENAPI_OPTIONS,
  PAYMENTS_QUERY,
  REPLAY_REQUESTS,
  RETRY_WINDOWS,
  ROUTING_DIRECTORY,
  WEBHOOK_EGRESS,
} from './tokens.js';
import { WebhookDeliveriesController } from './webhook-deliveries.controller.js';
import { type WebhookEgress, webhookEgress, type WebhookEgressConfig } from './webhook-egress.js';
import { WebhookReplaysController } from './webhook-replays.controller.js';
import { WebhookHealth } from './webhook-health.js';
import { WebhooksController } from './webhooks.controller.js';

export type ApiGatewayConfig = GatewayConfig &
  OrganizationLimitsConfig &
  WebhooksConfig &
  WebhookEgressConfig &
  DocumentsConfig &
  Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

/** The HTTP side of a process that has this module. */
export function configureHttp(app: NestFastifyApplication): void {
  const { publicUrl } = app.get<OpenApiOptions>(OPENAPI_OPTIONS);
  configureHttpSide(app, { publicUrl, api: true });
}

type PgPool = Parameters<typeof paymentsQuery>[0];

@Module({})
export class ApiGatewayModule {
  /**
   * @param banks instead of the routing directory in PostgreSQL
   * @throws ConfigurationError when the CA file cannot be read
   */
  static register(config: ApiGatewayConfig, banks?: RoutingDirectory): DynamicModule {
    const inSandbox = config.PIS_ENVIRONMENT === 'sandbox';
    return {
      module: ApiGatewayModule,
      controllers: [
        PaymentsController,
        RailsController,
        ContactsController,
        OriginatorsController,
        WebhooksController,
        WebhookDeliveriesController,
        WebhookReplaysController,
        EventsController,
        StatementsController,
        ExportsController,
        AuditController,
        ReferenceController,
        ...(inSandbox ? [SandboxController] : []),
      ],
      providers: [
        ...providersFor(config),
        {
          provide: ROUTING_DIRECTORY,
          inject: [PG_POOL],
          useFactory: (pool: PgPool) => banks ?? openRoutingDirectory(pool, config.PIS_ENVIRONMENT),
        },
        { provide: CONFIGURED_BANKS, useFactory: () => configuredBanks(config) },
        {
          provide: OFFERED_RAILS,
          inject: [CONFIGURED_BANKS],
          useFactory: ({ rails }: ConfiguredBanks) => rails,
        },
      ],
    };
  }
}

function providersFor(config: ApiGatewayConfig): Provider[] {
  const egressTo = webhookEgress(config);
  return [
    {
      provide: WEBHOOK_EGRESS,
      inject: [CONFIGURED_BANKS],
      useFactory: ({ hosts }: ConfiguredBanks) => egressTo(hosts),
    },
    {
      provide: ServedWebhookTests,
      inject: [KEYRING, WEBHOOK_EGRESS],
      useFactory: (keyring: Keyring, egress: WebhookEgress) =>
        new ServedWebhookTests(keyring, {
          ...egress,
          timeoutMs: config.PIS_WEBHOOK_TIMEOUT_MS,
        }),
    },
    {
      provide: StreamStates,
      inject: [PG_POOL, KEYRING, LOGGER],
      useFactory: streamStates,
    },
    { provide: RETRY_WINDOWS, useValue: retryWindowsOf(config) },
    {
      provide: OPENAPI_OPTIONS,
      useValue: {
        publicUrl: config.PIS_PUBLIC_URL,
        sandbox: config.PIS_ENVIRONMENT === 'sandbox',
      },
    },
    {
      provide: DOCUMENTS,
      inject: [PG_POOL, KEYRING],
      useFactory: (pool: PgPool, keyring: Keyring) =>
        openDocuments(config.PIS_DOCUMENT_STORE, { pool, keyring }),
    },
    { provide: ScalarScript, useFactory: () => new ScalarScript() },
    ...limitProviders(config),
    ...readProviders,
    ...exportProviders(),
    ...useCases,
  ];
}

/** Who may ask, how often, and how long. */
function limitProviders(config: ApiGatewayConfig): Provider[] {
  return [
    {
      provide: Authentication,
      inject: [EVENT_STORE, PG_POOL, LOGGER],
      useFactory: (store: EventStore, pool: PgPool, logger: Logger) =>
        new Authentication(
          store,
          config.PIS_ENVIRONMENT,
          rateLimitOf(config, { kind: 'address', pool, logger }),
        ),
    },
    {
      provide: RateLimit,
      inject: [PG_POOL, LOGGER],
      useFactory: (pool: PgPool, logger: Logger) =>
        rateLimitOf(config, { kind: 'key', pool, logger }),
    },
    {
      provide: OrganizationRateLimit,
      inject: [PG_POOL, LOGGER],
      useFactory: (pool: PgPool, logger: Logger) =>
        organizationRateLimitOf(config, { pool, logger }),
    },
    {
      provide: RequestTimeLimit,
      useValue: new RequestTimeLimit(config.PIS_REQUEST_TIMEOUT_MS),
    },
  ];
}

function exportProviders(): Provider[] {
  return [
    { provide: EXPORT_REQUESTS, inject: [PG_POOL], useFactory: exportRequests },
    {
      provide: ExportFiles,
      inject: [PG_POOL, DOCUMENTS],
      useFactory: (pool: PgPool, documents: DocumentStore) => new ExportFiles(pool, documents),
    },
    {
      provide: KeyDownloads,
      inject: [Authentication, LOGGER],
      useFactory: (authentication: Authentication, logger: Logger) =>
        new KeyDownloads(authentication, (err) =>
          logger.warn({ err }, 'the keys of downloads could not be checked'),
        ),
    },
  ];
}

/** Lists and what they need. */
const readProviders: readonly Provider[] = [
  { provide: PAYMENTS_QUERY, inject: [PG_POOL], useFactory: paymentsQuery },
  { provide: EVENTS_QUERY, inject: [PG_POOL], useFactory: eventsQuery },
  { provide: DELIVERY_LOG, inject: [PG_POOL], useFactory: deliveryLog },
  {
    provide: WebhookHealth,
    inject: [PG_POOL, LOGGER],
    useFactory: (pool: PgPool, logger: Logger) => new WebhookHealth(endpointHealths(pool), logger),
  },
  { provide: REPLAY_REQUESTS, inject: [PG_POOL], useFactory: replayRequests },
  { provide: DIRECTORY_QUERY, inject: [PG_POOL], useFactory: directoryQuery },
  {
    provide: AsOf,
    inject: [EVENT_STORE, PG_POOL, PAYMENTS_QUERY],
    useFactory: (store: EventStore, pool: PgPool, payments: PaymentsQuery) =>
      new AsOf(store, pool, directoryAsOf(pool), payments, paymentPeriods(pool)),
  },
  {
    provide: StatementsQuery,
    inject: [PG_POOL],
    useFactory: (pool: PgPool) => new StatementsQuery(pool),
  },
  {
    provide: OwnWrites,
    inject: [PG_POOL],
    useFactory: (pool: PgPool) =>
      new OwnWrites({
        payments: projectionProgress(pool, 'payments'),
        directory: projectionProgress(pool, 'directory'),
        events: projectionProgress(pool, 'events'),
      }),
  },
  {
    provide: Cursors,
    inject: [KEYRING],
    useFactory: (keyring: Keyring) => new Cursors(keyring),
  },
  {
    provide: DirectoryLists,
    inject: [Cursors, OwnWrites],
    useFactory: (cursors: Cursors, own: OwnWrites) => new DirectoryLists(cursors, own),
  },
  {
    provide: PaymentByKey,
    inject: [EVENT_STORE, OwnWrites],
    useFactory: (...[store, own]: ConstructorParameters<typeof PaymentByKey>) =>
      new PaymentByKey(store, own),
  },
  {
    provide: PaymentSimulation,
    inject: [EVENT_STORE, OwnWrites, PG_POOL],
    useFactory: (store: EventStore, ownWrites: OwnWrites, pool: PgPool) =>
      new PaymentSimulation({
        store,
        ownWrites,
        report: (reference, report) => reportByHand(pool, reference, report),
      }),
  },
];

const useCases: readonly Provider[] = [
  PaymentCreation,
  ContactDirectory,
  OriginatorDirectory,
  WebhookEndpointDirectory,
].map((UseCase) => ({
  provide: UseCase,
  inject: [
    ...[EVENT_STORE, KEYRING, ROUTING_DIRECTORY, OFFERED_RAILS],
    ...[OwnWrites, StreamStates, WEBHOOK_EGRESS],
  ],
  useFactory: (
    store: EventStore,
    keyring: Keyring,
    banks: RoutingDirectory,
    rails: OfferedRails,
    ownWrites: OwnWrites,
    states: StreamStates,
    urls: WebhookEgress,
  ) => new UseCase({ store, keyring, banks, rails, ownWrites, states, urls }),
}));
