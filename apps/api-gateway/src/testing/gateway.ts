/** The gateway over a memory event store and real read models, called without a socket. */
import { createTestDatabase } from '@pis/local-servers/testing';
import { type DynamicModule, Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type RoutingDirectory, sandboxDirectory } from '@pis/bank-rails';
import { createApiKey, createOrganization, createOriginator, unrefused } from '@pis/commands';
import { type ApiKeyType, contact as contacts } from '@pis/domain';
import { type EventStore, memoryEventStore, repository, sealedStore } from '@pis/event-store';
import { OwnWrites } from '@pis/http-api';
import { testKeyring } from '@pis/keyring/testing';
import { createPool } from '@pis/postgres';
import { projections, ProjectionRunner } from '@pis/read-models';
import {
  createLogger,
  EVENT_STORE,
  httpAdapter,
  type HttpServerOptions,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  type Logger,
  METRICS,
  PG_POOL,
} from '@pis/service-kit';
import { testMetrics } from '@pis/service-kit/testing';
import { type ApiGatewayConfig, ApiGatewayModule, configureHttp } from '../api-gateway.module.js';

export const config: ApiGatewayConfig = {
  PIS_ENVIRONMENT: 'sandbox',
  PIS_REQUEST_TIMEOUT_MS: 10_000,
  PIS_RATE_LIMIT_PER_KEY: 0,
  PIS_RATE_LIMIT_STORE: 'memory',
  PIS_RATE_LIMIT_PER_ORGANIZATION: 0,
  PIS_RATE_LIMIT_ORGANIZATIONS: new Map(),
  PIS_DOCUMENT_STORE: 'postgres',
  PIS_WEBHOOK_ALLOWED_NETWORKS: ['203.0.113.0/24'],
  PIS_WEBHOOK_RETRY_INITIAL_MS: 30_000,
  PIS_WEBHOOK_RETRY_MAX_MS: 3_600_000,
  PIS_WEBHOOK_TIMEOUT_MS: 30_000,
  PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: 1,
  PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS: 1,
  PIS_WEBHOOK_RETENTION_DAYS: 30,
};

export const by = {
  actor: 'user:test',
  requestId: null,
  correlationId: 'test',
  causationId: null,
  traceparent: null,
};

export const keyring = testKeyring();

export const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
} as const;

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD' | 'OPTIONS';
  /** The full API key. Default: the tenant's full-access key. Null sends no key. */
  readonly key?: string | null;
  /** JSON, or text that is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The parsed body. Null if there is none. */
  readonly body: {
    readonly data?: unknown;
    readonly meta?: {
      timestamp: string;
      pagination?: { limit: number; nextCursor: string | null };
    };
    readonly error?: {
      code: string;
      message: string;
      details?: { field: string; issue: string }[];
    };
  } | null;
}

export interface Tenant {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly keys: Readonly<Record<ApiKeyType, string>>;
}

export interface Gateway {
  readonly app: NestFastifyApplication;
  readonly store: EventStore;
  call(path: string, options: Call & { readonly tenant: Tenant }): Promise<Reply>;
  createTenant(): Promise<Tenant>;
  close(): Promise<void>;
}

@Global()
@Module({})
class TestPlatform {}

export interface GatewayOptions {
  readonly databaseUrl: string;
  readonly store?: EventStore;
  readonly environment?: ApiGatewayConfig['PIS_ENVIRONMENT'];
  readonly logger?: Logger;
  readonly projects?: boolean;
  /** Throws while the log lacks the events of checkpoints. */
  readonly checkLog?: () => void;
  readonly changes?: Partial<ApiGatewayConfig>;
  readonly http?: HttpServerOptions;
  /** Default: the sandbox's, in memory. */
  readonly banks?: RoutingDirectory;
}

/** On a database of its own, which is dropped when the gateway is closed. */
export async function startGatewayWithDatabase(
  options: Omit<GatewayOptions, 'databaseUrl'> = {},
): Promise<Gateway> {
  const database = await createTestDatabase();
  const gateway = await startGateway({ ...options, databaseUrl: database.url });
  return {
    ...gateway,
    close: async () => {
      await gateway.close();
      await database.drop();
    },
  };
}

