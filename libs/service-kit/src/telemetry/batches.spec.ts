/** Work that several traces share: commits, and pages that go to the broker. */
import { context, propagation, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
  ParentBasedSampler,
} from '@opentelemetry/sdk-trace-node';
import { type KafkaPublisher, type Message, MessageRefused } from '@pis/messaging';
import { GroupCommit, observeBatches } from '@pis/postgres';
import { traced } from '../tracing.js';
import { traceBatches } from './batches.js';
import { tracedPublisher } from './traced-publisher.js';

const exporter = new InMemorySpanExporter();
const traceIds = ['0af7651916cd43dd8448eb211c80319c', '1af7651916cd43dd8448eb211c80319c'] as const;
const sampled = traceIds.map((traceId) => `00-${traceId}-b7ad6b7169203331-01`);
const notSampled = '00-2af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
const spansNamed = (name: string) =>
  exporter.getFinishedSpans().filter((span) => span.name === name);

beforeAll(() => {
  const provider = new NodeTracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0) }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  provider.register();
  traceBatches();
});
beforeEach(() => exporter.reset());
afterAll(() => {
  observeBatches({ added: () => undefined, run: (_origins, write) => write() });
  trace.disable();
  context.disable();
  propagation.disable();
});

const within = <Result>(traceparent: string, work: () => Promise<Result>) =>
  traced('request', { kind: 'server', traceparent }, work);

describe('a group commit', () => {
  const writes: (string | undefined)[] = [];
  const commits = new GroupCommit<number, number>({
    write: (items) => {
      writes.push(trace.getSpanContext(context.active())?.traceId);
      return Promise.resolve(items);
    },
    batchMax: 10,
    isItemsFault: () => false,
  });

  it('of several traces is in the first, and links to the others, which link to it', async () => {
    await Promise.all(
      [notSampled, ...sampled].map((traceparent, item) =>
        within(traceparent, () => commits.add(item)),
      ),
    );
    const [commit, ...more] = spansNamed('group commit');
    expect(more).toEqual([]);
    const [first, second] = traceIds.map((traceId) =>
      spansNamed('request').find((span) => span.spanContext().traceId === traceId),
    );
    expect(commit?.parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
    expect(commit?.attributes).toEqual({ 'pis.batch.size': 3 });
    expect(commit?.links.map((link) => link.context.spanId)).toEqual([
      second?.spanContext().spanId,
    ]);
    expect(second?.links.map((link) => link.context.spanId)).toEqual([
      commit?.spanContext().spanId,
    ]);
  });

  it('of no recorded trace belongs to none, whoever began it', async () => {
    writes.length = 0;
    await within(notSampled, () => commits.add(1));
    expect(writes).toEqual([undefined]);
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

describe('a page that goes to the broker', () => {
  let published: readonly Message[] = [];
  const broker = (publish: KafkaPublisher['publish']): KafkaPublisher =>
    tracedPublisher({ publish, ping: () => Promise.resolve(), close: () => Promise.resolve() });
  const kept = broker((messages) => {
    published = messages;
    return Promise.resolve();
  });
  const message = (key: string, traceparent?: string): Message => ({
    topic: 'payments',
    key,
    value: '{}',
    headers: { 'event-id': key, ...(traceparent === undefined ? {} : { traceparent }) },
  });

  it('has a span for each message of a recorded trace, which its consumer continues', async () => {
    await kept.publish([message('a', sampled[0]), message('b', notSampled), message('c')]);
    const [span, ...others] = spansNamed('send payments');
    expect(others).toEqual([]);
    expect(span?.parentSpanContext?.traceId).toBe(traceIds[0]);
    expect(published.map(({ headers }) => headers['traceparent'])).toEqual([
      `00-${traceIds[0]}-${span?.spanContext().spanId}-01`,
      notSampled,
      undefined,
    ]);
  });

  it('names the message that the broker refuses as its caller knows it', async () => {
    const refusing = broker((messages) => {
      const [, second] = messages;
      return second === undefined
        ? Promise.resolve()
        : Promise.reject(new MessageRefused(second, new Error('too large')));
    });
    const page = [message('a', sampled[0]), message('b', sampled[1])];
    const failure = await refusing.publish(page).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MessageRefused);
    expect((failure as MessageRefused).refused).toBe(page[1]);
    expect((failure as Error).message).toContain('too large');
  });
});
