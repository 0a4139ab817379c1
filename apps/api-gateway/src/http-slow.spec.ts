/** Clients that are slow on purpose: many connections with a byte now and then, to exhaust the server. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { digestOfApiKey, revokeApiKey, unrefused } from '@pis/commands';
import { until } from '@pis/local-servers/testing';
import { by, type Gateway, startGateway, type Tenant } from './testing/gateway.js';
import { openSocket } from './testing/raw-http.js';

const limits = { headersTimeoutMs: 1_000, requestTimeoutMs: 2_000, timeoutCheckIntervalMs: 50 };
const slowClients = 100;
const dripIntervalMs = 20;
const timeoutMs = 30_000;

let gateway: Gateway;
let tenant: Tenant;
let port: number;

async function start(http: Parameters<typeof startGateway>[0]['http']): Promise<void> {
  const databaseUrl = 'postgres://nobody@127.0.0.1:1/none';
  gateway = await startGateway({ databaseUrl, projects: false, ...(http ? { http } : {}) });
  tenant = await gateway.createTenant();
  await gateway.app.listen(0, '127.0.0.1');
  ({ port } = gateway.app.getHttpServer().address() as AddressInfo);
}
afterEach(() => gateway?.close());

const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n`;
const lines = (...parts: string[]) => [...parts, '', ''].join('\r\n');
const authorization = () => `Authorization: Bearer ${tenant.keys.full_access}`;
const healthy = () =>
  fetch(`http://127.0.0.1:${port}/v1/webhooks`, {
    headers: { authorization: `Bearer ${tenant.keys.full_access}` },
  });

/** Sends the beginning, and then a byte at a time until it is cut off. */
function drip(beginning: string) {
  const open = openSocket(port);
  open.socket.write(beginning);
  const timer = setInterval(() => open.socket.write('x'), dripIntervalMs);
  open.socket.once('close', () => clearInterval(timer));
  return open;
}

it('a client that reads no answers gets a few large ones, and none while it does not read', async () => {
  await start({});
  const send = (method: string, path: string, body: object) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tenant.keys.full_access}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
  const url = `https://203.0.113.1/${'x'.repeat(1_900)}`;
  for (let count = 0; count < 150; count += 1) {
    const created = await send('POST', '/v1/webhooks', {
      url,
      subscribedEvents: ['payment.failed'],
    });
    const { data } = (await created.json()) as { data: { id: string } };
    await send('PATCH', `/v1/webhooks/${data.id}`, { subscribedEvents: [] });
  }
  expect((await (await healthy()).text()).length).toBeGreaterThan(300_000);
  const arrived = once(gateway.app.getHttpServer() as Server, 'request');
  const { socket } = openSocket(port);
  socket.pause();
  // Far more than the buffers of a connection hold. They arrive together, and are answered in turn.
  socket.write(lines('GET /v1/webhooks HTTP/1.1', 'Host: x', authorization()).repeat(100));
  await arrived;
  expect((await healthy()).status).toBe(429);
  socket.destroy();
  await until(async () => (await healthy()).status === 200, { timeoutMs });
});

it.each([
  ['headers', () => head('GET /v1/webhooks HTTP/1.1', 'Host: x', 'X-A: ').slice(0, -2)],
  ['their first line', () => 'GET /'],
  [
    'a body',
    () =>
      head(
        'POST /v1/webhooks HTTP/1.1',
        'Host: x',
        authorization(),
        'Content-Type: application/json',
        'Content-Length: 60000',
        '',
      ),
  ],
])(
  'a client that sends %s byte by byte gets an error and is cut off, and others are served meanwhile',
  async (_what, beginning) => {
    await start({ limits });
    const slow = Array.from({ length: slowClients }, () => drip(beginning()));
    let closed = 0;
    for (const { socket } of slow) socket.once('close', () => (closed += 1));
    await until(
      async () => {
        expect((await healthy()).status).toBe(200);
        return closed === slowClients;
      },
      { timeoutMs },
    );
    for (const { answers } of slow)
      expect(await answers()).toMatchObject([
        {
          status: 408,
          headers: { connection: 'close' },
          body: expect.stringContaining('"REQUEST_TIMEOUT"') as string,
        },
      ]);
  },
);

it('a client that connects and sends nothing is cut off', async () => {
  await start({ limits });
  const { answers } = openSocket(port);
  expect(await answers()).toMatchObject([{ status: 408 }]);
});

it('a client that keeps sending a refused body is cut off', async () => {
  // The server cuts it off by the time, which Node itself measures. A machine that is slow for a while has the
  // headers before.
  await start({ limits: { ...limits, headersTimeoutMs: 5_000, requestTimeoutMs: 5_000 } });
  const { answers } = drip(
    head('POST /v1/webhooks HTTP/1.1', 'Host: x', 'Content-Length: 60000', ''),
  );
  expect(await answers()).toMatchObject([{ status: 401 }]);
});

it('a client that is still sending when its key is revoked is refused', async () => {
  await start(undefined);
  expect((await healthy()).status).toBe(200);
  const body = '{"url":"https://203.0.113.1/","subscribedEvents":["payment.failed"]}';
  const { socket, received, answers } = openSocket(port);
  socket.write(
    head(
      'POST /v1/webhooks HTTP/1.1',
      'Host: x',
      'Connection: close',
      authorization(),
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      '',
    ),
  );
  await until(() => received().includes('100 Continue'), { timeoutMs });
  const digest = digestOfApiKey(tenant.keys.full_access);
  unrefused(await revokeApiKey({ store: gateway.store, by }, { digest }));
  await until(async () => (await healthy()).status === 401, { timeoutMs });
  socket.write(body);
  expect((await answers()).map(({ status }) => status)).toEqual([100, 401]);
});

const connections = () =>
  new Promise<number>((resolve, reject) => {
    const server = gateway.app.getHttpServer();
    server.getConnections((error: Error | null, count: number) =>
      error ? reject(error) : resolve(count),
    );
  });

it('a client that keeps asking and reads no answer is cut off', async () => {
  await start({ limits: { silenceTimeoutMs: 1_000 } });
  const { socket } = openSocket(port);
  socket.pause();
  const request = head('GET /openapi.json HTTP/1.1', 'Host: x', '');
  // More than the buffers of both ends can hold.
  socket.write(request.repeat(1_000));
  await until(async () => (await connections()) === 1, { timeoutMs });
  await until(async () => (await connections()) === 0, { timeoutMs });
  expect((await healthy()).status).toBe(200);
  socket.destroy();
});

it('beyond the limit of connections, no client is accepted until one disconnects', async () => {
  await start({ limits: { connectionsMax: 2 } });
  const kept = [openSocket(port), openSocket(port)];
  await until(async () => (await connections()) === 2, { timeoutMs });
  expect(await openSocket(port).answers()).toEqual([]);
  kept[0]?.socket.destroy();
  await until(async () => (await connections()) === 1, { timeoutMs });
  expect((await healthy()).status).toBe(200);
  for (const { socket } of kept) socket.destroy();
});
