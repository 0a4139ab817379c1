/**
 * A proxy before a system, as an operator has one: its address is known before the system starts, which can have it
 * as PIS_PUBLIC_URL. To a browser it is another site than 127.0.0.1.
 */
import { once } from 'node:events';
import { createServer, request } from 'node:http';

export interface FrontProxy {
  readonly url: string;
  /** Where requests go. Before it is called, they are refused. */
  passTo(url: string): void;
  close(): Promise<void>;
}

export async function startFrontProxy(): Promise<FrontProxy> {
  let target: URL | null = null;
  const server = createServer((incoming, answer) => {
    if (target === null) {
      answer.writeHead(503).end();
      return;
    }
    const { method, url, headers } = incoming;
    const { hostname, port } = target;
    const outgoing = request({ hostname, port, method, path: url, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    outgoing.on('error', () => answer.destroy());
    answer.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://localhost:${address.port}`,
    passTo: (url) => (target = new URL(url)),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