/** If `databaseUrl` cannot be reached, only the lists fail. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const store = sealedStore(options.store ?? memoryEventStore(), keyring);
  const logger = options.logger ?? createLogger('test', 'silent');
  const pool = createPool(options.databaseUrl, 'test', logger);
  const given = new Map<symbol, unknown>([
    [EVENT_STORE, store],
    [KEYRING, keyring],
    [PG_POOL, pool],
    [LOGGER, logger],
    [LOG_WATCH, { check: options.checkLog ?? (() => undefined) }],
    [METRICS, testMetrics()],
  ]);
  const platform: DynamicModule = {
    module: TestPlatform,
    providers: [...given].map(([provide, useValue]) => ({ provide, useValue })),
    exports: [...given.keys()],
  };
  const PIS_ENVIRONMENT = options.environment ?? 'sandbox';
  const app = await NestFactory.create<NestFastifyApplication>(
    {
      module: class Root {},
      imports: [
        platform,
        ApiGatewayModule.register(
          { ...config, PIS_ENVIRONMENT, ...options.changes },
          options.banks ?? sandboxDirectory,
        ),
      ],
    },
    httpAdapter(options.http),
    { bodyParser: false, logger: false, abortOnError: false },
  );
  configureHttp(app);
  await app.init();
  const runners =
    options.projects === false
      ? []
      : Object.values(projections).map(
          (projection) => new ProjectionRunner({ projection, store, pool }),
        );
  for (const runner of runners) runner.start();
  // Long enough that own writes appear in lists even on a busy machine.
  if (runners.length > 0) app.get(OwnWrites).waitMaxMs = 20_000;

  return {
    app,
    store,
    call: (path, call) => send(app, path, call),
    createTenant: () => createTenant(store, PIS_ENVIRONMENT),
    close: async () => {
      await Promise.all(runners.map((runner) => runner.stop()));
      await app.close();
      await pool.end();
    },
  };
}

async function send(
  app: NestFastifyApplication,
  url: string,
  { method = 'GET', key, body, headers, tenant }: Call & { readonly tenant: Tenant },
): Promise<Reply> {
  const secret = key === undefined ? tenant.keys.full_access : key;
  const response = await app.inject({
    method,
    url,
    headers: {
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: response.body === '' ? null : (JSON.parse(response.body) as Reply['body']),
  };
}

async function createTenant(
  store: EventStore,
  environment: ApiGatewayConfig['PIS_ENVIRONMENT'],
): Promise<Tenant> {
  const context = { store, by };
  const { organizationId } = unrefused(
    await createOrganization(context, {
      name: 'Tenant',
      feeSchedule: { discountBasisPoints: 50, flatFeeMinor: 25, returnFeeMinor: 400 },
    }),
  );
  const input = {
    entityType: 'BUSINESS',
    companyName: 'Analytical Engines',
    email: 'money@example.com',
    bankAccount: { ...bankAccount, achAccountNumber: '987654321000' },
  };
  const { originatorId } = unrefused(
    await createOriginator(context, { organizationId, input, keyring, banks: sandboxDirectory }),
  );
  const keyOf = async (type: ApiKeyType) =>
    unrefused(await createApiKey(context, { organizationId, type, environment })).apiKey;
  return {
    organizationId,
    originatorId,
    keys: {
      full_access: await keyOf('full_access'),
      read_only: await keyOf('read_only'),
      webhook_admin: await keyOf('webhook_admin'),
    },
  };
}

/** A body for POST /v1/contacts/. */
export function contactBody(tenant: Tenant, overrides: object = {}): Record<string, unknown> {
  return {
    originatorId: tenant.originatorId,
    entityType: 'INDIVIDUAL',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    bankAccount,
    ...overrides,
  };
}

export async function createContact(
  gateway: Gateway,
  tenant: Tenant,
  overrides: object = {},
): Promise<string> {
  const reply = await gateway.call('/v1/contacts/', {
    tenant,
    method: 'POST',
    body: contactBody(tenant, overrides),
  });
  const { contactId } = (reply.body?.data ?? {}) as { contactId?: string };
  if (reply.status !== 201 || contactId === undefined)
    throw new Error(`no contact: ${JSON.stringify(reply.body)}`);
  return contactId;
}

/** The number of contacts, and the number of identities that they use. */
export async function contactsIn(
  store: EventStore,
): Promise<readonly { readonly contactId: string; readonly identity: string }[]> {
  const { events } = await store.readLog({ after: '', streamPrefixes: ['contact-'] });
  const ids = [...new Set(events.map(({ streamId }) => streamId.slice('contact-'.length)))];
  const states = await Promise.all(ids.map((id) => repository(store, contacts).load(id)));
  return states.flatMap(({ state }) => (state === null ? [] : [state]));
}
