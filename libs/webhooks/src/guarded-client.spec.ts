import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { closeAfterEach, type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import {
  guardedClient,
  type GuardedClient,
  type GuardedClientOptions,
  responseKeptBytes,
} from './guarded-client.js';
import type { Lookup } from './lookup.js';

const atEnd = closeAfterEach();

let receiver: HttpsReceiver;
const clients: GuardedClient[] = [];

beforeEach(async () => {
  receiver = await startHttpsReceiver({ hosts: ['localhost', '127.0.0.1', 'hooks.example'] });
});
afterEach(async () => {
  await receiver.close();
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function client(changes: Partial<GuardedClientOptions> = {}): GuardedClient {
  const created = guardedClient({
    allowedNetworks: ['127.0.0.0/8'],
    extraCaPem: receiver.caPem,
    timeoutMs: 20_000,
    connectionsPerOriginMax: 4,
    ...changes,
  });
  clients.push(created);
  return created;
}

const post = (one: GuardedClient, url = `${receiver.url}/hook?x=1`, signal?: AbortSignal) =>
  one.post(url, { 'Content-Type': 'application/json', 'X-Test': 'a' }, '{"ä":1}', signal);

/** The receiver by a name that the test resolves. */
const named = () => `https://hooks.example:${receiver.port}/`;

/** Resolves every name to these addresses, one list per lookup. */
function resolving(...answers: string[][]): Lookup {
  return () => Promise.resolve((answers.length > 1 ? answers.shift() : answers[0]) ?? []);
}

describe('A delivery over HTTPS', () => {
  it('arrives unchanged, and returns the status, the answer and the duration', async () => {
    receiver.respondWith(() => ({ status: 202, body: 'thanks' }));
    const result = await post(client());
    expect(result).toEqual({
      status: 202,
      error: null,
      responseBody: 'thanks',
      retryAfter: null,
      durationMs: expect.any(Number),
    });
    expect(receiver.requests).toMatchObject([
      { method: 'POST', path: '/hook?x=1', body: '{"ä":1}', headers: { 'x-test': 'a' } },
    ]);
  });

  it('uses a connection again for the next one', async () => {
    const wire = await wireTo(receiver);
    atEnd(() => wire.close());
    const one = client({ connectionsPerOriginMax: 1 });
    for (let i = 0; i < 3; i++) expect(await post(one, wire.url)).toMatchObject({ status: 200 });
    expect(wire.connections()).toBe(1);
  });

  it('is not made by a client that was closed, used before or not', async () => {
    const [used, unused] = [client(), client()];
    expect((await post(used)).status).toBe(200);
    for (const one of [used, unused]) {
      await one.close();
      expect(await post(one)).toMatchObject({ status: null, error: { code: 'connection' } });
    }
    expect(receiver.requests).toHaveLength(1);
  });

  it('goes over a new connection when the receiver has closed the kept one', async () => {
    receiver.respondWith(() => ({ headers: { connection: 'close' } }));
    const one = client({ connectionsPerOriginMax: 1 });
    expect(await post(one)).toMatchObject({ status: 200 });
    expect(await post(one)).toMatchObject({ status: 200 });
    expect(receiver.requests).toHaveLength(2);
  });

  it('keeps the first KiB of an answer, and does not read forever', async () => {
    receiver.respondWith(() => ({ status: 500, body: 'é'.repeat(20 * 1024 * 1024) }));
    const wire = await wireTo(receiver);
    atEnd(() => wire.close());
    const result = await post(client(), wire.url);
    expect(result).toMatchObject({ status: 500, error: null });
    expect(Buffer.byteLength(result.responseBody ?? '')).toBe(responseKeptBytes);
    // What the operating system buffers comes on top of the 64 KiB.
    expect(wire.bytesBack()).toBeLessThan(10 * 1024 * 1024);
  });

  it('has its outcome when the status arrives, although the answer never ends', async () => {
    receiver.respondWith(() => ({ status: 200, body: 'x'.repeat(100_000) }));
    const wire = await wireTo(receiver, { stallAfterBytes: 20_000 });
    atEnd(() => wire.close());
    const result = await post(client(), wire.url);
    expect(result).toMatchObject({ status: 200, error: null });
    expect(result.responseBody).toBe('x'.repeat(responseKeptBytes));
  });

  it('fails on headers that never end', async () => {
    const headers = { 'x-large': 'x'.repeat(40_000) };
    receiver.respondWith(() => ({ headers }));
    expect(await post(client())).toMatchObject({ status: null, error: { code: 'connection' } });
  });

  it('fails when a new connection is cut, and is sent only once', async () => {
    receiver.respondWith(() => ({ cut: true }));
    expect(await post(client())).toMatchObject({ status: null, error: { code: 'connection' } });
    expect(receiver.requests).toHaveLength(1);
  });

  it('returns the Retry-After of the receiver', async () => {
    receiver.respondWith(() => ({ status: 503, headers: { 'retry-after': '120' } }));
    expect(await post(client())).toMatchObject({ status: 503, retryAfter: '120' });
  });

  it('does not follow a redirect', async () => {
    receiver.respondWith(() => ({ redirect: `${receiver.url}/elsewhere` }));
    expect(await post(client())).toMatchObject({ status: 302 });
    expect(receiver.requests).toHaveLength(1);
  });

  it('does not use a proxy of the environment', async () => {
    const before = process.env['HTTPS_PROXY'];
    process.env['HTTPS_PROXY'] = 'http://127.0.0.1:1';
    try {
      expect(await post(client())).toMatchObject({ status: 200 });
    } finally {
      if (before === undefined) delete process.env['HTTPS_PROXY'];
      else process.env['HTTPS_PROXY'] = before;
    }
  });
});

/** A relay in front of the receiver that counts and delays the traffic. */
async function wireTo({ port }: HttpsReceiver, { stallAfterBytes = Infinity } = {}) {
  let connections = 0;
  let bytesBack = 0;
  const server = createServer((near) => {
    connections += 1;
    const far = connect(port, '127.0.0.1');
    near.pipe(far);
    far.on('data', (chunk) => {
      const passed = chunk.subarray(0, Math.max(0, stallAfterBytes - bytesBack));
      bytesBack += passed.length;
      if (!near.write(passed)) far.pause();
    });
    near.on('drain', () => far.resume());
    for (const end of [near, far])
      end.on('error', () => end.destroy()).on('close', () => (near.destroy(), far.destroy()));
  });
  const url = `https://localhost:${await listening(server)}/hook`;
  return {
    url,
    connections: () => connections,
    bytesBack: () => bytesBack,
    close: closing(server),
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Its connections end with the client's. */
function closing(server: Server) {
  return async () => {
    await Promise.all(clients.splice(0).map((one) => one.close()));
    await new Promise((resolve) => server.close(resolve));
  };
}

describe('A kept connection that breaks when it is used again', () => {
  it('costs no attempt: the request is sent once more, over a new one', async () => {
    receiver.respondWith((_, index) => ({ cut: index === 1 }));
    const one = client({ connectionsPerOriginMax: 1 });
    expect(await post(one)).toMatchObject({ status: 200 });
    expect(await post(one)).toMatchObject({ status: 200 });
    expect(receiver.requests.map(({ body }) => body)).toEqual(['{"ä":1}', '{"ä":1}', '{"ä":1}']);
  });

  it('costs one attempt when the new connection breaks too: it is not sent a third time', async () => {
    receiver.respondWith((_, index) => ({ cut: index > 0 }));
    const one = client({ connectionsPerOriginMax: 1 });
    await post(one);
    expect(await post(one)).toMatchObject({ status: null, error: { code: 'connection' } });
    expect(receiver.requests).toHaveLength(3);
  });
});

describe('A receiver is not trusted', () => {
  it('when its certificate has an unknown issuer', async () => {
    const { extraCaPem: _, ...options } = {
      allowedNetworks: ['127.0.0.0/8'],
      timeoutMs: 20_000,
      connectionsPerOriginMax: 1,
      extraCaPem: '',
    };
    const one = guardedClient(options);
    clients.push(one);
    expect(await post(one)).toMatchObject({ status: null, error: { code: 'tls' } });
    expect(receiver.requests).toHaveLength(0);
  });

  it('when its certificate is for another name', async () => {
    const lookup = resolving(['127.0.0.1']);
    const result = await post(client({ lookup }), `https://other.example:${receiver.port}/`);
    expect(result).toMatchObject({ status: null, error: { code: 'tls' } });
  });

  it('with a version before TLS 1.2: nothing older is offered', async () => {
    const hello = Promise.withResolvers<Buffer>();
    const server = createServer((socket) =>
      socket.once('data', (bytes) => {
        hello.resolve(bytes);
        socket.destroy();
      }),
    );
    const result = post(client(), `https://localhost:${await listening(server)}/`);
    // Extension supported_versions (43) of 5 bytes: a list of 4, TLS 1.3 and TLS 1.2 (RFC 8446, 4.2.1).
    expect((await hello.promise).includes(Buffer.from('002b00050403040303', 'hex'))).toBe(true);
    expect(await result).toMatchObject({ status: null, error: { code: 'connection' } });
    await closing(server)();
  });

  it.each(['http://localhost/', 'ftp://localhost/', 'nonsense'])(
    'at %s: HTTPS only',
    async (url) => {
      expect(await post(client(), url)).toMatchObject({ error: { code: 'invalid_url' } });
    },
  );
});

describe('An address that is not public is never connected to', () => {
  it.each([
    'https://127.0.0.1:PORT/',
    'https://2130706433:PORT/',
    'https://0x7f.1:PORT/',
    'https://[::1]:PORT/',
    'https://[::ffff:127.0.0.1]:PORT/',
    'https://0.0.0.0:PORT/',
    'https://localhost:PORT/',
  ])('written as %s', async (url) => {
    const one = client({ allowedNetworks: [] });
    const result = await post(one, url.replace('PORT', String(receiver.port)));
    expect(result).toMatchObject({ status: null, error: { code: 'address_blocked' } });
    expect(receiver.requests).toHaveLength(0);
  });

  it('behind a host name', async () => {
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1', '::ffff:169.254.169.254']) {
      const one = client({ allowedNetworks: [], lookup: resolving([address]) });
      expect(await post(one, named())).toMatchObject({ error: { code: 'address_blocked' } });
    }
  });

  it('when a name resolves to it later (DNS rebinding)', async () => {
    receiver.respondWith(() => ({ headers: { connection: 'close' } }));
    const one = client({ lookup: resolving(['127.0.0.1'], ['10.0.0.1']) });
    expect(await post(one, named())).toMatchObject({ status: 200 });
    expect(await post(one, named())).toMatchObject({ error: { code: 'address_blocked' } });
  });

  it('when a name also has a permitted address: only that one is used', async () => {
    const one = client({ lookup: resolving(['10.0.0.1', '127.0.0.1']) });
    expect(await post(one, named())).toMatchObject({ status: 200 });
  });

  it('and the error does not name the address', async () => {
    const one = client({ allowedNetworks: [], lookup: resolving(['10.0.0.1']) });
    expect(JSON.stringify(await post(one, named()))).not.toContain('10.0.0.1');
  });
});

describe('An attempt ends', () => {
  it('when no response arrives in time', async () => {
    receiver.respondWith(() => ({ hang: true }));
    const result = await post(client({ timeoutMs: 100 }));
    expect(result).toMatchObject({
      status: null,
      error: { code: 'timeout', message: 'no response within 100 ms' },
    });
    expect(result.durationMs).toBeGreaterThanOrEqual(99);
  });

  it('when it is aborted', async () => {
    receiver.respondWith(() => ({ hang: true }));
    const interrupt = new AbortController();
    const result = post(client(), undefined, interrupt.signal);
    await receiver.waitFor(() => true);
    interrupt.abort();
    expect(await result).toMatchObject({ status: null, error: { code: 'aborted' } });
    expect(await post(client(), undefined, AbortSignal.abort())).toMatchObject({
      error: { code: 'aborted' },
    });
  });

  it('when nobody listens, or the host does not exist', async () => {
    const { url, port } = receiver;
    await receiver.close();
    expect(await post(client())).toMatchObject({
      error: { code: 'connection', message: 'the connection failed: ECONNREFUSED' },
    });
    expect(url).toContain(String(port));
    const lookup: Lookup = () => Promise.reject(new Error('no such host'));
    expect(await post(client({ lookup }), named())).toMatchObject({
      error: { code: 'host_not_found' },
    });
    receiver = await startHttpsReceiver();
  });
});
