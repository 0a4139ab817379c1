/** Composes the dispatcher, without Nest: from an event to its deliveries and their attempts. */
import { randomUUID } from 'node:crypto';
import type { WebhookIntegrationEvent } from '@pis/contracts';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { AgreeingClocks, Bell, type ClockLimit, notifyOfWork, type WakeUp } from '@pis/postgres';
import { eventsQuery } from '@pis/read-models';
import {
  type DispatcherConfig,
  inTraceOf,
  type Logger,
  Repeating,
  streamStates,
  type WebhooksConfig,
} from '@pis/service-kit';
import {
  type DeliveryResult,
  type EgressRules,
  guardedClient,
  type GuardedClient,
  type OutcomeClass,
  retryWindowMs,
  retryWindowsOf,
} from '@pis/webhooks';
import type pg from 'pg';
import type { Registry } from 'prom-client';
import { type AttemptDeps, attemptDelivery } from './attempt.js';
import {
  countBacklog,
  type Delivery,
  DeliveryTable,
  fanOutsKnownSince,
  forgetFailures,
  Partitions,
  ReplayTable,
  reportFailingEndpoints,
} from '@pis/webhook-deliveries';
import { DeliveryEngine, type EngineDeps, type EngineLimits } from './delivery-engine.js';
import { dispatcherMetrics } from './dispatcher-metrics.js';
import { EndpointDirectory, type EndpointDirectoryOptions } from './endpoint-directory.js';
import { erasedLookup } from './erased-lookup.js';
import { failureNotices } from './failure-notices.js';
import { fanOut, type FanOutDeps } from './fan-out.js';
import { dispatcherLimits, type FailureReportLimits, leaseMs, slotsOf } from './limits.js';
import { Traffic, type TrafficLimits } from './traffic.js';
import { type ReplayDeps, type ReplayLimits, ReplayWorker } from './replay-worker.js';

export interface DispatcherOptions {
  readonly config: WebhooksConfig & Partial<DispatcherConfig>;
  /** PEM certificates trusted in addition to the system's roots. */
  readonly extraCaPem?: string;
  /** Never sent to, even if their network is exempt. */
  readonly ownHosts?: EgressRules['ownHosts'];
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly metrics: Registry;
  /** Rung when a replay was requested. Without it the dispatcher looks for replays every two seconds. */
  readonly replaysWakeUp?: WakeUp;
  /** Rung when deliveries may be due in the table. Without it the dispatcher looks at the table every two seconds. */
  readonly deliveriesWakeUp?: WakeUp;
  /** UUID of this process in its leases. A new one when absent. */
  readonly owner?: string;
  /** The clock of schedule, leases and signatures. The system's when absent. */
  readonly now?: () => Date;
  /** The clock that is compared with PostgreSQL's, milliseconds since the epoch. The system's when absent. */
  readonly wallClock?: () => number;
  /** From 0 to 1, for the jitter. Math.random when absent. */
  readonly random?: () => number;
  /** Override those of limits.ts. */
  readonly limits?: Partial<EngineLimits & TrafficLimits> & {
    readonly endpointFreshForMs?: number;
    readonly replays?: Partial<ReplayLimits>;
    readonly failureReports?: Partial<FailureReportLimits>;
  };
}

