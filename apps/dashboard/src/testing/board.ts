/** The dashboard's server over a memory event store and real tables, called without a socket as a browser would. */
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { type DynamicModule, Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { sandboxDirectory } from '@pis/bank-rails';
import { createOriginator, unrefused } from '@pis/commands';
import { organization as organizations, type UserRole } from '@pis/domain';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  systemContext,
} from '@pis/event-store';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { type Projection, ProjectionRunner } from '@pis/read-models';
import {
  createLogger,
  EVENT_STORE,
  httpAdapter,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  type Logger,
  PG_POOL,
} from '@pis/service-kit';
import { Users } from '@pis/users';
import type { Keyring } from '@pis/keyring';
import type pg from 'pg';
import { configureHttp, DashboardModule, type DashboardModuleConfig } from '../dashboard.module.js';
import { apiPath } from '../routes.js';

export const by = systemContext('test');
export const password = 'correct horse battery';
export const origin = 'http://board.example';

const config: DashboardModuleConfig = {
  PIS_ENVIRONMENT: 'sandbox',
  PIS_PUBLIC_URL: undefined,
  PIS_OIDC_ISSUER: undefined,
  PIS_OIDC_CLIENT_ID: undefined,
  PIS_OIDC_CLIENT_SECRET: undefined,
  PIS_OIDC_CLIENT_SECRET_FILE: undefined,
  PIS_OIDC_NAME: 'single sign-on',
  PIS_REQUEST_TIMEOUT_MS: 10_000,
  PIS_RATE_LIMIT_PER_KEY: 0,
  PIS_DOCUMENT_STORE: 'postgres',
  PIS_WEBHOOK_ALLOWED_NETWORKS: ['203.0.113.0/24'],
  PIS_WEBHOOK_RETRY_INITIAL_MS: 30_000,
  PIS_WEBHOOK_RETRY_MAX_MS: 3_600_000,
  PIS_WEBHOOK_TIMEOUT_MS: 30_000,
  PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: 1,
  PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS: 1,
  PIS_WEBHOOK_RETENTION_DAYS: 30,
};
const poolMax = 10;
const originator = {
  entityType: 'BUSINESS',
  companyName: 'Board Trading LLC',
  email: 'treasury@board.example',
  bankAccount: {
    subType: 'CHECKING',
    achRoutingNumber: '021000021',
    achAccountNumber: '100020003000',
  },
} as const;

export interface BoardCall {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT' | 'HEAD';
  readonly body?: unknown;
  /** The value of the header Cookie. */
  readonly cookie?: string | null;
  /** Replace those that the dashboard's own pages send; null leaves one out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly address?: string;
}

export interface BoardReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly body: {
    readonly data?: unknown;
    readonly meta?: { readonly pagination?: { readonly nextCursor: string | null } };
    readonly error?: {
      readonly code: string;
      readonly message: string;
      readonly details?: readonly { readonly field: string; readonly issue: string }[];
    };
  };
}

export interface TestUser {
  readonly userId: string;
  readonly organizationId: string;
  readonly email: string;
}

export interface Board {
  readonly app: NestFastifyApplication;
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly users: Users;
  /** Of the projections that were asked for, in their order. */
  readonly runners: readonly ProjectionRunner[];
  /** Where requests come from that name no address. */
  address: string;
  call(path: string, call?: BoardCall): Promise<BoardReply>;
  newOrganization(): Promise<string>;
  /** The ID of a new originator with a bank account. */
  newOriginator(organizationId: string): Promise<string>;
  newUser(role: UserRole, organizationId?: string): Promise<TestUser>;
  /** The Cookie header of a new session. */
  signedIn(user: Pick<TestUser, 'email'>): Promise<string>;
  close(): Promise<void>;
}

@Global()
@Module({})
class TestPlatform {}

export interface BoardOptions {
  readonly changes?: Partial<DashboardModuleConfig>;
  readonly logger?: Logger;
  /** They run until the board is closed. */
  readonly projections?: readonly Projection[];
}

