import { createTraceState, SpanKind, TraceFlags } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { withoutDetails } from './private-spans.js';

it('a span leaves without the tracestate of a client, which is any text', () => {
  const context = {
    traceId: '1'.repeat(32),
    spanId: '2'.repeat(16),
    traceFlags: TraceFlags.SAMPLED,
    traceState: createTraceState('vendor=secret'),
  };
  const exported = withoutDetails({
    ...{ name: 'POST', kind: SpanKind.SERVER, attributes: {}, events: [], status: { code: 0 } },
    spanContext: () => context,
    parentSpanContext: context,
    links: [{ context }],
  } as unknown as ReadableSpan);
  const { traceState: _state, ...kept } = context;
  expect(exported.spanContext()).toEqual(kept);
  expect(exported.parentSpanContext).toEqual(kept);
  expect(exported.links).toEqual([{ context: kept }]);
});