export interface Dispatcher {
  /**
   * Resolves once the event's deliveries are stored. @throws what its stores throw. Pass the event again then
   * @param waitingSince when the event was deferred. Null or absent for an event that was not
   */
  handle(event: WebhookIntegrationEvent, waitingSince?: Date | null): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { config, keyring, pool, logger, limits = {} } = options;
  const now = options.now ?? (() => new Date());
  const {
    endpointFreshForMs = dispatcherLimits.endpoints.freshForMs,
    replays: replayLimits,
    failureReports: failureReportLimits,
    ...engineLimits
  } = limits;
  const client = clientOf(options);
  const slots = slotsOf(config.PIS_WEBHOOK_CONCURRENCY);
  const traffic = new Traffic({ ...dispatcherLimits.engine, ...slots, ...engineLimits });
  const endpoints = endpointDirectoryOf(options, {
    freshForMs: endpointFreshForMs,
    onDeleted: (endpointId) => traffic.clearFailures(endpointId),
    onEnabled(endpointId) {
      traffic.open(endpointId);
      engine.expectMore(endpointId);
    },
  });
  const owner = options.owner ?? randomUUID();
  const metrics = dispatcherMetrics(options.metrics, {
    backlog: () => countBacklog(pool, now()),
    traffic,
    now,
  });
  const attemptDeps: AttemptDeps = {
    endpointOf: ({ organizationId, endpointId }) => endpoints.current(organizationId, endpointId),
    keyring,
    client,
    ...retriesOf(config),
    now,
    random: options.random ?? Math.random,
    observeAttempt(outcome, result, delivery) {
      metrics.observeAttempt(outcome, result, delivery);
      logAttempt(logger, outcome, result, delivery);
    },
  };
  const table = new DeliveryTable(pool, owner);
  const engine = createEngine(options, { table, traffic, attemptDeps, now, limits: engineLimits });
  const maintenance = maintenanceOf(options, now, {
    ...dispatcherLimits.failureReports,
    ...failureReportLimits,
  });
  const replays = createReplayWorker(options, {
    table: new ReplayTable(pool, owner),
    endpointOf: (organizationId, endpointId) => endpoints.current(organizationId, endpointId),
    notify: (endpointId) => engine.expectMore(endpointId),
    now,
    limits: { ...dispatcherLimits.replays, ...replayLimits },
  });
  const fanOutDeps = fanOutDepsOf(options, {
    endpoints,
    deliver: (event) => engine.deliver(event),
    now,
    countTooOld: metrics.eventTooOld,
  });
  return {
    handle: (event, waitingSince) => fanOut(fanOutDeps, event, waitingSince),
    start() {
      endpoints.start();
      engine.start();
      replays.start();
      for (const task of maintenance) task.start();
    },
    async stop() {
      const parts = [engine, replays, endpoints, ...maintenance];
      await Promise.all(parts.map((part) => part.stop()));
      await client.close();
    },
  };
}

const dayMs = 24 * 3_600_000;

/**
 * A receiver refuses a signature that is more than five minutes away from its clock (rule signature-3), and its 401 ends the delivery
 * for good (rule delivery-6). Part of this time is left for the receiver's own clock and the way to it. Other dispatchers deliver
 * meanwhile. If PostgreSQL's clock is the wrong one, all webhooks wait: waiting can be made good, a refusal cannot.
 */
const signedTimes: ClockLimit = {
  maxMs: 4 * 60_000,
  consequence: 'so it sends no webhooks: see PisClockDiffers in docs/runbooks/log.md',
};

function clientOf({ config, extraCaPem, ownHosts }: DispatcherOptions): GuardedClient {
  const egressProxy = config.PIS_WEBHOOK_EGRESS_PROXY;
  return guardedClient({
    allowedNetworks: config.PIS_WEBHOOK_ALLOWED_NETWORKS,
    timeoutMs: config.PIS_WEBHOOK_TIMEOUT_MS,
    connectionsPerOriginMax: slotsOf(config.PIS_WEBHOOK_CONCURRENCY).connectionsPerOriginMax,
    ...(extraCaPem === undefined ? {} : { extraCaPem }),
    ...(ownHosts === undefined ? {} : { ownHosts }),
    ...(egressProxy === undefined ? {} : { egressProxy }),
  });
}

function endpointDirectoryOf(
  { store, pool, keyring, logger }: DispatcherOptions,
  parts: Pick<EndpointDirectoryOptions, 'freshForMs' | 'onDeleted' | 'onEnabled'>,
): EndpointDirectory {
  return new EndpointDirectory(store, {
    ...dispatcherLimits.endpoints,
    ...parts,
    logError: (error, what) => logger.warn({ err: error }, what),
    states: streamStates(pool, keyring, logger),
  });
}

function retriesOf(config: WebhooksConfig): Pick<AttemptDeps, 'retryPolicy' | 'windowMsOf'> {
  const windows = retryWindowsOf(config);
  return {
    retryPolicy: {
      initialMs: config.PIS_WEBHOOK_RETRY_INITIAL_MS,
      maxMs: config.PIS_WEBHOOK_RETRY_MAX_MS,
    },
    windowMsOf: (eventType) => retryWindowMs(windows, eventType),
  };
}

/** The retry windows of all categories of events. */
function windowsMs(config: WebhooksConfig): readonly number[] {
  return Object.values(retryWindowsOf(config));
}

function logAttempt(
  logger: Logger,
  outcome: OutcomeClass,
  { status, durationMs, error }: DeliveryResult,
  { id: deliveryId, endpointId, eventType, attempts }: Delivery,
): void {
  const attempt = { number: attempts + 1, outcome, status, durationMs, error: error?.code };
  logger.debug({ deliveryId, endpointId, eventType, attempt }, 'webhook attempt');
}