export async function startBoard(options: BoardOptions = {}): Promise<Board> {
  const { changes, logger, projections = [] } = options;
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, poolMax);
  const keyring = await testKeyringOn(pool);
  const store = sealedStore(memoryEventStore(), keyring);
  const given = new Map<symbol, unknown>([
    [EVENT_STORE, store],
    [KEYRING, keyring],
    [PG_POOL, pool],
    [LOGGER, logger ?? createLogger('test', 'silent')],
    [LOG_WATCH, { check: () => undefined }],
  ]);
  const platform: DynamicModule = {
    module: TestPlatform,
    providers: [...given].map(([provide, useValue]) => ({ provide, useValue })),
    exports: [...given.keys()],
  };
  const full = { ...config, ...changes };
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: class Root {}, imports: [platform, DashboardModule.register(full)] },
    httpAdapter(),
    { bodyParser: false, logger: false, abortOnError: false },
  );
  configureHttp(app, full);
  await app.init();
  const users = app.get(Users);
  const runners = projections.map(
    (projection) => new ProjectionRunner({ projection, store, pool }),
  );
  for (const runner of runners) runner.start();
  const call = (path: string, options: BoardCall = {}) =>
    send(app, path, { address: board.address, ...options });
  const newOrganization = async () => {
    const organizationId = randomUUID();
    const feeSchedule = { discountBasisPoints: 10, flatFeeMinor: 25, returnFeeMinor: 400 };
    const data = { organizationId, name: 'Test Board', feeSchedule };
    const command = { type: 'CreateOrganization', at: new Date().toISOString(), data } as const;
    await repository(store, organizations).create(organizationId, command, by);
    return organizationId;
  };
  const board: Board = {
    ...{ app, store, pool, keyring, users, runners, call, newOrganization },
    address: '203.0.113.1',
    async newOriginator(organizationId) {
      const created = await createOriginator(
        { store, by },
        { organizationId, input: originator, keyring, banks: sandboxDirectory },
      );
      return unrefused(created).originatorId;
    },
    async newUser(role, given) {
      const organizationId = given ?? (await newOrganization());
      const email = `${role}-${randomUUID()}@board.example`;
      const created = await users.create({ organizationId, email, role, password }, by);
      if ('refused' in created) throw new Error(created.refused);
      return { userId: created.userId, organizationId, email };
    },
    async signedIn({ email }) {
      const reply = await call('/sign-in', { method: 'POST', body: { email, password } });
      const cookie = cookieOf(reply);
      if (cookie === null) throw new Error(reply.text);
      return cookie;
    },
    async close() {
      await Promise.all(runners.map((runner) => runner.stop()));
      await app.close();
      await pool.end();
      await database.drop();
    },
  };
  return board;
}

/** `name=value` of the cookie that an answer sets. */
export function cookieOf({ headers }: BoardReply): string | null {
  const set = headers['set-cookie'];
  return typeof set === 'string' ? (set.split(';')[0] ?? null) : null;
}

async function send(
  app: NestFastifyApplication,
  path: string,
  { method = 'GET', body, cookie = null, headers = {}, address }: BoardCall & { address: string },
): Promise<BoardReply> {
  const all: Record<string, string | null> = {
    host: new URL(origin).host,
    'sec-fetch-site': 'same-origin',
    ...(method === 'GET' ? {} : { origin, 'x-pis-dashboard': '1' }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    cookie,
    ...headers,
  };
  const sent = Object.entries(all).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  );
  const response = await app.inject({
    method,
    url: path.startsWith('/dashboard') ? path : `${apiPath}${path}`,
    remoteAddress: address,
    headers: Object.fromEntries(sent),
    ...(body === undefined
      ? {}
      : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.payload,
    body:
      isJson && response.payload !== '' ? (JSON.parse(response.payload) as BoardReply['body']) : {},
  };
}
