/** Deliveries of a process of its own, in an environment that names proxies for everybody. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import { root, runCommand } from './support/process.js';

let receiver: HttpsReceiver;

beforeEach(async () => {
  receiver = await startHttpsReceiver();
});
afterEach(() => receiver.close());

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

it('the proxies of the environment are not obeyed, not even where Node itself would', async () => {
  let asked = 0;
  const proxy = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const names = [
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
  ];

  const { code, stdout } = await runCommand(
    process.execPath,
    ['--input-type=module', '--eval', program],
    {
      cwd: root,
      env: {
        ...Object.fromEntries(names.map((name) => [name, url])),
        NODE_USE_ENV_PROXY: '1',
        CA_FILE: receiver.caFile,
        RECEIVER: `https://127.0.0.1:${receiver.port}/`,
      },
    },
  );
  await new Promise((resolve) => proxy.close(resolve));

  expect({ code, ...(JSON.parse(stdout) as object) }).toEqual({
    code: 0,
    status: 200,
    error: null,
  });
  expect(asked).toBe(0);
});
