/**
 * Receivers with malicious answers, byte by byte. Each attempt has its outcome in time, little of the
 * answer is read, and the next attempt is not affected.
 */
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import { makeCertificate, until } from '@pis/local-servers/testing';
import {
  type DeliveryResult,
  guardedClient,
  type GuardedClient,
  responseKeptBytes,
} from './guarded-client.js';

const timeoutMs = 400;
/** For answers that decide the outcome by their content. A busy machine does not reach this limit. */
const patientMs = 20_000;
const testTimeoutMs = 60_000;
/** The buffers of both ends of a local connection come on top of the bytes read. */
const takenMaxBytes = 12 * 1024 * 1024;

let certificate: Awaited<ReturnType<typeof makeCertificate>>;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  certificate = await makeCertificate(['127.0.0.1']);
});
afterEach(async () => {
  jest.useRealTimers();
  for (const end of ends.splice(0).reverse()) await end();
});

type Answering = (socket: Socket) => void;

interface Hostile {
  readonly url: string;
  /** Bytes of answers that left the server. */
  taken(): number;
  connections(): number;
}

/** Answers over TLS with the given behavior when a request arrives. */
async function hostile(answering: Answering): Promise<Hostile> {
  const sockets: Socket[] = [];
  const server = createTlsServer(certificate, (socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (request: Buffer) => {
      if (request.includes('{}')) answering(socket);
    });
  });
  return {
    url: `https://127.0.0.1:${await listening(server, sockets)}/`,
    taken: () =>
      sockets.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0),
    connections: () => sockets.length,
  };
}

async function listening(server: Server | ReturnType<typeof createTcpServer>, sockets: Socket[]) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function client(options: { timeoutMs?: number; connectionsPerOriginMax?: number } = {}) {
  const one = guardedClient({
    allowedNetworks: ['127.0.0.0/8'],
    extraCaPem: certificate.caPem,
    timeoutMs,
    connectionsPerOriginMax: 1,
    ...options,
  });
  ends.push(() => one.close());
  return one;
}

const post = (one: GuardedClient, { url }: { url: string }) => one.post(url, {}, '{}');

/** Writes the chunk repeatedly, as fast as it is read, until the connection is cut. */
function endless(chunk: string): Answering {
  return (socket) => {
    const write = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', write);
    write();
  };
}

/** Writes the chunk every few milliseconds, forever. */
function drip(chunk: string): Answering {
  return (socket) => {
    const timer = setInterval(() => socket.write(chunk), 10);
    socket.on('close', () => clearInterval(timer));
  };
}

const after =
  (head: string, then: Answering): Answering =>
  (socket) => {
    socket.write(head);
    then(socket);
  };

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const large = 'x'.repeat(16 * 1024);

