/**
 * Tracing: OpenTelemetry spans, exported only if OTEL_EXPORTER_OTLP_ENDPOINT is set. Only then is the SDK
 * loaded, which saves memory otherwise. The context crosses processes as W3C traceparent in event metadata
 * and message headers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  context,
  diag,
  DiagLogLevel,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { ConsumerStrategy, MessageContext } from '@pis/messaging';
import type { FastifyInstance } from 'fastify';
import type { Logger } from './logging.js';

const tracer = trace.getTracer('pis');

/** Time limit for the last spans during a shutdown, which has 10 s in total. */
const flushLimitMs = 2_000;

/**
 * Starts exporting if there is an endpoint. The SDK reads the standard OTEL_* variables itself.
 * @returns a function that sends the remaining spans and stops. It never fails, so that traces cannot break
 *   a shutdown
 */
export async function startTracing(
  app: string,
  endpoint: string | undefined,
  logger: Logger,
): Promise<() => Promise<void>> {
  if (endpoint === undefined) return () => Promise.resolve();
  const [{ NodeTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, resources] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const provider = new NodeTracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': `pis-${app}` }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  reportProblems(logger);
  return async () => {
    const late = new AbortController();
    const limit = delay(flushLimitMs, undefined, { signal: late.signal }).then(() => {
      throw new Error(`no answer within ${flushLimitMs} ms`);
    });
    try {
      await Promise.race([provider.shutdown(), limit]);
    } catch (err) {
      logger.warn({ err }, 'the last traces could not be sent');
    } finally {
      late.abort();
    }
  };
}

/** Nothing else reports a collector that is unavailable or refuses spans. */
function reportProblems(logger: Logger): void {
  const ignore = () => undefined;
  const warn = (detail: string) => logger.warn({ detail }, 'a problem with sending traces');
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** The current span as a traceparent header, or null without tracing. */
export function currentTraceparent(): string | null {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent ?? null;
}

/**
 * Runs `work` in a span that continues `traceparent`. Attributes name records, never their contents.
 */
export function traced<Result>(
  name: string,
  options: {
    readonly kind: 'server' | 'consumer' | 'client' | 'internal';
    readonly traceparent?: string | null | undefined;
    readonly attributes?: Attributes;
  },
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const parent = options.traceparent
    ? propagation.extract(context.active(), { traceparent: options.traceparent })
    : context.active();
  const kind = {
    server: SpanKind.SERVER,
    consumer: SpanKind.CONSUMER,
    client: SpanKind.CLIENT,
    internal: SpanKind.INTERNAL,
  }[options.kind];
  return tracer.startActiveSpan(
    name,
    { kind, attributes: options.attributes ?? {} },
    parent,
    async (span) => {
      try {
        return await work(span);
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: errorName(error) });
        throw error;
      } finally {
        span.end();
      }
    },
  );
}

/**
 * A span for each request, active during the whole request. It continues the caller's traceparent. Its
 * name is the pattern of the route and never the path, because a path may contain a token.
 */
export function traceHttp(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { traceparent } = request.headers;
    const parent =
      typeof traceparent === 'string'
        ? propagation.extract(context.active(), { traceparent })
        : context.active();
    const name = `${request.method} ${request.routeOptions.url ?? 'unknown route'}`;
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
    reply.raw.once('close', () => {
      span.setAttribute('http.response.status_code', reply.statusCode);
      if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(parent, span), done);
  });
}

/** A span for each message that a consumer handles. It continues the trace of the event. */
export function traceConsumer(strategy: ConsumerStrategy): void {
  strategy.setOnProcessingStartHook((_transport, handled, done) => {
    const { topic, headers } = (handled as MessageContext).getDelivery();
    const traceparent = headers['traceparent'];
    // The strategy handles the outcome: it waits for `done` itself.
    void traced(`${strategy.group} ${topic}`, { kind: 'consumer', traceparent }, () =>
      Promise.resolve(done()),
    ).catch(() => undefined);
  });
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : 'Error';
}
