import { jest } from '@jest/globals';
import { createLogger } from './logging.js';

const sdk = [
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
];
const loaded: string[] = [];
for (const name of sdk)
  jest.unstable_mockModule(name, () => {
    loaded.push(name);
    throw new Error(`${name} was loaded`);
  });

it('without an endpoint no SDK is loaded, nothing is recorded, and work runs as usual', async () => {
  const { currentTraceparent, startTracing, traced } = await import('./tracing.js');
  const logger = createLogger('test', 'silent');
  const stop = await startTracing('gateway', undefined, logger);
  const seen = await traced('work', { kind: 'internal' }, (span) =>
    Promise.resolve({ recording: span.isRecording(), current: currentTraceparent() }),
  );
  expect(seen).toEqual({ recording: false, current: null });
  await stop();
  expect(loaded).toEqual([]);
  // The check itself works.
  await expect(startTracing('gateway', 'http://127.0.0.1:1', logger)).rejects.toThrow(/was loaded/);
});