describe('An answer without an end is cut soon', () => {
  it.each<[string, Answering, number | null]>([
    ['a body', after(`${ok}Content-Length: 999999999999\r\n\r\n`, endless(large)), 200],
    ['a body without a length', after(`${ok}\r\n`, endless(large)), 200],
    ['a chunked body', after(chunked, endless(`4000\r\n${large}\r\n`)), 200],
    ['chunks of a byte', after(chunked, endless('1\r\nx\r\n'.repeat(1_000))), 200],
    ['a chunk extension', after(`${chunked}1;`, endless(large)), 200],
    ['trailers', after(`${chunked}0\r\n`, endless('X-A: b\r\n'.repeat(1_000))), 200],
    ['one trailer', after(`${chunked}0\r\nX-A: `, endless(large)), 200],
    ['one header', after(`${ok}X-A: `, endless(large)), null],
    ['headers', after(ok, endless('X-A: b\r\n'.repeat(1_000))), null],
    ['a header name', after(ok, endless(large)), null],
    ['a status line', after('HTTP/1.1 200 ', endless(large)), null],
    ['interim answers', endless('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)), null],
  ])(
    '%s',
    async (_what, answering, status) => {
      const server = await hostile(answering);
      const startedAt = performance.now();
      const result = await post(client({ timeoutMs: patientMs }), server);
      expect(result).toMatchObject({
        status,
        error: status === null ? { code: 'connection' } : null,
      });
      // By the bytes, not by the time.
      expect(performance.now() - startedAt).toBeLessThan(patientMs);
      expect(Buffer.byteLength(result.responseBody ?? '')).toBeLessThanOrEqual(responseKeptBytes);
      expect(server.taken()).toBeLessThan(takenMaxBytes);
    },
    testTimeoutMs,
  );

  it(
    'and a hundred of them do not fill the memory',
    async () => {
      const server = await hostile(after(`${ok}\r\n`, endless(large)));
      const one = client({ timeoutMs: patientMs, connectionsPerOriginMax: 10 });
      const before = process.memoryUsage();
      for (let round = 0; round < 10; round += 1)
        await Promise.all(Array.from({ length: 10 }, () => post(one, server)));
      const { external, arrayBuffers } = process.memoryUsage();
      const grownBytes = external + arrayBuffers - before.external - before.arrayBuffers;
      expect(server.connections()).toBe(100);
      expect(grownBytes).toBeLessThan(64 * 1024 * 1024);
    },
    testTimeoutMs,
  );
});

describe('An answer that comes too slowly has the outcome known at the time limit', () => {
  // Each would go on forever. The test is that there is an outcome.
  it('a body, byte by byte', async () => {
    const server = await hostile(after(`${ok}\r\n`, drip('x')));
    const result = await post(client({ timeoutMs: patientMs }), server);
    expect(result).toMatchObject({ status: 200, error: null });
  });

  it.each<[string, Answering]>([
    ['headers, one by one', after(ok, drip('X-A: b\r\n'))],
    ['a status line, byte by byte', after('HTTP/1.1 200 ', drip('x'))],
    ['interim answers, one by one', drip('HTTP/1.1 102 Processing\r\n\r\n')],
    ['nothing at all', () => undefined],
  ])('%s', async (_what, answering) => {
    const server = await hostile(answering);
    const result = await post(client(), server);
    expect(result).toMatchObject({ status: null, error: { code: 'timeout' } });
  });

  it('a receiver that accepts the connection and never begins TLS', async () => {
    const sockets: Socket[] = [];
    const server = createTcpServer((socket) =>
      sockets.push(socket.on('error', () => undefined).resume()),
    );
    const url = `https://127.0.0.1:${await listening(server, sockets)}/`;
    const result = await post(client(), { url });
    expect(result).toMatchObject({ status: null, error: { code: 'timeout' } });
    await until(() => sockets.every((socket) => socket.destroyed), {
      timeoutMs: patientMs,
    });
  });

  it('a delivery that waits for a connection waits inside its own time limit', async () => {
    const server = await hostile(() => undefined);
    const one = client();
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
    const results: DeliveryResult[] = [];
    for (let sent = 0; sent < 3; sent += 1)
      void post(one, server).then((result) => results.push(result));
    // If the limit of one began when another ended, the others would still wait.
    jest.advanceTimersByTime(timeoutMs);
    await until(() => results.length === 3, { timeoutMs: patientMs });
    for (const result of results) expect(result).toMatchObject({ error: { code: 'timeout' } });
  });

  it('a delivery that waited for a connection while the process was frozen is not sent: its signature is old', async () => {
    const clock = jest.spyOn(Date, 'now');
    ends.push(() => Promise.resolve(clock.mockRestore()));
    const first = Promise.withResolvers<Socket>();
    const answering = [
      (socket: Socket) => first.resolve(socket),
      (socket: Socket) => socket.write('HTTP/1.1 401 Late\r\nContent-Length: 0\r\n\r\n'),
    ];
    const server = await hostile((socket) => answering.shift()?.(socket));
    const one = client({ timeoutMs: patientMs });
    const sent = post(one, server);
    const answered = await first.promise;
    const late = post(one, server);
    // Its timers have not run when it wakes up.
    clock.mockReturnValue(Date.now() + 3_600_000);
    answered.write(`${ok}Content-Length: 0\r\n\r\n`);
    expect(await sent).toMatchObject({ status: 200 });
    expect(await late).toMatchObject({ status: null, error: { code: 'timeout' } });
  });
});

describe('An invalid answer, or more than one', () => {
  it.each<[string, string]>([
    ['of another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
    ['of no protocol', '\u0000\u0001\u0002\u0003'],
    [
      'that switches the protocol',
      'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    ],
    ['with two lengths', `${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`],
    ['with a length that is none', `${ok}Content-Length: -1\r\n\r\n`],
    ['that ends inside its headers', `${ok}X-A: b\r\n`],
  ])('%s is a failed attempt', async (_what, text) => {
    const server = await hostile((socket) => socket.end(text, 'latin1'));
    const result = await post(client({ timeoutMs: patientMs }), server);
    expect(result).toMatchObject({ status: null, error: { code: 'connection' } });
  });

  it('a body that ends too early leaves the status as it is', async () => {
    const server = await hostile((socket) => socket.end(`${ok}Content-Length: 9\r\n\r\nabc`));
    expect(await post(client({ timeoutMs: patientMs }), server)).toMatchObject({
      status: 200,
      responseBody: 'abc',
    });
  });

  it('an interim answer is skipped', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    const server = await hostile((socket) =>
      socket.write(`${early}${ok}Content-Length: 0\r\n\r\n`),
    );
    expect(await post(client({ timeoutMs: patientMs }), server)).toMatchObject({
      status: 200,
      responseBody: '',
    });
  });

  it('a second answer sent in advance is never used for the next request', async () => {
    let requests = 0;
    const server = await hostile((socket) => {
      requests += 1;
      const second = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';
      if (requests === 1) socket.write(`HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n${second}`);
      else socket.write('HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n');
    });
    const one = client({ timeoutMs: patientMs });
    expect(await post(one, server)).toMatchObject({ status: 503 });
    expect(await post(one, server)).toMatchObject({ status: 410 });
    expect(server.connections()).toBe(2);
  });

  it('a compressed body is not decompressed: a small answer cannot become a large one', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));
    const head = `${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
    // Together: a body that comes long after its status is not waited for.
    const server = await hostile((socket) =>
      socket.write(Buffer.concat([Buffer.from(head), bomb])),
    );
    const result = await post(client({ timeoutMs: patientMs }), server);
    expect(result.status).toBe(200);
    expect(result.responseBody?.slice(0, 1)).toBe('\u001f');
    expect(result.responseBody?.length).toBeLessThanOrEqual(responseKeptBytes);
  });
});
