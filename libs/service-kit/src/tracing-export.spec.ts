import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { pino } from 'pino';

describe('an app that exports its traces', () => {
  const { env } = process;
  beforeEach(() => (process.env = { ...env }));
  afterEach(() => (process.env = env));

  /** Runs an app that does some work and ends. The collector handles its spans with `answer`. */
  const exportTo = async (answer: RequestListener): Promise<string> => {
    const collector = createServer(answer).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    // Slightly longer than our own limit, so that no retry outlives the tests.
    Object.assign(process.env, {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
    });
    // The API and our tracer keep the first registration, so each app of these tests loads its own modules.
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

  it('sends the remaining spans when the app ends, under the name of the app', async () => {
    const bodies: string[] = [];
    const log = await exportTo((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => void bodies.push(text));
      request.on('end', () => response.writeHead(200).end('{}'));
    });
    expect(bodies.join('')).toMatch(/pis-gateway.*some work/s);
    expect(log).toBe('');
  });

  it('ends in time without failing if the collector never answers, and logs this', async () => {
    const startedAt = performance.now();
    const log = await exportTo(() => undefined);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect(log).toContain('the last traces could not be sent');
  });

  it('ends without failing if the collector refuses spans, and logs this', async () => {
    const log = await exportTo((_request, response) => void response.writeHead(400).end());
    expect(log).toContain('the last traces could not be sent');
  });
});
