import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { until } from '@pis/local-servers/testing';
import { EmbeddedConsumerStrategy } from '@pis/messaging';
import { MemoryLog, memoryConsumerState, memoryDeferredMessages } from '@pis/messaging/testing';
import { fastify } from 'fastify';
import { currentTraceparent, traceConsumer, traced, traceHttp } from './tracing.js';

const timeoutMs = 20_000;
const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;

describe('while traces are exported', () => {
  const exporter = new InMemorySpanExporter();
  const spanNamed = (name: string): Promise<ReadableSpan> =>
    until(() => exporter.getFinishedSpans().find((span) => span.name === name), { timeoutMs });

  beforeAll(() => {
    const provider = new NodeTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    provider.register();
  });
  beforeEach(() => exporter.reset());
  // The API keeps the registration for the whole process.
  afterAll(() => {
    trace.disable();
    context.disable();
    propagation.disable();
  });

  describe('a request', () => {
    const server = fastify();
    let url: string;
    beforeAll(async () => {
      traceHttp(server);
      server.post('/payments/:id', () => ({ current: currentTraceparent() }));
      server.get('/broken', () => {
        throw new Error('account 000123456789');
      });
      url = await server.listen({ port: 0, host: '127.0.0.1' });
    });
    afterAll(() => server.close());

    const post = async (headers: Record<string, string>) => {
      const response = await fetch(`${url}/payments/a-token?x=1`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        // Longer than a packet: the handler runs when the rest has arrived, long after the first hook.
        body: JSON.stringify({ note: 'x'.repeat(200_000) }),
      });
      return (await response.json()) as { current: string | null };
    };

    it('continues the trace of its caller, and its work belongs to its own span', async () => {
      const { current } = await post({ traceparent });
      const span = await spanNamed('POST /payments/:id');
      expect(span.kind).toBe(SpanKind.SERVER);
      expect(span.parentSpanContext).toMatchObject({ traceId, spanId });
      expect(span.attributes).toEqual({ 'http.response.status_code': 200 });
      expect(current).toBe(`00-${traceId}-${span.spanContext().spanId}-01`);
    });

    it('begins a new trace if the caller has none or an invalid one', async () => {
      for (const headers of [{}, { traceparent: '00-nonsense' }]) {
        exporter.reset();
        const { current } = await post(headers);
        const span = await spanNamed('POST /payments/:id');
        expect(span.parentSpanContext).toBeUndefined();
        expect(current).toContain(span.spanContext().traceId);
      }
    });

    it('is marked as failed without any details', async () => {
      await fetch(`${url}/broken`);
      const span = await spanNamed('GET /broken');
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
      expect(JSON.stringify([span.attributes, span.events])).not.toContain('000123456789');
    });

    it('for an unknown path does not contain the path in its name', async () => {
      await fetch(`${url}/pay/secret-token`);
      expect((await spanNamed('GET unknown route')).attributes).toEqual({
        'http.response.status_code': 404,
      });
    });
  });

  it('a message continues the trace of its event, and its handler runs in that span', async () => {
    const log = new MemoryLog();
    const strategy = new EmbeddedConsumerStrategy({
      group: 'executor',
      source: log,
      state: memoryConsumerState(),
      deferred: memoryDeferredMessages(),
    });
    traceConsumer(strategy);
    let current: string | null = null;
    const handler = () => Promise.resolve(void (current = currentTraceparent()));
    strategy.addHandler('payments', handler, true);
    await new Promise((resolve) => strategy.listen(resolve));
    try {
      await log.publish([{ topic: 'payments', key: 'a', value: '{}', headers: { traceparent } }]);
      const span = await spanNamed('executor payments');
      expect(span.kind).toBe(SpanKind.CONSUMER);
      expect(span.parentSpanContext).toMatchObject({ traceId, spanId });
      expect(current).toBe(`00-${traceId}-${span.spanContext().spanId}-01`);
    } finally {
      await strategy.close();
    }
  });

  it('failed work is marked only with the name of the error, and fails its caller', async () => {
    const work = () => Promise.reject(new TypeError('account 000123456789'));
    await expect(traced('work', { kind: 'client' }, work)).rejects.toThrow(TypeError);
    const { status, events } = await spanNamed('work');
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'TypeError' });
    expect(events).toEqual([]);
  });
});
