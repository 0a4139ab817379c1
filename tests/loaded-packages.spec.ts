/** Which packages a process loads at its start: each costs time, and a command starts anew each time. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run, runCommand } from './support/process.js';

const reporter = pathToFileURL(path.join(root, 'tests/support/loaded-packages.mjs')).href;

async function packagesLoadedBy(...args: string[]): Promise<readonly string[]> {
  const { code, stderr } = await run(['--import', reporter, ...args], {});
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as string[];
}

const eventStoreDbClients = ['@eventstore/db-client', '@kurrent/kurrentdb-client', '@grpc/grpc-js'];
const kafkaClients = ['kafkajs', '@platformatic/kafka'];
/** Each costs a command a tenth of its CPU time. */
const unusedByCommands = ['undici', 'prom-client', '@prisma/client'];

it('the apps load no client of EventStoreDB or Kafka, no SSH, no trace exporter and no OpenID before they are configured to', async () => {
  const loaded = await packagesLoadedBy(
    ...[
      '--input-type=module',
      '--eval',
      "await import('./apps/all-in-one/dist/all-in-one-app.js')",
    ],
  );
  expect(loaded).toContain('@nestjs/core');
  for (const name of [
    ...eventStoreDbClients,
    ...kafkaClients,
    '@opentelemetry/sdk-trace-node',
    'ssh2',
    'openid-client',
  ])
    expect(loaded).not.toContain(name);
});

it.each([
  ['organization create', []],
  ['api-key create', []],
  ['migrate', []],
  ['webhooks trigger', []],
  ['consumers list', []],
  ['dead-letters list', []],
  ['dead-letters replay', []],
  ['relay replay', []],
  ['rails files list', ['ssh2']],
])('pis %s loads neither Nest nor a client that it does not use', async (command, clients) => {
  const args = ['apps/cli/dist/main.js', ...command.split(' '), '--help'];
  const loaded = await packagesLoadedBy(...args);
  expect(loaded).toContain('commander');
  for (const name of [
    ...eventStoreDbClients,
    ...kafkaClients,
    ...unusedByCommands,
    '@nestjs/core',
    'fastify',
    ...clients,
  ])
    expect(loaded).not.toContain(name);
});

/** Posts twice, at first while the process can open only so many files. Prints which call reached the server. */
const postTwice = `
  import { closeSync, openSync } from 'node:fs';
  import { createServer } from 'node:http';
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const url = 'https://127.0.0.1:' + server.address().port;
  const { guardedClient } = await import('./libs/webhooks/dist/index.js');
  const limits = { timeoutMs: 20_000, connectionsPerOriginMax: 1 };
  const client = guardedClient({ allowedNetworks: ['127.0.0.0/8'], ...limits });
  // The server does not speak TLS.
  const post = async () => (await client.post(url, {}, '{}')).error?.code === 'tls';
  const held = [];
  for (;;) {
    try {
      held.push(openSync('/dev/null'));
    } catch {
      break;
    }
  }
  for (const one of held.splice(0, Number(process.argv[1]))) closeSync(one);
  const reached = [await post()];
  for (const one of held) closeSync(one);
  reached.push(await post());
  console.log(JSON.stringify(reached));
  await client.close();
  server.close();`;

it.each([0, 1])(
  'the client of webhooks loads its packages again when they could not be read, with %i files left',
  async (filesLeft) => {
    const script = ['--input-type=module', '--eval', postTwice, String(filesLeft)];
    const limited = ['-c', 'ulimit -n 128 && exec "$@"', 'sh', process.execPath, ...script];
    const { code, stdout, stderr } = await runCommand('sh', limited, { env: {}, cwd: root });
    expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: '', stdout: '[false,true]\n' });
  },
);
