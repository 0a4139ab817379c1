/**
 * What leaves the process in a span. The instrumentations record more than anybody outside may see: paths with
 * the tokens of payment links, addresses of clients, texts of SQL, and messages of errors that quote rows.
 * Therefore only attributes on this list are exported, and no events and messages at all.
 */
import type { Attributes, SpanContext } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';

/** By the semantic conventions of OpenTelemetry, except those that begin with `pis.`. */
const exportedAttributes: ReadonlySet<string> = new Set([
  'error.type',
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'network.protocol.version',
  'url.scheme',
  'db.system.name',
  'db.namespace',
  'db.operation.name',
  'db.response.status_code',
  'messaging.batch.message_count',
  'messaging.consumer.group.name',
  'messaging.destination.name',
  'messaging.message.id',
  'messaging.operation.name',
  'messaging.operation.type',
  'messaging.system',
  'pis.bank.connection',
  'pis.batch.size',
  'pis.event.type',
  'pis.payment.id',
  'pis.payment.rail',
  'pis.stream.category',
  'pis.webhook.attempt',
  'pis.webhook.delivery_id',
]);

/** An exporter that passes on what may leave the process. */
export function privateSpans(exporter: SpanExporter): SpanExporter {
  return {
    export: (spans, done) => exporter.export(spans.map(withoutDetails), done),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

export function withoutDetails(span: ReadableSpan): ReadableSpan {
  const attributes = exported(span.attributes);
  const { parentSpanContext } = span;
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => withoutState(span.spanContext()),
    ...(parentSpanContext === undefined
      ? {}
      : { parentSpanContext: withoutState(parentSpanContext) }),
    startTime: span.startTime,
    endTime: span.endTime,
    status: { code: span.status.code },
    attributes,
    links: span.links.map(({ context }) => ({ context: withoutState(context) })),
    events: [],
    duration: span.duration,
    ended: span.ended,
    resource: span.resource,
    instrumentationScope: span.instrumentationScope,
    droppedAttributesCount:
      span.droppedAttributesCount +
      Object.keys(span.attributes).length -
      Object.keys(attributes).length,
    droppedEventsCount: span.droppedEventsCount + span.events.length,
    droppedLinksCount: span.droppedLinksCount,
  };
}

/** The tracestate of a client is any text. */
function withoutState({ traceState: _state, ...context }: SpanContext): SpanContext {
  return context;
}

function exported(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(([name]) => exportedAttributes.has(name)),
  );
}
