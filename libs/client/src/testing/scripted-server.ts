/** A real HTTP server that gives the answers of a test, and keeps every request. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, a string as it is. */
  readonly body?: unknown;
  /** Cuts the connection: before anything is answered, or in the middle of the body. */
  readonly cut?: 'before the answer' | 'in the answer';
  /** Never answers. */
  readonly hang?: boolean;
}

export interface ScriptedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ScriptedServer {
  readonly url: string;
  readonly requests: readonly ScriptedRequest[];
  /** One answer per request, in this order. The last one repeats. */
  answers(...script: readonly ScriptedAnswer[]): void;
  /** Resolves when the next request has arrived. */
  nextRequest(): Promise<void>;
  close(): Promise<void>;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const requests: ScriptedRequest[] = [];
  let script: readonly ScriptedAnswer[] = [];
  let answered = 0;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://localhost');
      requests.push({
        method: incoming.method ?? '',
        path: pathname,
        query: searchParams,
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      answer(response, script[Math.min(answered, script.length - 1)] ?? {});
      answered += 1;
      server.emit('answered');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answers(...next) {
      script = next;
      answered = 0;
    },
    nextRequest: async () => void (await once(server, 'answered')),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(response: ServerResponse, scripted: ScriptedAnswer): void {
  const { status = 200, headers = {}, body, cut, hang = false } = scripted;
  if (hang) return;
  if (cut === 'before the answer') {
    response.destroy();
    return;
  }
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  if (cut === 'in the answer') {
    const length = String(Buffer.byteLength(text));
    response.writeHead(status, { ...headers, 'content-length': length });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
