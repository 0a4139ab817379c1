/** The routes of webhooks out of a running system. */
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { root, runCommand } from './support/process.js';
import { allInOne } from './support/systems.js';

const startLimitMs = 240_000;
const password = 'a-password-that-is-never-logged';

interface Proxy {
  readonly port: number;
  /** The targets and credentials that it received. */
  readonly asked: { readonly target: string; readonly authorization: string | undefined }[];
  close(): Promise<void>;
}

/** A CONNECT proxy. Plain requests through it are counted and cut off. */
async function startProxy(): Promise<Proxy> {
  const asked: Proxy['asked'] = [];
  const sockets = new Set<Socket>();
  const note = ({ url = '', headers }: IncomingMessage) =>
    asked.push({ target: url, authorization: headers['proxy-authorization'] });
  const server = createServer((request) => {
    note(request);
    request.destroy();
  });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('connect', (request: IncomingMessage, near: Socket) => {
    note(request);
    const { hostname, port } = new URL(`http://${request.url}`);
    const far = connect(Number(port), hostname, () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    for (const end of [near, far]) end.on('error', () => (near.destroy(), far.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async close() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let receiver: HttpsReceiver;
let proxy: Proxy;

beforeEach(async () => {
  receiver = await startHttpsReceiver();
  proxy = await startProxy();
});
afterEach(async () => {
  await proxy.close();
  await receiver.close();
});

it(
  'webhooks use the configured proxy, and never reach the system’s own hosts',
  async () => {
    const system = await allInOne({
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      PIS_WEBHOOK_EGRESS_PROXY: `http://pis:${password}@127.0.0.1:${proxy.port}`,
      LOG_LEVEL: 'debug',
    });
    try {
      const api = new Api(system.apiUrl, system.apiKey);
      const create = (url: string) =>
        api.call('POST', '/v1/webhooks', { url, subscribedEvents: ['payment.*'] });

      // The embedded PostgreSQL has a port that no variable names, and is still protected.
      const { port: databasePort } = new URL(system.databaseUrl);
      for (const own of [databasePort, proxy.port])
        for (const host of ['127.0.0.1', 'localhost', '127.8.8.8']) {
          const { status, body } = await create(`https://${host}:${own}/`);
          expect({ status, details: body.error?.details }).toEqual({
            status: 400,
            details: [expect.objectContaining({ issue: 'validation_url_private_address' })],
          });
        }

      const { body } = await create(`https://127.0.0.1:${receiver.port}/hook`);
      const { id } = body.data as { id: string };
      const result = await api.data(200, 'POST', `/v1/webhooks/${id}/test`, {});
      expect(result).toMatchObject({ success: true, statusCode: 200 });
      const credentials = Buffer.from(`pis:${password}`).toString('base64');
      expect(proxy.asked).toEqual([
        { target: `127.0.0.1:${receiver.port}`, authorization: `Basic ${credentials}` },
      ]);
      expect(receiver.requests).toHaveLength(1);
      expect(system.logs()).not.toContain(password);
      expect(system.logs()).not.toContain(credentials);
    } finally {
      await system.stop();
    }
  },
  startLimitMs,
);

const program = `
  import { readFileSync } from 'node:fs';
  import { guardedClient } from '@pis/webhooks';
  const client = guardedClient({
    allowedNetworks: ['127.0.0.0/8'],
    extraCaPem: readFileSync(process.env.CA_FILE, 'utf8'),
    timeoutMs: 10_000,
    connectionsPerOriginMax: 1,
  });
  const { status, error } = await client.post(process.env.RECEIVER, {}, '{}');
  await client.close();
  console.log(JSON.stringify({ status, error }));
`;

it('the proxy variables of the environment are ignored, even where Node would use them', async () => {
  const url = `http://127.0.0.1:${proxy.port}`;
  const names = [
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
  ];
  const environment = {
    ...Object.fromEntries(names.map((name) => [name, url])),
    NODE_USE_ENV_PROXY: '1',
    CA_FILE: receiver.caFile,
    RECEIVER: `https://127.0.0.1:${receiver.port}/`,
  };
  const args = ['--input-type=module', '--eval', program];
  const { code, stdout } = await runCommand(process.execPath, args, {
    cwd: root,
    env: environment,
  });
  expect({ code, ...(JSON.parse(stdout) as object) }).toEqual({
    code: 0,
    status: 200,
    error: null,
  });
  expect(proxy.asked).toEqual([]);
});
