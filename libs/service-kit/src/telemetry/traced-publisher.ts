/**
 * Spans of what goes to the broker. A page of the log holds messages of many traces: each has a span of its own,
 * which its consumers continue, and all are linked to the span of the page.
 */
import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';
import { type KafkaPublisher, type Message, MessageRefused } from '@pis/messaging';
import { markFailed, isSampled } from '../tracing.js';
import { inBatchOf } from './batches.js';

const tracer = trace.getTracer('pis');

/** Without telemetry it only looks at the headers. */
export function tracedPublisher(publisher: KafkaPublisher): KafkaPublisher {
  const publish = async (messages: readonly Message[]): Promise<void> => {
    const spans = messages.map(spanOf);
    if (spans.every((span) => span === null)) return publisher.publish(messages);
    const sent = messages.map((message, index) => continuing(message, spans[index] ?? null));
    try {
      await inBatchOf('publish page', spans, () => publisher.publish(sent));
    } catch (error) {
      for (const span of spans) if (span !== null) markFailed(span, error);
      throw refusalOf(error, messages, sent);
    } finally {
      for (const span of spans) span?.end();
    }
  };
  return { publish, ping: () => publisher.ping(), close: () => publisher.close() };
}

/** Null for a message of a trace that is not recorded. */
function spanOf({ topic, headers }: Message): Span | null {
  const traceparent = headers['traceparent'];
  if (traceparent === undefined || !isSampled(traceparent)) return null;
  const parent = propagation.extract(ROOT_CONTEXT, { traceparent });
  const attributes = {
    'messaging.system': 'kafka',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': topic,
    'messaging.message.id': headers['event-id'],
    'pis.event.type': headers['event-type'],
  };
  const span = tracer.startSpan(`send ${topic}`, { kind: SpanKind.PRODUCER, attributes }, parent);
  return span.isRecording() ? span : null;
}

function continuing(message: Message, span: Span | null): Message {
  if (span === null) return message;
  const headers: Record<string, string> = { ...message.headers };
  propagation.inject(trace.setSpan(context.active(), span), headers);
  return { ...message, headers };
}

/** The caller knows its own messages only. */
function refusalOf(
  error: unknown,
  messages: readonly Message[],
  sent: readonly Message[],
): unknown {
  if (!(error instanceof MessageRefused)) return error;
  const refused = messages[sent.indexOf(error.refused)];
  return refused === undefined ? error : new MessageRefused(refused, error.cause);
}
