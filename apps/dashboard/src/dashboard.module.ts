/**
 * The dashboard's server: who may do what, and nothing else. The use cases are those of libs/commands and
 * libs/users, the lists those of libs/read-models: the same as the API's.
 */
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type EventStore, StreamStates } from '@pis/event-store';
import { configureHttp as configureHttpSide, RateLimit } from '@pis/http-api';
import type { Keyring } from '@pis/keyring';
import {
  type DashboardConfig,
  EVENT_STORE,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  PG_POOL,
  streamStates,
} from '@pis/service-kit';
import { Passwords, SignIn, Users } from '@pis/users';
import { endpointHealths } from '@pis/webhook-deliveries';
import { retryWindowsOf } from '@pis/webhooks';
import type pg from 'pg';
import { administrationHandlers } from './handlers/administration.js';
import { partyHandlers } from './handlers/parties.js';
import { paymentHandlers } from './handlers/payments.js';
import { sessionHandlers } from './handlers/session.js';
import { webhookHandlers } from './handlers/webhooks.js';
import { ChangeLimit } from './change-limit.js';
import { addRoutes, type Handlers } from './routes.js';
import { SessionCookie } from './session-cookie.js';
import { SessionPruning } from './session-pruning.js';
import { SignInLimit } from './sign-in-limit.js';
import { USE_CASES, type UseCaseConfig, type UseCases, useCases } from './use-cases.js';
import { addWebApp, readWebApp } from './web-app.js';

export type DashboardModuleConfig = DashboardConfig & UseCaseConfig;

const HANDLERS = Symbol('Handlers');

/** The HTTP side of a process that has this module. */
export function configureHttp(app: NestFastifyApplication, config: DashboardModuleConfig): void {
  const publicUrl = config.PIS_PUBLIC_URL;
  configureHttpSide(app, { publicUrl, api: false });
  const perSecond = config.PIS_RATE_LIMIT_PER_KEY;
  addWebApp(app.getHttpAdapter().getInstance(), readWebApp());
  addRoutes(app.getHttpAdapter().getInstance(), {
    handlers: app.get<Handlers>(HANDLERS),
    signIn: app.get(SignIn),
    cookie: app.get(SessionCookie),
    logWatch: app.get(LOG_WATCH),
    userLimit: new RateLimit({ perSecond }),
    strangerLimit: new RateLimit({ perSecond }),
    publicUrl,
    timeoutMs: config.PIS_REQUEST_TIMEOUT_MS,
    isSandbox: config.PIS_ENVIRONMENT === 'sandbox',
  });
}

@Module({})
export class DashboardModule {
  static register(config: DashboardModuleConfig): DynamicModule {
    const providers = [...userProviders(config), ...useCases(config), handlers(config)];
    return { module: DashboardModule, providers };
  }
}

/** The states of users and of other streams have the same memory. */
const USER_STATES = Symbol('UserStates');

function userProviders(config: DashboardModuleConfig): Provider[] {
  const inject = [EVENT_STORE, PG_POOL, KEYRING, Passwords, USER_STATES];
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
      inject,
      useFactory: (
        store: EventStore,
        pool: pg.Pool,
        keyring: Keyring,
        passwords: Passwords,
        states: StreamStates,
      ) => new SignIn({ store, pool, keyring, passwords, states }),
    },
    { provide: SessionCookie, useValue: new SessionCookie(config.PIS_PUBLIC_URL) },
    { provide: SignInLimit, useValue: new SignInLimit(config.PIS_RATE_LIMIT_PER_KEY > 0) },
    { provide: ChangeLimit, useValue: new ChangeLimit(config.PIS_RATE_LIMIT_PER_KEY > 0) },
    SessionPruning,
  ];
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
    ],
    useFactory: (
      store: EventStore,
      pool: pg.Pool,
      signIn: SignIn,
      users: Users,
      cookie: SessionCookie,
      limit: SignInLimit,
      changes: ChangeLimit,
      cases: UseCases,
    ): Handlers => {
      const { payments, directory } = cases;
      return {
        ...sessionHandlers({ store, signIn, users, cookie, limit, changes, environment }),
        ...paymentHandlers({ ...cases, query: payments, store, users, publicUrl }),
        ...partyHandlers({ ...cases, query: directory }),
        ...webhookHandlers({ ...cases, store, pool, healths: endpointHealths(pool), windows }),
        ...administrationHandlers({
          ...cases,
          query: directory,
          store,
          pool,
          users,
          environment,
          changes,
        }),
      };
    },
  };
}
