import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { pino } from 'pino';
import { loadConfig } from './config.js';
import { platformEnv } from './environment.js';

describe('an app that exports its traces', () => {
  const { env } = process;
  beforeEach(() => (process.env = { ...env }));
  afterEach(() => (process.env = env));

  /** Runs an app that does some work and ends. The collector handles its spans with `answer`. */
  const exportTo = async (
    answer: RequestListener,
    settings: Readonly<Record<string, string>> = {},
    steps = 1,
  ): Promise<string> => {
    const collector = createServer(answer).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    // Slightly longer than our own limit, so that no retry outlives the tests.
    Object.assign(process.env, {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
      OTEL_METRIC_EXPORT_INTERVAL: '2500',
      ...settings,
    });
    // The API and our tracer keep the first registration, so each app of these tests loads its own modules.
    jest.resetModules();
    (await import('@opentelemetry/api')).trace.disable();
    const { traced } = await import('./tracing.js');
    const { startTelemetry } = await import('./telemetry/telemetry.js');
    const config = loadConfig(platformEnv, process.env);
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const telemetry = await startTelemetry('gateway', config, logger);
    for (let step = 0; step < steps; step += 1)
      await traced('some work', { kind: 'internal' }, () => Promise.resolve());
    await telemetry.stop();
    collector.closeAllConnections();
    collector.close();
    return lines.join('');
  };

  it('sends the remaining spans when the app ends, under the name of the app and with the attributes of the installation', async () => {
    const bodies: string[] = [];
    const log = await exportTo(
      (request, response) => {
        request.setEncoding('utf8').on('data', (text: string) => void bodies.push(text));
        request.on('end', () => response.writeHead(200).end('{}'));
      },
      {
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=blue,service.name=one-for-all',
      },
    );
    expect(bodies.join('')).toMatch(/pis-gateway.*some work/s);
    expect(bodies.join('')).toContain(
      '{"key":"deployment.environment.name","value":{"stringValue":"blue"}}',
    );
    expect(bodies.join('')).not.toContain('one-for-all');
    expect(log).toBe('');
  });

  /** The addresses that an app with these settings sends to. */
  const sentBy = async (settings: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    const urls = new Set<string>();
    await exportTo((request, response) => {
      urls.add(request.url ?? '');
      request.resume().on('end', () => response.writeHead(200).end('{}'));
    }, settings);
    return [...urls].toSorted();
  };

  it('sends traces, and metrics unless they are turned off', async () => {
    expect(await sentBy({})).toEqual(['/v1/metrics', '/v1/traces']);
    expect(await sentBy({ OTEL_METRICS_EXPORTER: 'none' })).toEqual(['/v1/traces']);
  });

  it('sends the part of the traces that is set', async () => {
    const part = (ratio: string) => ({
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: ratio,
    });
    expect(await sentBy(part('1'))).toEqual(['/v1/traces']);
    expect(await sentBy(part('0'))).toEqual([]);
    expect(() => loadConfig(platformEnv, part('10'))).toThrow(/must be a number from 0 to 1/);
  });

  it('works on and ends in time if the collector never answers, keeps no more than its queue, and logs this', async () => {
    const startedAt = performance.now();
    let waiting = 0;
    const log = await exportTo(
      () => void (waiting += 1),
      { OTEL_METRICS_EXPORTER: 'none' },
      20_000,
    );
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    // One batch is on its way, and a queue has four, which the end sends too. What does not fit is dropped.
    expect(waiting).toBeLessThanOrEqual(5);
    expect(log).toContain('the last traces and metrics could not be sent');
  });

  it('ends without failing if the collector refuses spans, and logs this', async () => {
    const log = await exportTo((_request, response) => void response.writeHead(400).end());
    expect(log).toContain('the last traces and metrics could not be sent');
  });
});
