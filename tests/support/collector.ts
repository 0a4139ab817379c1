/** A small OpenTelemetry collector (OTLP over HTTP) that keeps everything it receives. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Collector {
  /** The environment variables that make processes send their traces here quickly. */
  readonly environment: Readonly<Record<string, string>>;
  /** Takes what is sent to staff, and keeps it with the traces. */
  readonly staffUrl: string;
  /** Everything received so far, as text: protobuf and JSON both contain strings in the clear. */
  text(): string;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      // Compressed data cannot be searched, and tests should not wait five seconds for a batch.
      OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
    staffUrl: `http://127.0.0.1:${port}/staff`,
    text: () => Buffer.concat(bodies).toString('latin1'),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
