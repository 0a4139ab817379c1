import { jest } from '@jest/globals';
import { loadConfig } from './config.js';
import { platformEnv } from './environment.js';
import { createLogger } from './logging.js';

const sdk = [
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/exporter-metrics-otlp-http',
  '@opentelemetry/instrumentation-pg',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/resources',
];
const loaded: string[] = [];
for (const name of sdk)
  jest.unstable_mockModule(name, () => {
    loaded.push(name);
    throw new Error(`${name} was loaded`);
  });

it('without an endpoint no SDK is loaded, nothing is recorded, and work runs as usual', async () => {
  const { currentTraceparent, traced } = await import('./tracing.js');
  const { startTelemetry } = await import('./telemetry/telemetry.js');
  const logger = createLogger('test', 'silent');
  const config = loadConfig(platformEnv, {});
  const telemetry = await startTelemetry('gateway', config, logger);
  const seen = await traced('work', { kind: 'internal' }, (span) =>
    Promise.resolve({ recording: span.isRecording(), current: currentTraceparent() }),
  );
  expect(seen).toEqual({ recording: false, current: null });
  await telemetry.stop();
  expect(loaded).toEqual([]);
  // The check itself works.
  const on = loadConfig(platformEnv, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  await expect(startTelemetry('gateway', on, logger)).rejects.toThrow(/was loaded/);
});
