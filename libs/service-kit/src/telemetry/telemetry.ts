/**
 * OpenTelemetry: spans and metrics go to OTEL_EXPORTER_OTLP_ENDPOINT, if that is set. Only then is the SDK
 * loaded, which saves memory otherwise.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { diag, DiagLogLevel, type MeterProvider } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { Sampler } from '@opentelemetry/sdk-trace-node';
import type { Registry } from 'prom-client';
import type { BrokerConfig, ProcessConfig } from '../environment.js';
import type { Logger } from '../logging.js';
import { traceBatches } from './batches.js';
import { instrument } from './instrumentations.js';
import { privateSpans } from './private-spans.js';

export type TelemetryConfig = Pick<
  ProcessConfig,
  | 'OTEL_EXPORTER_OTLP_ENDPOINT'
  | 'OTEL_METRICS_EXPORTER'
  | 'OTEL_METRIC_EXPORT_INTERVAL'
  | 'OTEL_TRACES_SAMPLER'
  | 'OTEL_TRACES_SAMPLER_ARG'
> &
  Pick<BrokerConfig, 'PIS_BROKER'>;

export interface Telemetry {
  readonly isOn: boolean;
  /** Exports this registry at intervals from now on. */
  exportMetrics(registry: Registry): void;
  /** Sends what remains, and stops. It never fails, so that telemetry cannot break a shutdown. */
  stop(): Promise<void>;
}

/** Time limit for the last spans and metrics during a shutdown, which has 10 s in total. */
const reportMs = 60_000;
const flushLimitMs = 2_000;

const off: Telemetry = {
  isOn: false,
  exportMetrics: () => undefined,
  stop: () => Promise.resolve(),
};

/** @param app the name of the app: `service.name` is `pis-<app>` */
export async function startTelemetry(
  app: string,
  config: TelemetryConfig,
  logger: Logger,
): Promise<Telemetry> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return off;
  const resource = await resourceOf(app);
  reportProblems(logger);
  const metrics =
    config.OTEL_METRICS_EXPORTER === 'none' ? null : await metricsOf(config, resource);
  const tracer = await startTracing(config, resource, metrics?.provider);
  return {
    isOn: true,
    exportMetrics: (registry) => metrics?.export(registry),
    stop: () => withinLimit(() => Promise.all([tracer.shutdown(), metrics?.shutdown()]), logger),
  };
}

/** Who sends: the app, and what OTEL_RESOURCE_ATTRIBUTES says, such as the environment. */
async function resourceOf(app: string): Promise<Resource> {
  const { detectResources, envDetector, resourceFromAttributes } = await import(
    '@opentelemetry/resources'
  );
  // All processes may have the same variables, so these come first: they must not make one name of all.
  return detectResources({ detectors: [envDetector] }).merge(
    resourceFromAttributes({
      'service.name': `pis-${app}`,
      'service.namespace': 'pis',
      'service.instance.id': randomUUID(),
    }),
  );
}

async function startTracing(
  config: TelemetryConfig,
  resource: Resource,
  meterProvider: MeterProvider | undefined,
): Promise<{ shutdown(): Promise<void> }> {
  const [sdk, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const provider = new sdk.NodeTracerProvider({
    resource,
    sampler: samplerOf(config, sdk),
    spanProcessors: [new sdk.BatchSpanProcessor(privateSpans(new OTLPTraceExporter()))],
  });
  provider.register();
  traceBatches();
  await instrument(provider, meterProvider);
  return provider;
}

/** By the names that OpenTelemetry specifies. */
function samplerOf(
  { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: TelemetryConfig,
  sdk: typeof import('@opentelemetry/sdk-trace-node'),
): Sampler {
  const samplers = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(ratio),
  } as const;
  const byParent = 'parentbased_';
  const root = name.replace(byParent, '') as keyof typeof samplers;
  const sampler = samplers[root]();
  return name.startsWith(byParent) ? new sdk.ParentBasedSampler({ root: sampler }) : sampler;
}

async function metricsOf(config: TelemetryConfig, resource: Resource) {
  const { metricsOverOtlp } = await import('./otlp-metrics.js');
  return metricsOverOtlp(resource, {
    intervalMs: config.OTEL_METRIC_EXPORT_INTERVAL,
    messagingSystem: config.PIS_BROKER === 'kafka' ? 'kafka' : 'pis_embedded',
  });
}

async function withinLimit(work: () => Promise<unknown>, logger: Logger): Promise<void> {
  const late = new AbortController();
  const limit = delay(flushLimitMs, undefined, { signal: late.signal }).then(() => {
    throw new Error(`no answer within ${flushLimitMs} ms`);
  });
  try {
    await Promise.race([work(), limit]);
  } catch (err) {
    logger.warn({ err }, 'the last traces and metrics could not be sent');
  } finally {
    late.abort();
  }
}

/**
 * Nothing else reports a collector that is unavailable or refuses what it gets: the first time, and then once a minute
 * with the number of suppressed lines.
 */
export function reportProblems(
  logger: Pick<Logger, 'warn'>,
  now: () => number = () => performance.now(),
): void {
  const ignore = () => undefined;
  let loggedAtMs = -Infinity;
  let leftOut = 0;
  const warn = (detail: string) => {
    if (now() - loggedAtMs < reportMs) {
      leftOut += 1;
      return;
    }
    logger.warn({ detail, leftOut }, 'a problem with sending traces or metrics');
    loggedAtMs = now();
    leftOut = 0;
  };
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
