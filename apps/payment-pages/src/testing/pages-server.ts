/** The pages over links in memory, on a port of this machine. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { type DynamicModule, Global, Module, type Provider, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { sandboxDirectory } from '@pis/bank-rails';
import { PaymentLinks } from '@pis/commands';
import { testKeyring } from '@pis/keyring/testing';
import {
  createLogger,
  EVENT_STORE,
  httpAdapter,
  type HttpServerOptions,
  KEYRING,
  LOG_WATCH,
  LOGGER,
  type Logger,
  PG_POOL,
} from '@pis/service-kit';
import { builtScript } from '../page-assets.js';
import {
  configureHttp,
  type PaymentPagesConfig,
  PaymentPagesModule,
} from '../payment-pages.module.js';
import { ROUTING_DIRECTORY } from '../tokens.js';
import { MemoryLinks } from './memory-links.js';

const config: PaymentPagesConfig = {
  PIS_ENVIRONMENT: 'sandbox',
  PIS_REQUEST_TIMEOUT_MS: 10_000,
  PIS_RATE_LIMIT_PER_KEY: 0,
  PIS_RATE_LIMIT_STORE: 'memory',
};

/** A token as a link has one. */
export const token = 'q8K0cXv3mZr5JtYwB1nDfG7hLpS2uEoA4iR6xTzNb9M';

@Global()
@Module({})
class TestPlatform {}

export interface PagesServer {
  readonly app: NestFastifyApplication;
  readonly links: MemoryLinks;
  readonly url: string;
  /** Moves the clock of the links. */
  advance(ms: number): void;
  close(): Promise<void>;
}

export interface PagesServerOptions {
  readonly changes?: Partial<PaymentPagesConfig>;
  readonly logger?: Logger;
  readonly http?: HttpServerOptions;
  readonly controllers?: readonly Type[];
}

/** Over links in memory. */
export async function startPages({
  changes,
  logger = createLogger('test', 'silent'),
  http,
  controllers,
}: PagesServerOptions = {}): Promise<PagesServer> {
  let advancedMs = 0;
  const links = new MemoryLinks(() => Date.now() + advancedMs);
  const platform = new Map<symbol, unknown>([
    [EVENT_STORE, {}],
    [KEYRING, testKeyring()],
    [PG_POOL, {}],
    [LOGGER, logger],
    [LOG_WATCH, { check: () => undefined }],
  ]);
  const replaced = [
    { provide: PaymentLinks, useValue: links },
    { provide: ROUTING_DIRECTORY, useValue: sandboxDirectory },
  ];
  const app = await startModule({ platform, replaced, changes, http, controllers });
  return {
    app,
    links,
    url: await app.getUrl(),
    advance: (ms) => (advancedMs += ms),
    close: () => app.close(),
  };
}

export interface ModuleOptions {
  /** What PlatformModule provides. */
  readonly platform: ReadonlyMap<symbol, unknown>;
  readonly replaced?: readonly Provider[];
  readonly changes?: Partial<PaymentPagesConfig> | undefined;
  readonly http?: HttpServerOptions | undefined;
  /** Of other apps in the process. */
  readonly controllers?: readonly Type[] | undefined;
}

/** The module of the app on a port of this machine. */
export async function startModule({
  platform: given,
  replaced = [],
  changes = {},
  http,
  controllers = [],
}: ModuleOptions): Promise<NestFastifyApplication> {
  ensureScript();
  const platform: DynamicModule = {
    module: TestPlatform,
    providers: [...given].map(([provide, useValue]) => ({ provide, useValue })),
    exports: [...given.keys()],
  };
  const pages = PaymentPagesModule.register({ ...config, ...changes }, replaced);
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: class Root {}, imports: [platform, pages], controllers: [...controllers] },
    httpAdapter(http),
    { bodyParser: false, logger: false, abortOnError: false },
  );
  configureHttp(app);
  await app.listen(0, '127.0.0.1');
  return app;
}

/** The build compiles the script of the pages. Tests run from sources, with or without a build. */
function ensureScript(): void {
  if (existsSync(builtScript)) return;
  const swc = createRequire(import.meta.url).resolve('@swc/cli/bin/swc.js');
  const folder = fileURLToPath(new URL('../..', import.meta.url));
  const args = ['src/browser', '-d', 'dist', '--strip-leading-paths'];
  execFileSync(process.execPath, [swc, ...args, '--config-file', '../../.swcrc'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
