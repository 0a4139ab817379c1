/**
 * The dashboard's server: who may do what, and nothing else. The use cases are those of libs/commands and
 * libs/users, the lists those of libs/read-models: the same as the API's.
 */
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { openDocuments } from '@pis/documents';
import { type EventStore, StreamStates } from '@pis/event-store';
import {
  configureHttp as configureHttpSide,
  Downloads,
  RateLimit,
  ServedWebhookTests,
} from '@pis/http-api';
import type { Keyring } from '@pis/keyring';
import {
  type DashboardConfig,
  type DocumentsConfig,
  EVENT_STORE,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  type Logger,
  type LogWatch,
  PG_POOL,
  streamStates,
} from '@pis/service-kit';
import { ApprovalsQuery } from '@pis/read-models';
import { Passwords, SignIn, SignInFailures, Users } from '@pis/users';
import { endpointHealths, replayRequests } from '@pis/webhook-deliveries';
import { retryWindowsOf } from '@pis/webhooks';
import type pg from 'pg';
import { ApprovalUpkeep, REQUEST_TIMEOUT_MS } from './approval-upkeep.js';
import { administrationHandlers } from './handlers/administration.js';
import { approvalHandlers } from './handlers/approvals.js';
import { exportFileHandlers } from './handlers/export-files.js';
import { feeHandlers } from './handlers/fees.js';
import { partyHandlers } from './handlers/parties.js';
import { statementHandlers } from './handlers/statements.js';
import { evidenceHandlers } from './handlers/payment-evidence.js';
import { paymentHandlers } from './handlers/payments.js';
import { sessionHandlers } from './handlers/session.js';
import { webhookHandlers } from './handlers/webhooks.js';
import { ChangeLimit } from './change-limit.js';
import { RecordedActions } from './recorded-actions.js';
import { REPORTING, type ReportingHandlers, reportingProviders } from './reporting.js';
import { addRoutes, type Handlers } from './routes.js';
import { SessionWatch } from './live/session-watch.js';
import { OidcAttempts } from './oidc/oidc-attempts.js';
import { OidcProvider } from './oidc/oidc-provider.js';
import { oidcSettings } from './oidc/oidc-settings.js';
import { addOidcCallback, oidcHandlers, type OidcServices } from './oidc/oidc-sign-in.js';
import { SessionCookie } from './session-cookie.js';
import { SessionPruning } from './session-pruning.js';
import { SignInLimit } from './sign-in-limit.js';
import { USE_CASES, type UseCaseConfig, type UseCases, useCases } from './use-cases.js';
import { addWebApp, readWebApp } from './web-app.js';

export type DashboardModuleConfig = DashboardConfig & DocumentsConfig & UseCaseConfig;

const HANDLERS = Symbol('Handlers');

/** The HTTP side of a process that has this module. */
export function configureHttp(app: NestFastifyApplication, config: DashboardModuleConfig): void {
  const publicUrl = config.PIS_PUBLIC_URL;
  configureHttpSide(app, { publicUrl, api: false });
  const perSecond = config.PIS_RATE_LIMIT_PER_KEY;
  const server = app.getHttpAdapter().getInstance();
  const strangerLimit = new RateLimit({ perSecond });
  const logWatch = app.get<LogWatch>(LOG_WATCH);
  addWebApp(server, readWebApp());
  addOidcCallback(server, app.get<OidcServices>(OIDC), { strangerLimit, logWatch });
  addRoutes(server, {
    handlers: app.get<Handlers>(HANDLERS),
    signIn: app.get(SignIn),
    cookie: app.get(SessionCookie),
    logWatch,
    userLimit: new RateLimit({ perSecond }),
    strangerLimit,
    publicUrl,
    timeoutMs: config.PIS_REQUEST_TIMEOUT_MS,
    isSandbox: config.PIS_ENVIRONMENT === 'sandbox',
  });
}

@Module({})
export class DashboardModule {
  static register(config: DashboardModuleConfig): DynamicModule {
    const providers = [
      ...userProviders(config),
      ...useCases(config),
      ...reportingProviders(),
      handlers(config),
    ];
    return { module: DashboardModule, providers };
  }
}

/** The states of users and of other streams have the same memory. */
const USER_STATES = Symbol('UserStates');

