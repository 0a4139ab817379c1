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
import { privateSpans } from './telemetry/private-spans.js';
import { currentTraceparent, traceConsumer, traced, traceHttp } from './tracing.js';

const timeoutMs = 20_000;
const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
/** Every request of these tests has these. */
const onTheWire = { 'network.protocol.version': '1.1', 'url.scheme': 'http' };
const textOf = ({ name, attributes, events, links, status }: ReadableSpan) =>
  JSON.stringify({ name, attributes, events, links, status });
const traceparent = `00-${traceId}-${spanId}-01`;

describe('while traces are exported', () => {
  const exporter = new InMemorySpanExporter();
  const spanNamed = (name: string): Promise<ReadableSpan> =>
    until(() => exporter.getFinishedSpans().find((span) => span.name === name), { timeoutMs });

  beforeAll(() => {
    const provider = new NodeTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(privateSpans(exporter))],
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
      const config: object = { operation: 'of the API' };
      server.post('/payments/:id', { config }, () => ({ current: currentTraceparent() }));
      server.get('/page/:token', { config: { publicRoute: 'page' } }, () => ({
        current: currentTraceparent(),
      }));
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
      expect(span.attributes).toEqual({
        ...onTheWire,
        'http.request.method': 'POST',
        'http.route': '/payments/:id',
        'http.response.status_code': 200,
      });
      expect(current).toBe(`00-${traceId}-${span.spanContext().spanId}-01`);
    });

    it.each(['/page/a-token', '/unknown'])(
      'of a stranger begins a new trace, whatever the stranger says: GET %s',
      async (path) => {
        for (const flags of ['01', '00']) {
          exporter.reset();
          const given = `00-${traceId}-${spanId}-${flags}`;
          await fetch(`${url}${path}`, { headers: { traceparent: given } });
          const span = await until(() => exporter.getFinishedSpans()[0], { timeoutMs });
          expect(span.parentSpanContext).toBeUndefined();
          expect(span.spanContext().traceId).not.toBe(traceId);
        }
      },
    );

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
      expect(span.attributes).toMatchObject({ 'error.type': '500' });
      expect(textOf(span)).not.toContain('000123456789');
    });

    it('for an unknown path does not contain the path in its name', async () => {
      await fetch(`${url}/pay/secret-token?account=000123456789`, {
        headers: { 'user-agent': 'Ada Lovelace', 'x-forwarded-for': '203.0.113.7' },
      });
      const span = await spanNamed('GET unknown route');
      expect(span.attributes).toEqual({
        ...onTheWire,
        'http.request.method': 'GET',
        'http.response.status_code': 404,
      });
      for (const secret of ['secret-token', '000123456789', 'Ada', '203.0.113.7', '127.0.0.1'])
        expect(textOf(span)).not.toContain(secret);
    });

    it('of a probe or a scrape has no span', async () => {
      await fetch(`${url}/health/live`);
      await fetch(`${url}/metrics`);
      await post({});
      await spanNamed('POST /payments/:id');
      expect(exporter.getFinishedSpans()).toHaveLength(1);
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
      const span = await spanNamed('process payments');
      expect(span.kind).toBe(SpanKind.CONSUMER);
      expect(span.attributes).toMatchObject({
        'messaging.destination.name': 'payments',
        'messaging.consumer.group.name': 'executor',
      });
      expect(span.parentSpanContext).toMatchObject({ traceId, spanId });
      expect(current).toBe(`00-${traceId}-${span.spanContext().spanId}-01`);
    } finally {
      await strategy.close();
    }
  });

  it('work of a trace that is not recorded has no span, and passes on its trace', async () => {
    const notRecorded = `00-${traceId}-${spanId}-00`;
    const seen = await traced('work', { kind: 'server', traceparent: notRecorded }, (outer) =>
      traced('inner', { kind: 'internal' }, (inner) =>
        Promise.resolve({
          recording: [outer.isRecording(), inner.isRecording()],
          active: trace.getActiveSpan(),
          current: currentTraceparent(),
        }),
      ),
    );
    expect(seen.recording).toEqual([false, false]);
    // The instrumentations do nothing without one.
    expect(seen.active).toBeUndefined();
    expect(seen.current).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('failed work is marked only with the name of the error, and fails its caller', async () => {
    const work = () => Promise.reject(new TypeError('account 000123456789'));
    await expect(traced('work', { kind: 'client' }, work)).rejects.toThrow(TypeError);
    const span = await spanNamed('work');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(span.attributes).toEqual({ 'error.type': 'TypeError' });
    expect(textOf(span)).not.toContain('000123456789');
  });
});
