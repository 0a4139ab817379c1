/**
 * Runs a Nest app: checks its configuration, serves health and metrics first, starts the consumers when the
 * schema is current, prints one ready line, and ends every loop in order at shutdown.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { isTransient, reasonOf, sqlStateOf } from '@pis/postgres';
import { waitForCurrentSchema } from '@pis/read-models';
import type pg from 'pg';
import type { Registry } from 'prom-client';
import type { z } from 'zod';
import type { App, ConfigOf } from './app.js';
import { ConfigurationError, loadConfig } from './config.js';
import { type ConsumerStrategy, consumerStrategies } from './consumers.js';
import { type PlatformConfig, platformEnv } from './environment.js';
import type { Health } from './health.js';
import { drainOf, httpAdapter } from './http-server.js';
import { integrationFeeds } from '@pis/integration';
import { heldLogger } from './quarantine-metrics.js';
import { assertCanListen } from './listen-check.js';
import { createLogger, type Logger, logWarnings, nestLogger } from './logging.js';
import { metricsHost, metricsServer } from './metrics-server.js';
import { directUrlOf, type OpenStore } from './composition.js';
import { warnOfPlainConnections } from './plain-connections.js';
import { checkPooler } from './pooler-check.js';
import { PlatformModule } from './platform.module.js';
import { refuseUndeclared } from './public-route.js';
import { onShutdownSignal } from './shutdown.js';
import type { LogWatch } from './log-watch.js';
import type { StoreCheck } from './store-binding.js';
import { EVENT_STORE, HEALTH, LOG_WATCH, METRICS, PG_POOL, STORE_CHECK } from './tokens.js';
import { measureHttp } from './http-metrics.js';
import { startTelemetry } from './telemetry/telemetry.js';
import { traceConsumer, traceHttp } from './tracing.js';

export interface RunningApp {
  readonly app: NestFastifyApplication;
  readonly url: string;
  /** How long `close` may take before the process ends anyway. */
  readonly shutdownLimitMs: number;
  close(): Promise<void>;
}

/** Kubernetes removes an address from its endpoints, on every node, within a few seconds. */
const containerDrainMs = 5_000;
/** After this time the process exits, whatever is still open. With the default drain, this is within 10 s. */
const shutdownMs = 9_000;
/** The least time for open requests and loops to end after the drain. */
const shutdownAfterDrainMs = 4_000;
const checkRetryMs = 500;

/** How long the app continues to serve after SIGTERM. */
function drainMsOf<Shape extends z.ZodRawShape>(
  { defaultDrainMs = containerDrainMs }: App<Shape>,
  { PIS_SHUTDOWN_DRAIN_MS }: PlatformConfig,
): number {
  return PIS_SHUTDOWN_DRAIN_MS ?? defaultDrainMs;
}

/** Runs one app from the environment until a signal ends it. If it cannot start, exits 1 with one message. */
export async function runApp<Shape extends z.ZodRawShape>(definition: App<Shape>): Promise<void> {
  let logger: Logger | undefined;
  let ending = false;
  try {
    // Partial: of the variables of this app, those that it names.
    const requiredInProduction = { ...definition.requiredInProduction } as Record<string, string>;
    const config = loadConfig({ ...platformEnv, ...definition.env }, process.env, {
      required: ['DATABASE_URL', ...(definition.required ?? [])],
      requiredInProduction,
    }) as unknown as ConfigOf<Shape>;
    logger = createLogger(definition.name, config.LOG_LEVEL);
    logWarnings(logger);
    for (const [variable, reason] of Object.entries(requiredInProduction))
      if (config[variable as keyof typeof config] === undefined)
        logger.warn({ variable }, `${variable} is not set: ${reason}`);
    const running = await startApp(definition, config, config.DATABASE_URL ?? '', logger);
    onShutdownSignal({
      logger,
      limitMs: running.shutdownLimitMs,
      close: () => {
        ending = true;
        return running.close();
      },
    });
    await running.ready;
    process.stdout.write(
      `${JSON.stringify({ ready: true, app: definition.name, url: running.url })}\n`,
    );
  } catch (error) {
    // A signal during the wait for dependencies is not a failure: the shutdown exits when it is done.
    if (!ending) fail(error, logger);
  }
}

