/**
 * Metrics over OTLP. The registry that serves /metrics stays the only source: at each interval it is read and
 * converted, so that both ways show the same numbers. Metrics for which OpenTelemetry has a convention are
 * exported under its names. Only the durations of queries come from the instrumentation of pg itself.
 *
 * Loaded only while telemetry is on.
 */
import {
  type Attributes,
  type HrTime,
  type MeterProvider as MeterProviderApi,
  ValueType,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { emptyResource, type Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  AggregationType,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';
import { type Convention, conventions } from './metric-conventions.js';

export interface OtlpMetricsOptions {
  readonly intervalMs: number;
  /** `messaging.system` of the broker. */
  readonly messagingSystem: string;
}

export interface OtlpMetrics {
  readonly provider: MeterProviderApi;
  export(registry: Registry): void;
  shutdown(): Promise<void>;
}

const exportTimeoutMaxMs = 10_000;

export function metricsOverOtlp(
  resource: Resource,
  { intervalMs, messagingSystem }: OtlpMetricsOptions,
): OtlpMetrics {
  const table = conventions(messagingSystem);
  let registry: Registry | null = null;
  const producer: MetricProducer = {
    collect: async () => {
      const read = (await registry?.getMetricsAsJSON()) ?? [];
      const metrics = read.flatMap((metric) => metricDataOf(metric, table, new Date()) ?? []);
      const scopeMetrics = [{ scope: { name: 'pis' }, metrics }];
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
    },
  };
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, exportTimeoutMaxMs),
    metricProducers: [producer],
  });
  const provider = new MeterProvider({
    resource,
    readers: [reader],
    // The registry counts the connections of the pools itself.
    views: [
      {
        instrumentName: 'db.client.connection.*',
        aggregation: { type: AggregationType.DROP },
      },
    ],
  });
  return {
    provider,
    export: (from) => (registry = from),
    shutdown: () => provider.shutdown(),
  };
}

const startedAt = new Date(performance.timeOrigin);

/** Null for a kind that OTLP does not have, or without a value. */
export function metricDataOf(
  metric: MetricObjectWithValues<MetricValue<string>>,
  table: Readonly<Record<string, Convention>>,
  now: Date,
): MetricData | null {
  const { name, help, values } = metric;
  const convention = table[name];
  const unit = convention?.unit ?? unitOf(name);
  const base = {
    descriptor: {
      name: convention?.name ?? name,
      description: help,
      unit,
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const times = { startTime: hrTime(startedAt), endTime: hrTime(now) };
  const point = ({ labels, value }: MetricValue<string>) => ({
    ...times,
    attributes: attributesOf(labels, convention),
    value,
  });
  // A number that is unknown is NaN, which JSON does not have.
  const known = values.filter(({ value }) => Number.isFinite(value));
  if (known.length === 0) return null;
  // prom-client declares an enum, and gives its names.
  switch (String(metric.type)) {
    case 'counter':
      return {
        ...base,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: known.map(point),
      };
    case 'gauge':
      return { ...base, dataPointType: DataPointType.GAUGE, dataPoints: known.map(point) };
    case 'histogram':
      return {
        ...base,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: histogramsOf(name, known).map((histogram) => ({
          ...times,
          attributes: attributesOf(histogram.labels, convention),
          value: histogram.value,
        })),
      };
    default:
      return null;
  }
}

interface Series {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly upTo: { readonly bound: number; readonly count: number }[];
  sum: number;
  count: number;
}

/** Prometheus counts what is up to a bound, and OTLP what is between two bounds. */
function histogramsOf(name: string, values: readonly MetricValue<string>[]) {
  const series = new Map<string, Series>();
  for (const { labels, value, ...rest } of values) {
    const { le, ...others } = labels as Record<string, string | number>;
    const key = JSON.stringify(Object.entries(others).toSorted());
    const one = series.get(key) ?? { labels: others, upTo: [], sum: 0, count: 0 };
    series.set(key, one);
    const part = (rest as { readonly metricName?: string }).metricName;
    if (part === `${name}_sum`) one.sum = value;
    else if (part === `${name}_count`) one.count = value;
    else if (le !== '+Inf') one.upTo.push({ bound: Number(le), count: value });
  }
  return [...series.values()].map(({ labels, upTo, sum, count }) => {
    upTo.sort((a, b) => a.bound - b.bound);
    const counts = [...upTo.map((bucket) => bucket.count), count].map(
      (total, index) => total - (upTo[index - 1]?.count ?? 0),
    );
    return {
      labels,
      value: { buckets: { boundaries: upTo.map(({ bound }) => bound), counts }, sum, count },
    };
  });
}

/** Without the label of the app, which is the resource. */
function attributesOf(
  labels: Readonly<Partial<Record<string, string | number>>>,
  convention: Convention | undefined,
): Attributes {
  const attributes: Attributes = { ...convention?.constants };
  for (const [label, value] of Object.entries(labels)) {
    if (label === 'app' || value === undefined) continue;
    const name = convention?.attributes[label] ?? label;
    attributes[name] = convention?.integers?.includes(label) === true ? Number(value) : value;
  }
  return attributes;
}

function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's';
  return /_bytes(_total)?$/.test(name) ? 'By' : '';
}

function hrTime(at: Date): HrTime {
  const ms = at.getTime();
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)];
}
