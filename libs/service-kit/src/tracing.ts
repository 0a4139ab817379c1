/**
 * Spans of this system's own steps. Without the SDK, which telemetry/telemetry.ts loads, they record nothing.
 * The context crosses processes as W3C traceparent in event metadata and message headers.
 */
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import type { ConsumerStrategy, MessageContext } from '@pis/messaging';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const tracer = trace.getTracer('pis');

/**
 * In the place of a span that is not recorded: only what others need to know of it. A span there would make the
 * instrumentations work for nothing, and most requests are not recorded.
 */
const unrecorded = createContextKey('the span that is not recorded');

/** The context of the work that belongs to a span. */
function contextOf(span: Span, parent: Context): Context {
  return span.isRecording()
    ? trace.setSpan(parent, span).deleteValue(unrecorded)
    : trace.deleteSpan(parent).setValue(unrecorded, span.spanContext());
}

/** The context that a traceparent describes. */
function extracted(from: Context, traceparent: string): Context {
  return propagation.extract(from.deleteValue(unrecorded), { traceparent });
}

/** The current span as a traceparent header, or null without tracing. */
export function currentTraceparent(): string | null {
  const active = context.active();
  const span = active.getValue(unrecorded) as SpanContext | undefined;
  if (span !== undefined)
    return isSpanContextValid(span) ? `00-${span.traceId}-${span.spanId}-00` : null;
  const carrier: { traceparent?: string } = {};
  propagation.inject(active, carrier);
  return carrier.traceparent ?? null;
}

/** For work in a trace that is not recorded. */
const nothing = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/**
 * Runs `work` in a span that continues `traceparent`. Attributes name records, never their contents.
 */
export async function traced<Result>(
  name: string,
  options: {
    readonly kind: 'server' | 'consumer' | 'client' | 'internal';
    readonly traceparent?: string | null | undefined;
    readonly attributes?: Attributes;
  },
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  const active = context.active();
  if (!options.traceparent && active.getValue(unrecorded) !== undefined) return work(nothing);
  const parent = options.traceparent ? extracted(active, options.traceparent) : active;
  const { attributes = {} } = options;
  const span = tracer.startSpan(name, { kind: kinds[options.kind], attributes }, parent);
  try {
    return await context.with(contextOf(span, parent), () => work(span));
  } catch (error) {
    markFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

const kinds = {
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const;

/** Whether the span that a traceparent names is recorded. */
export function isSampled(traceparent: string | null): boolean {
  const flags = Number.parseInt(traceparent?.split('-')[3] ?? '', 16);
  return (flags & TraceFlags.SAMPLED) !== 0;
}

/** Runs `work`, which no request or message began, under the span that `traceparent` names, if any. */
export function inTraceOf<Result>(traceparent: string | null, work: () => Result): Result {
  return context.with(
    traceparent !== null && isSampled(traceparent)
      ? extracted(ROOT_CONTEXT, traceparent)
      : ROOT_CONTEXT,
    work,
  );
}

/**
 * A span for each request but probes, active during the whole request. At a route of the API it continues the
 * caller's traceparent. Any other route is open to strangers, who would choose what is recorded and which traces
 * belong together: there a new trace begins. The span's name is the pattern of the route and never the path, because a path may contain a token.
 */
export function traceHttp(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (isProbe(request.raw)) return done();
    const { url, config } = request.routeOptions;
    const { traceparent } = request.headers;
    const active = context.active();
    const isContinued = typeof traceparent === 'string' && isOfApi(config);
    const parent = isContinued ? extracted(active, traceparent) : active;
    const name = `${request.method} ${url ?? 'unknown route'}`;
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
    if (span.isRecording()) describe(span, request, reply);
    context.with(contextOf(span, parent), done);
  });
}

/** Declared by an operation, as opposed to a public route (public-route.ts). */
function isOfApi(config: object | undefined): boolean {
  return config !== undefined && 'operation' in config;
}

/** By the semantic conventions for HTTP. */
function describe(span: Span, request: FastifyRequest, reply: FastifyReply): void {
  const { url } = request.routeOptions;
  span.setAttributes({
    'http.request.method': request.method,
    'network.protocol.version': request.raw.httpVersion,
    'url.scheme': request.protocol,
    ...(url === undefined ? {} : { 'http.route': url }),
  });
  reply.raw.once('close', () => {
    span.setAttribute('http.response.status_code', reply.statusCode);
    if (reply.statusCode >= 500) markFailed(span, String(reply.statusCode));
    span.end();
  });
}

/** Scrapes and probes come every few seconds, and say nothing about payments. */
export function isProbe({ url = '' }: { readonly url?: string | undefined }): boolean {
  return url === '/metrics' || url.startsWith('/health/');
}

/** A span for each message that a consumer handles. It continues the trace of the event. */
export function traceConsumer(strategy: ConsumerStrategy): void {
  strategy.setOnProcessingStartHook((_transport, handled, done) => {
    const { topic, headers } = (handled as MessageContext).getDelivery();
    const traceparent = headers['traceparent'];
    const attributes = {
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.consumer.group.name': strategy.group,
    };
    // The strategy handles the outcome: it waits for `done` itself.
    void traced(`process ${topic}`, { kind: 'consumer', traceparent, attributes }, () =>
      Promise.resolve(done()),
    ).catch(() => undefined);
  });
}

/**
 * Marks a span as failed.
 * @param reason an error, or a fixed text. Messages of errors may quote data, so only their names are kept
 */
export function markFailed(span: Span, reason: unknown): void {
  const type = typeof reason === 'string' ? reason : undefined;
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttribute('error.type', type ?? (reason instanceof Error ? reason.name : 'Error'));
}
