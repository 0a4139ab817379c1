/** A developer's machine: a local server, `pis webhooks listen`, and a breakable connection to the API. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { root, type RunningProcess, startCommand } from './process.js';

export interface Hook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The envelope. */
  readonly event: {
    readonly id: string;
    readonly eventType: string;
    readonly data: { readonly paymentId: string };
  };
}

export interface LocalServer {
  /** Plain HTTP. */
  readonly url: string;
  /** In the order of arrival. */
  readonly hooks: readonly Hook[];
  /** How requests are answered from now on. Default: 200. */
  answer(fn: (response: ServerResponse, hook: Hook) => void): void;
  close(): Promise<void>;
}

export async function startLocalServer(): Promise<LocalServer> {
  const hooks: Hook[] = [];
  let respond = (response: ServerResponse, _hook: Hook): void => void response.end();
  const server = createServer((request, response) => {
    buffer(request).then(
      (bytes) => {
        const body = bytes.toString('utf8');
        const hook = { headers: request.headers, body, event: JSON.parse(body) as Hook['event'] };
        hooks.push(hook);
        respond(response, hook);
      },
      () => response.destroy(),
    );
  });
  const { url, close } = await listening(server);
  return { url: `${url}/hook`, hooks, answer: (fn) => void (respond = fn), close };
}

export type Way = 'open' | 'closed' | '503' | 'rate limited' | 'cut short';

export interface ApiWay {
  readonly url: string;
  /** The number of requests, forwarded or not. */
  readonly asked: () => number;
  set(way: Way): void;
  /** The target of the connection. */
  leadTo(apiUrl: string): void;
  close(): Promise<void>;
}

/** A connection to the API with a fixed address, even if the API moves. */
export async function startApiWay(apiUrl: string): Promise<ApiWay> {
  let way: Way = 'open';
  let target = apiUrl;
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    if (way === 'closed') return void response.destroy();
    if (way === '503') return void response.writeHead(503).end('<html>away</html>');
    if (way === 'rate limited')
      return void response.writeHead(429, { 'retry-after': '1' }).end('{}');
    const isCut = way === 'cut short';
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const headers = { authorization, ...(type === '' ? {} : { 'content-type': type }) };
    buffer(request)
      .then(async (body) => {
        const { method = 'GET' } = request;
        const sent = {
          method,
          headers,
          ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
        };
        const answered = await fetch(`${target}${request.url ?? ''}`, sent);
        const bytes = Buffer.from(await answered.arrayBuffer());
        response.writeHead(answered.status, { 'content-length': bytes.length });
        if (!isCut) return void response.end(bytes);
        response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
      })
      .catch(() => response.destroy());
  });
  const { url, close } = await listening(server);
  return {
    url,
    asked: () => asked,
    set: (next) => void (way = next),
    leadTo: (next) => void (target = next),
    close,
  };
}

/** An event as `pis webhooks listen --json` prints it. */
export interface Line {
  readonly eventId: string;
  readonly eventType: string;
  readonly paymentId: string | null;
  readonly statusCode: number | null;
  readonly error: string | null;
}

export interface Listener {
  readonly secret: string;
  readonly process: RunningProcess;
  lines(): Line[];
  /** Ctrl-C; resolves with the exit code. */
  interrupt(): Promise<number | null>;
}

export async function startListener(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Listener> {
  const command = ['apps/cli/bin/pis.mjs', 'webhooks', 'listen', '--json', ...args];
  const running = await startCommand(process.execPath, command, {
    env,
    cwd: root,
    readyLine: (line) =>
      line.startsWith('{"listening":true') ? (JSON.parse(line) as Record<string, unknown>) : null,
  });
  return {
    secret: String(running.ready['secret']),
    process: running,
    lines: () =>
      running
        .stdout()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line) as Line),
    async interrupt() {
      await running.interrupt();
      return running.child.exitCode;
    },
  };
}

async function listening(
  server: ReturnType<typeof createServer>,
): Promise<{ url: string; close(): Promise<void> }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
