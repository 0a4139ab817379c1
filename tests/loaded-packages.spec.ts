/** Which packages a process loads at its start: each costs time, and a command starts anew each time. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run } from './support/process.js';

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