/** Prints one message on stderr and sets exit code 1. */
export function fail(error: unknown, logger?: Logger): void {
  const expected = error instanceof ConfigurationError || 'code' in Object(error);
  if (expected || logger === undefined) process.stderr.write(`${(error as Error).message}\n`);
  else logger.fatal({ err: error }, 'cannot start');
  process.exit(1);
}

@Module({})
class RootModule {}

/**
 * Listens at once. `ready` resolves when the schema is current and the consumers have started.
 * @param openStore see PlatformOptions
 */
export async function startApp<Shape extends z.ZodRawShape>(
  definition: App<Shape>,
  config: ConfigOf<Shape>,
  databaseUrl: string,
  logger: Logger,
  openStore?: OpenStore,
): Promise<RunningApp & { readonly ready: Promise<void> }> {
  const metricsApart = servesMetricsApart(definition, config);
  const host = config.HOST ?? definition.defaultHost ?? '0.0.0.0';
  await assertCanListen([
    { variable: 'PORT', host, port: config.PORT },
    ...(metricsApart
      ? [{ variable: 'PIS_METRICS_PORT', host: metricsHost(config), port: config.PIS_METRICS_PORT }]
      : []),
  ]);
  const telemetry = await startTelemetry(definition.name, config, logger);
  const root = rootModule(definition, config, databaseUrl, logger, openStore);
  const app = await createApplication(root, config, logger);
  const drain = drainOf(app);
  const drainMs = drainMsOf(definition, config);
  const http = app.getHttpAdapter().getInstance();
  const registry = app.get<Registry>(METRICS);
  if (telemetry.isOn) traceHttp(http);
  measureHttp(http, registry);
  telemetry.exportMetrics(registry);
  await definition.configureHttp?.(app, config);
  const strategies = connectConsumers(app, definition.consumers, config, logger);
  if (telemetry.isOn) strategies.forEach(traceConsumer);
  let metrics: Awaited<ReturnType<typeof metricsServer>> | undefined;
  try {
    await app.listen(config.PORT, host);
    if (metricsApart) metrics = await metricsServer(registry, config);
  } catch (error) {
    // The loops run already. End them before the caller stops the database.
    await app.close();
    throw error;
  }

  const health = app.get<Health>(HEALTH);
  const closing = new AbortController();
  const { signal } = closing;
  warnOfPlainConnections(config, logger);
  const prepared = async () => {
    // First: a migration must not change another database.
    const pooler = { config, databaseUrl, app: definition.name, logger };
    await onceAvailable({ signal, logger }, () => checkPooler(pooler));
    await Promise.all([
      definition.prepare?.({ app, config, databaseUrl, logger, signal }),
      checkStores(app.get<StoreCheck>(STORE_CHECK), config, databaseUrl, { signal, logger }),
    ]);
  };
  const ready = prepared().then(async () => {
    // Wait for the first check of the log: clients may send commands as soon as the app is ready.
    await app.get<LogWatch>(LOG_WATCH).untilChecked(signal);
    if (strategies.length > 0) await app.startAllMicroservices();
    // The next health report must not use the cached state from before.
    health.refresh();
  });
  return {
    app,
    url: await app.getUrl(),
    ready,
    shutdownLimitMs: Math.max(shutdownMs, drainMs + shutdownAfterDrainMs),
    close: async () => {
      closing.abort();
      health.end('shutting down');
      // Callers of `ready` receive its error. Here it only has to have ended.
      await Promise.allSettled([ready]);
      await drain.begin(drainMs);
      await app.close().finally(() => drain.end());
      await metrics?.close();
      await telemetry.stop();
    },
  };
}

