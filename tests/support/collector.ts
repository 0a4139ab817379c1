/** A small OpenTelemetry collector (OTLP over HTTP) that keeps everything it receives. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  readonly app: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the first span of a trace. */
  readonly parentSpanId?: string;
  /** The spans that it links to. */
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** One series of a metric, as it was exported last. */
export interface CollectedSeries {
  readonly app: string;
  readonly name: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram the number of observations. */
  readonly value: number;
}

export interface Collector {
  /** The environment variables that make processes send their traces here quickly. */
  readonly environment: Readonly<Record<string, string>>;
  /** Takes what is sent to staff, and keeps it with the traces. */
  readonly staffUrl: string;
  /** Everything received so far, as text: protobuf and JSON both contain strings in the clear. */
  text(): string;
  spans(): readonly CollectedSpan[];
  metrics(): readonly CollectedSeries[];
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const bodiesAt = (path: string) => received.filter(({ url }) => url === path);
  const received: { readonly url: string | undefined; readonly body: Buffer }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ url: request.url, body: Buffer.concat(chunks) });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      // Compressed data cannot be searched, and tests should not wait five seconds for a batch.
      OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '500',
    },
    staffUrl: `http://127.0.0.1:${port}/staff`,
    text: () => Buffer.concat(received.map(({ body }) => body)).toString('latin1'),
    spans: () => bodiesAt('/v1/traces').flatMap(({ body }) => spansIn(body)),
    metrics: () => {
      const latest = new Map<string, CollectedSeries>();
      for (const series of bodiesAt('/v1/metrics').flatMap(({ body }) => seriesIn(body)))
        latest.set(JSON.stringify([series.app, series.name, series.attributes]), series);
      return [...latest.values()];
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface Resource {
  readonly attributes: readonly Attribute[];
}
interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links?: readonly { readonly spanId: string }[];
  readonly attributes?: readonly Attribute[];
}
interface Point {
  readonly attributes?: readonly Attribute[];
  readonly asDouble?: number;
  readonly asInt?: number;
  readonly count?: number;
}
interface OtlpMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly dataPoints: readonly Point[] };
  readonly gauge?: { readonly dataPoints: readonly Point[] };
  readonly histogram?: { readonly dataPoints: readonly Point[] };
}
interface Traces {
  readonly resourceSpans: readonly {
    readonly resource: Resource;
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}
interface Metrics {
  readonly resourceMetrics: readonly {
    readonly resource: Resource;
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[];
  }[];
}

/** The numbers of OTLP. */
const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

function spansIn(body: Buffer): readonly CollectedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString('utf8')) as Traces;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, kind, traceId, spanId, parentSpanId, links = [], attributes = [] }) => ({
        app: appOf(resource),
        ...{ name, kind: kinds[kind] ?? 'internal', traceId, spanId },
        ...(parentSpanId ? { parentSpanId } : {}),
        links: links.map((link) => link.spanId),
        attributes: valuesOf(attributes),
      })),
    ),
  );
}

function seriesIn(body: Buffer): readonly CollectedSeries[] {
  const { resourceMetrics } = JSON.parse(body.toString('utf8')) as Metrics;
  return resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ name, unit, sum, gauge, histogram }) =>
        ((sum ?? gauge ?? histogram)?.dataPoints ?? []).map((point) => ({
          app: appOf(resource),
          ...{ name, unit, attributes: valuesOf(point.attributes ?? []) },
          value: Number(point.asDouble ?? point.asInt ?? point.count),
        })),
      ),
    ),
  );
}

function appOf({ attributes }: Resource): string {
  return String(valuesOf(attributes)['service.name']).replace(/^pis-/, '');
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
