/** Deliveries through an operator's CONNECT proxy: a real one, on this machine. */
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import {
  type HttpsReceiver,
  makeCertificate,
  startHttpsReceiver,
} from '@pis/local-servers/testing';
import { guardedClient, type GuardedClient, type GuardedClientOptions } from './guarded-client.js';

let receiver: HttpsReceiver;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  receiver = await startHttpsReceiver({ hosts: ['hooks.example', '127.0.0.1'] });
  ends.push(() => receiver.close());
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Refusal = (near: Socket) => void;
interface Proxy {
  readonly port: number;
  readonly asked: { target: string; host: string; authorization: string | undefined }[];
}

/** Connects to the receiver for every requested address, so that tests can request public ones. */
async function proxy(
  server: Server = createHttpServer(),
  refuse: (target: string) => Refusal | null = () => null,
  behind = receiver.port,
): Promise<Proxy> {
  const asked: Proxy['asked'] = [];
  server.on('connect', ({ url = '', headers }: IncomingMessage, near: Socket) => {
    near.on('error', () => near.destroy());
    const authorization = headers['proxy-authorization'];
    asked.push({ target: url, host: String(headers.host), authorization });
    const refusal = refuse(url);
    if (refusal !== null) {
      refusal(near);
      return;
    }
    const far = connect(behind, '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
  });
  return { port: await listening(server), asked };
}

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function client(egressProxy: string, changes: Partial<GuardedClientOptions> = {}): GuardedClient {
  const one = guardedClient({
    allowedNetworks: [],
    extraCaPem: receiver.caPem,
    egressProxy,
    timeoutMs: 20_000,
    connectionsPerOriginMax: 2,
    lookup: () => Promise.resolve(['93.184.216.34', '2606:2800:220:1::1']),
    ...changes,
  });
  ends.push(() => one.close());
  return one;
}

const post = (one: GuardedClient, url = 'https://hooks.example/hook') => one.post(url, {}, '{}');

describe('Deliveries go through the configured proxy', () => {
  it('to the checked address, with TLS end to end under the host name', async () => {
    const { port, asked } = await proxy();
    const one = client(`http://user:p%40ss@127.0.0.1:${port}`);
    expect(await post(one)).toMatchObject({ status: 200, error: null });
    expect(await post(one)).toMatchObject({ status: 200 });
    // Once: the connection is kept.
    expect(asked).toEqual([
      {
        target: '93.184.216.34:443',
        host: '93.184.216.34:443',
        authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
      },
    ]);
    expect(receiver.requests).toMatchObject([
      { path: '/hook', headers: { host: 'hooks.example' } },
      { path: '/hook' },
    ]);
    expect(receiver.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('with an IPv6 address in brackets, and without credentials if none are configured', async () => {
    const { port, asked } = await proxy();
    const one = client(`http://127.0.0.1:${port}/`, {
      lookup: () => Promise.resolve(['2606:2800:220:1::1']),
    });
    expect(await post(one, 'https://hooks.example:8443/')).toMatchObject({ status: 200 });
    expect(asked).toMatchObject([
      { target: '[2606:2800:220:1::1]:8443', authorization: undefined },
    ]);
  });

  it('which may itself use TLS with a trusted certificate', async () => {
    const { key, cert, caPem } = await makeCertificate(['127.0.0.1', 'hooks.example']);
    const behind = createHttpsServer({ key, cert }, (_request, response) => response.end());
    const { port, asked } = await proxy(
      createHttpsServer({ key, cert }),
      () => null,
      await listening(behind),
    );
    const trusting = client(`https://127.0.0.1:${port}`, { extraCaPem: caPem });
    expect(await post(trusting)).toMatchObject({ status: 200 });
    expect(asked).toHaveLength(1);
    expect(await post(client(`https://127.0.0.1:${port}`))).toMatchObject({
      error: { code: 'connection', message: 'the egress proxy cannot be reached' },
    });
    expect(asked).toHaveLength(1);
  });

  it('to the next address of the host when the proxy cannot reach the first', async () => {
    const { port, asked } = await proxy(createHttpServer(), (target) =>
      target.startsWith('93.') ? (near) => void near.end('HTTP/1.1 502 Bad Gateway\r\n\r\n') : null,
    );
    expect(await post(client(`http://127.0.0.1:${port}`))).toMatchObject({ status: 200 });
    expect(asked.map(({ target }) => target)).toEqual([
      '93.184.216.34:443',
      '[2606:2800:220:1::1]:443',
    ]);
  });
});

describe('The proxy does not weaken any check', () => {
  it.each(['https://10.0.0.1/', 'https://localhost/', 'https://169.254.169.254/'])(
    'it is never asked for %s',
    async (url) => {
      const { port, asked } = await proxy();
      const result = await post(client(`http://127.0.0.1:${port}`), url);
      expect(result).toMatchObject({ error: { code: 'address_blocked' } });
      expect(asked).toEqual([]);
    },
  );

  it('it is not asked for a name that resolves to a private address', async () => {
    const { port, asked } = await proxy();
    const lookup = () => Promise.resolve(['10.0.0.1']);
    const result = await post(client(`http://127.0.0.1:${port}`, { lookup }));
    expect(result).toMatchObject({ error: { code: 'address_blocked' } });
    expect(asked).toEqual([]);
  });

  it('the certificate must be the receiver’s', async () => {
    const { port } = await proxy();
    const result = await post(client(`http://127.0.0.1:${port}`), 'https://other.example/');
    expect(result).toMatchObject({ status: null, error: { code: 'tls' } });
    expect(receiver.requests).toEqual([]);
  });
});

describe('A proxy that fails is a failed attempt, and its credentials stay secret', () => {
  it.each<[string, Refusal, string]>([
    [
      'refuses',
      (near) => void near.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
      'the egress proxy answered 407',
    ],
    ['hangs up', (near) => void near.destroy(), 'the egress proxy hung up'],
    ['talks nonsense', (near) => void near.end('nonsense\r\n\r\n'), 'the egress proxy hung up'],
    [
      'speaks for the receiver',
      (near) => void near.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'),
      'the egress proxy sent what nobody asked for',
    ],
  ])('when it %s', async (_what, refusal, message) => {
    const { port } = await proxy(createHttpServer(), () => refusal);
    const result = await post(client(`http://user:secret@127.0.0.1:${port}`)); // secretlint-disable-line
    expect(result).toMatchObject({ status: null, error: { code: 'connection', message } });
    expect(JSON.stringify(result)).not.toMatch(/secret|127\.0\.0\.1/);
  });

  it('when it is unreachable', async () => {
    const server = createTcpServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const result = await post(client(`http://user:secret@127.0.0.1:${port}`)); // secretlint-disable-line
    expect(result).toMatchObject({
      error: { code: 'connection', message: 'the egress proxy cannot be reached' },
    });
  });

  it('when it never answers', async () => {
    const { port } = await proxy(createHttpServer(), () => () => undefined);
    const result = await post(client(`http://127.0.0.1:${port}`, { timeoutMs: 300 }));
    expect(result).toMatchObject({ error: { code: 'timeout' } });
  });
});
