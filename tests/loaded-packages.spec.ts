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

/** Calls twice, at first while the process can open no file. `answers` says which call got an answer. */
const callTwice = (setUp: string) => `
  import { closeSync, openSync } from 'node:fs';
  import { createServer } from 'node:http';
  const server = createServer((_request, response) => response.end('{"outcome":"unknown"}'));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const url = 'http://127.0.0.1:' + server.address().port;
  ${setUp}
  const held = [];
  try { for (;;) held.push(openSync('/dev/null')); } catch {}
  const answers = [await call()];
  for (const one of held) closeSync(one);
  answers.push(await call());
  console.log(JSON.stringify(answers));
  await one.close();
  server.close();`;

it.each([
  [
    'the connection to a bank over HTTP',
    `const { httpBankConnection } = await import('./libs/bank-rails/dist/index.js');
     const one = httpBankConnection({ baseUrl: url });
     const call = () => one.inquire('a').then(() => true, () => false);`,
  ],
  [
    'the client of webhooks',
    // It speaks TLS, which the server does not.
    `const { guardedClient } = await import('./libs/webhooks/dist/index.js');
     const limits = { timeoutMs: 20_000, connectionsPerOriginMax: 1 };
     const one = guardedClient({ allowedNetworks: ['127.0.0.0/8'], ...limits });
     const call = async () => (await one.post(url.replace('http', 'https'), {}, '{}')).error?.code === 'tls';`,
  ],
])('%s loads its packages again when they could not be read', async (_what, setUp) => {
  const script = ['--input-type=module', '--eval', callTwice(setUp)];
  const limited = ['-c', 'ulimit -n 128 && exec "$@"', 'sh', process.execPath, ...script];
  const { code, stdout, stderr } = await runCommand('sh', limited, { env: {}, cwd: root });
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: '', stdout: '[false,true]\n' });
});