function userProviders(config: DashboardModuleConfig): Provider[] {
  const inject = [EVENT_STORE, PG_POOL, KEYRING, Passwords, USER_STATES];
  const isLimited = config.PIS_RATE_LIMIT_PER_KEY > 0;
  return [
    { provide: Passwords, useFactory: () => new Passwords() },
    { provide: USER_STATES, inject: [PG_POOL, KEYRING, LOGGER], useFactory: streamStates },
    {
      provide: Users,
      inject,
      useFactory: (
        store: EventStore,
        pool: pg.Pool,
        keyring: Keyring,
        passwords: Passwords,
        states: StreamStates,
      ) => new Users({ store, pool, keyring, passwords, states }),
    },
    {
      provide: SignIn,
      inject: [...inject, RecordedActions],
      useFactory: (
        store: EventStore,
        pool: pg.Pool,
        keyring: Keyring,
        passwords: Passwords,
        states: StreamStates,
        actions: RecordedActions,
      ) => {
        const admit = (userId: string) => actions.takeSignIn(userId);
        return new SignIn({ store, pool, keyring, passwords, states, admit });
      },
    },
    { provide: SessionCookie, useValue: new SessionCookie(config.PIS_PUBLIC_URL) },
    {
      provide: SignInLimit,
      inject: [PG_POOL, KEYRING],
      useFactory: (pool: pg.Pool, keyring: Keyring) =>
        new SignInLimit(isLimited, new SignInFailures(pool, keyring)),
    },
    {
      provide: OidcAttempts,
      inject: [PG_POOL, KEYRING],
      useFactory: (pool: pg.Pool, keyring: Keyring) =>
        new OidcAttempts(pool, keyring, config.PIS_PUBLIC_URL),
    },
    oidcServices(config),
    { provide: ChangeLimit, useValue: new ChangeLimit(isLimited) },
    {
      provide: RecordedActions,
      inject: [EVENT_STORE],
      useFactory: (store: EventStore) => new RecordedActions(store, isLimited),
    },
    SessionPruning,
    { provide: REQUEST_TIMEOUT_MS, useValue: config.PIS_REQUEST_TIMEOUT_MS },
    ApprovalUpkeep,
  ];
}

const OIDC = Symbol('Oidc');

function oidcServices(config: DashboardModuleConfig): Provider {
  const settings = oidcSettings(config);
  const provider = settings === null ? null : new OidcProvider(settings);
  return {
    provide: OIDC,
    inject: [OidcAttempts, SignIn, SessionCookie, SignInLimit, RecordedActions, LOGGER],
    useFactory: (
      attempts: OidcAttempts,
      signIn: SignIn,
      cookie: SessionCookie,
      limit: SignInLimit,
      actions: RecordedActions,
      logger: Logger,
    ): OidcServices => ({
      ...{ provider, attempts, signIn, cookie, limit, actions, logger },
      name: settings?.name ?? '',
    }),
  };
}

function handlers(config: DashboardModuleConfig): Provider {
  const { PIS_PUBLIC_URL: publicUrl, PIS_ENVIRONMENT: environment } = config;
  const windows = retryWindowsOf(config);
  return {
    provide: HANDLERS,
    inject: [
      EVENT_STORE,
      PG_POOL,
      SignIn,
      Users,
      SessionCookie,
      SignInLimit,
      ChangeLimit,
      USE_CASES,
      KEYRING,
      ServedWebhookTests,
      OIDC,
      REPORTING,
      SessionWatch,
      RecordedActions,
      LOGGER,
    ],
    useFactory: async (
      store: EventStore,
      pool: pg.Pool,
      signIn: SignIn,
      users: Users,
      cookie: SessionCookie,
      limit: SignInLimit,
      changes: ChangeLimit,
      cases: UseCases,
      keyring: Keyring,
      tests: ServedWebhookTests,
      oidc: OidcServices,
      reporting: ReportingHandlers,
      sessions: SessionWatch,
      actions: RecordedActions,
      logger: Logger,
    ): Promise<Handlers> => {
      const { payments, directory } = cases;
      const healths = endpointHealths(pool);
      const replays = replayRequests(pool);
      const base = { ...cases, store, pool, keyring, actions };
      const documents = await openDocuments(config.PIS_DOCUMENT_STORE, { pool, keyring });
      const files = new Downloads<string>(sessions);
      return {
        ...sessionHandlers({ ...base, signIn, users, cookie, limit, changes, environment }),
        ...paymentHandlers({ ...base, environment, query: payments, users, publicUrl }),
        ...evidenceHandlers(base),
        ...approvalHandlers({ ...base, query: new ApprovalsQuery(pool), users, changes }),
        ...feeHandlers({ store, changes }),
        ...statementHandlers({ ...base, documents, files }),
        ...exportFileHandlers({ ...base, users, documents, files }),
        ...partyHandlers({ ...cases, query: directory, pool }),
        ...webhookHandlers({ ...base, healths, replays, tests, windows }),
        ...administrationHandlers({
          ...cases,
          query: directory,
          store,
          pool,
          users,
          environment,
          changes,
          logger,
        }),
        ...oidcHandlers(oidc),
        ...reporting,
      };
    },
  };
}