function fanOutDepsOf(
  { config, logger, pool }: DispatcherOptions,
  {
    countTooOld,
    ...parts
  }: Pick<FanOutDeps, 'endpoints' | 'deliver' | 'now'> & { readonly countTooOld: () => void },
): FanOutDeps {
  const kept = keptOf(config);
  return {
    ...parts,
    erasedAmong: erasedLookup(pool),
    windowMsOf: retriesOf(config).windowMsOf,
    knownSince: (at) => fanOutsKnownSince(at, kept),
    onTooOld({ eventId, occurredAt }) {
      countTooOld();
      logger.warn({ eventId, occurredAt }, 'event too old for deliveries');
    },
  };
}

/** How long deliveries are kept. */
function keptOf(config: WebhooksConfig): { retentionDays: number; windowMs: number } {
  return {
    retentionDays: config.PIS_WEBHOOK_RETENTION_DAYS,
    windowMs: Math.max(...windowsMs(config)),
  };
}

/** Maintains the partitions, and tells operators of endpoints that fail for a day. */
function maintenanceOf(
  { config, pool, store, logger }: DispatcherOptions,
  now: () => Date,
  reports: FailureReportLimits,
): readonly Repeating[] {
  const { everyMs, againMs, ...limits } = dispatcherLimits.partitions;
  const kept = keptOf(config);
  const partitions = new Partitions({
    pool,
    now,
    ...kept,
    limits,
    onDropped: (partition) => logger.info({ partition }, 'dropped a day past its retention'),
  });
  const tell = failureNotices(store, logger);
  return [
    new Repeating({
      async round(signal) {
        await partitions.maintain(signal);
        return everyMs;
      },
      failed(error) {
        logger.warn({ err: error }, 'the days of the webhook tables could not be maintained yet');
        return againMs;
      },
    }),
    new Repeating({
      async round() {
        const time = now();
        await reportFailingEndpoints(pool, { now: time, max: reports.batchMax }, tell);
        const forgottenBefore = new Date(time.getTime() - kept.windowMs - dayMs);
        await forgetFailures(pool, forgottenBefore, reports.batchMax);
        return reports.everyMs;
      },
      failed(error) {
        logger.warn({ err: error }, 'failing webhook endpoints could not be reported yet');
        return reports.everyMs;
      },
    }),
  ];
}

function createEngine(
  { config, logger, pool, wallClock: own, deliveriesWakeUp: wakeUp }: DispatcherOptions,
  parts: Pick<EngineDeps, 'table' | 'traffic' | 'now'> & {
    readonly attemptDeps: AttemptDeps;
    readonly limits: Partial<EngineLimits>;
  },
): DeliveryEngine {
  const { attemptDeps, limits, ...others } = parts;
  return new DeliveryEngine({
    ...others,
    clocks: new AgreeingClocks(pool, { limit: signedTimes, own }),
    ...(wakeUp !== undefined && { wakeUp, tellOthers: () => notifyOfWork(pool, 'deliveries') }),
    // The engine calls this from whatever has freed a slot.
    attempt: (delivery, mayBegin, signal) =>
      inTraceOf(delivery.traceparent, () =>
        attemptDelivery(attemptDeps, delivery, mayBegin, signal),
      ),
    windowMinMs: Math.min(...windowsMs(config)),
    logError: (error, what, about) => logger.warn({ err: error, ...about }, what),
    limits: {
      ...dispatcherLimits.engine,
      leaseMs: leaseMs(config.PIS_WEBHOOK_TIMEOUT_MS),
      ...limits,
    },
  });
}

function createReplayWorker(
  { config, store, pool, logger, replaysWakeUp }: DispatcherOptions,
  parts: Pick<ReplayDeps, 'table' | 'endpointOf' | 'notify' | 'now' | 'limits'>,
): ReplayWorker {
  return new ReplayWorker({
    ...parts,
    wakeUp: replaysWakeUp ?? { bell: new Bell(), idleMs: () => parts.limits.pollMs },
    store,
    pool,
    events: eventsQuery(pool),
    windowMsOf: retriesOf(config).windowMsOf,
    keptMs: config.PIS_WEBHOOK_RETENTION_DAYS * dayMs,
    logError: (error, what, about) => logger.warn({ err: error, ...about }, what),
  });
}