/** Whether /metrics has a port of its own, because the app's port is public. */
function servesMetricsApart<Shape extends z.ZodRawShape>(
  { publicPort }: App<Shape>,
  { PIS_ENVIRONMENT }: ConfigOf<Shape>,
): boolean {
  return publicPort === true && PIS_ENVIRONMENT === 'production';
}

function rootModule<Shape extends z.ZodRawShape>(
  definition: App<Shape>,
  config: ConfigOf<Shape>,
  databaseUrl: string,
  logger: Logger,
  openStore: OpenStore | undefined,
): DynamicModule {
  // Before register, whose promise nobody would await if this threw. The URL is also that of an embedded
  // database: webhooks must not reach that one either.
  const appModule = definition.module({ ...config, DATABASE_URL: databaseUrl });
  return {
    module: RootModule,
    imports: [
      PlatformModule.register({
        app: definition.name,
        config,
        databaseUrl,
        logger,
        servesMetrics: !servesMetricsApart(definition, config),
        isPublic: definition.publicPort === true,
        ...(openStore === undefined ? {} : { openStore }),
      }),
      appModule,
    ],
  };
}

async function createApplication(
  root: DynamicModule,
  config: ConfigOf<z.ZodRawShape>,
  logger: Logger,
): Promise<NestFastifyApplication> {
  const adapter = httpAdapter({ trustedProxies: config.PIS_TRUSTED_PROXIES });
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, {
    logger: nestLogger(logger),
    abortOnError: false,
    bodyParser: false,
  });
  app.getHttpAdapter().getInstance().addHook('onRoute', refuseUndeclared);
  return app;
}

/** Checks the stores as soon as they are available. Until then the app cannot use them. @throws ConfigurationError */
async function checkStores(
  check: StoreCheck,
  config: PlatformConfig,
  databaseUrl: string,
  start: Start,
): Promise<void> {
  const { signal, logger } = start;
  const connectionString = directUrlOf(config, databaseUrl);
  const log = (line: string) => logger.warn(line);
  await waitForCurrentSchema({ connectionString, signal, log }).catch((error: unknown) => {
    if (!sqlStateOf(error).startsWith(userRefused)) throw error;
    const variable =
      config.DATABASE_DIRECT_URL === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
    throw new ConfigurationError([`${variable}: PostgreSQL refuses this user: ${reasonOf(error)}`]);
  });
  await onceAvailable(start, check);
}

/** Class of SQLSTATEs: a wrong password, an unknown user. */
const userRefused = '28';

interface Start {
  readonly signal: AbortSignal;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Tries again while what the start needs is away, and logs each new reason. @param isAway default: isTransient */
export async function onceAvailable<Result>(
  { signal, logger }: Start,
  work: () => Promise<Result>,
  isAway: (error: unknown) => boolean = isTransient,
): Promise<Result> {
  let lastReason = '';
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !isAway(error)) throw error;
      const reason = reasonsOf(error);
      if (reason !== lastReason) logger.warn(`the start waits: ${reason}`);
      lastReason = reason;
      await delay(checkRetryMs, undefined, { signal });
    }
}

/** The message of an error and of its causes: what is away, and why. */
function reasonsOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? reasonOf(error) : `${reasonOf(error)}: ${reasonsOf(cause)}`;
}

function connectConsumers(
  app: NestFastifyApplication,
  groups: readonly string[],
  config: PlatformConfig,
  logger: Logger,
): ConsumerStrategy[] {
  const store = app.get(EVENT_STORE);
  const pool = app.get<pg.Pool>(PG_POOL);
  const strategies = consumerStrategies(groups, {
    config,
    store,
    pool,
    feedOf: integrationFeeds({
      store,
      pool,
      sameLog: (reader, ending) => app.get<LogWatch>(LOG_WATCH).sameLog(reader, ending),
      onHeld: heldLogger(logger),
    }),
    logger,
    metrics: app.get<Registry>(METRICS),
    health: app.get<Health>(HEALTH),
  });
  for (const strategy of strategies) app.connectMicroservice({ strategy });
  return strategies;
}
