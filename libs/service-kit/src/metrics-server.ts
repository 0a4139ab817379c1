/** /metrics on a separate port, for apps with a public main port (rule path-6). */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { Registry } from 'prom-client';
import type { ProcessConfig } from './environment.js';

/** The address that it listens on. */
export function metricsHost({ HOST }: ProcessConfig): string {
  return HOST ?? '0.0.0.0';
}

export async function metricsServer(
  metrics: Registry,
  config: ProcessConfig,
): Promise<{ close(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    metrics.metrics().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(config.PIS_METRICS_PORT, metricsHost(config));
  await once(server, 'listening');
  return {
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
