import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { pino } from 'pino';

describe('an app that exports its traces', () => {
  const { env } = process;
  beforeEach(() => (process.env = { ...env }));
  afterEach(() => (process.env = env));

  /** An app that does some work and ends, while `answer` is what the collector does with its spans. */
  const exportTo = async (answer: RequestListener): Promise<string> => {
    const collector = createServer(answer).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    // Just beyond our own limit, so that no retry outlives the tests.
    Object.assign(process.env, {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
    });
    // The API and our tracer keep what was registered first: each app of these tests loads its own.
    jest.resetModules();
    (await import('@opentelemetry/api')).trace.disable();
    const { startTracing, traced } = await import('./tracing.js');
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const stop = await startTracing('gateway', endpoint, logger);
    await traced('some work', { kind: 'internal' }, () => Promise.resolve());
    await stop();
    collector.closeAllConnections();
    collector.close();
    return lines.join('');
  };

  it('sends what is left when the app ends, under the name of the app', async () => {
    const bodies: string[] = [];
    const log = await exportTo((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => void bodies.push(text));
      request.on('end', () => response.writeHead(200).end('{}'));
    });
    expect(bodies.join('')).toMatch(/pis-gateway.*some work/s);
    expect(log).toBe('');
  });

  it('ends in time, without failing, when the collector never answers, and says so', async () => {
    const startedAt = performance.now();
    const log = await exportTo(() => undefined);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect(log).toContain('the last traces could not be sent');
  });

  it('ends without failing when the collector refuses, and says so', async () => {
    const log = await exportTo((_request, response) => void response.writeHead(400).end());
    expect(log).toContain('the last traces could not be sent');
  });
});
