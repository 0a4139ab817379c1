/**
 * An unreliable way of messages to the simulated bank. It ends TLS like a gateway in front of a bank, so it
 * can do to a single credit transfer what a cut line cannot: refuse it, refuse it and deliver it all the same,
 * or deliver it twice.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Random } from '@pis/local-servers/testing';

const mishaps = ['refused', 'refused and late', 'twice'] as const;
export type Mishap = (typeof mishaps)[number];

export interface UnreliableMessagesOptions {
  readonly bankPort: number;
  /** Of the simulated bank: its keys and certificates. */
  readonly keysFolder: string;
  readonly random: Random;
  /** Of how many credit transfers one goes wrong. */
  readonly oneIn: number;
  /** How late a message may arrive that was refused before. */
  readonly lateMaxMs: number;
}

export interface UnreliableMessages {
  readonly port: number;
  /** What went wrong, by the amount of the transfer in minor units. */
  readonly mishaps: ReadonlyMap<number, readonly Mishap[]>;
  /** Resolves when nothing late is under way. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const connectionsMax = 32;

export async function startUnreliableMessages(
  options: UnreliableMessagesOptions,
): Promise<UnreliableMessages> {
  const { keysFolder, bankPort, random, oneIn, lateMaxMs } = options;
  const file = (name: string) => readFileSync(path.join(keysFolder, name));
  const ca = file('authority.pem');
  const agent = new Agent({
    ...{ ca, cert: file('customer.pem'), key: file('customer.key') },
    ...{ keepAlive: true, maxSockets: connectionsMax },
  });
  const happened = new Map<number, Mishap[]>();
  const late = new Set<Promise<unknown>>();

  const pass = (passed: Passed) => forwarded(agent, bankPort, passed);
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/', headers } = incoming;
    const passed = { method, path: url, headers, body: await buffer(incoming) };
    const amount = amountOf(passed.body);
    const mishap = amount !== null && random(oneIn) === 0 ? mishaps[random(mishaps.length)] : null;
    if (amount !== null && mishap != null)
      happened.set(amount, [...(happened.get(amount) ?? []), mishap]);
    switch (mishap) {
      case 'refused':
        response.writeHead(422).end();
        return;
      case 'refused and late': {
        const arrival = timer(random(lateMaxMs)).then(() => pass(passed));
        late.add(arrival);
        arrival.catch(() => undefined).finally(() => late.delete(arrival));
        response.writeHead(422).end();
        return;
      }
      case 'twice':
        answer(response, (await Promise.all([pass(passed), pass(passed)]))[1]);
        return;
      case null:
      case undefined:
        answer(response, await pass(passed));
    }
  };
  const server = createServer(
    {
      ...{ key: file('server.key'), cert: file('server.pem'), ca },
      ...{ requestCert: true, rejectUnauthorized: true },
    },
    (incoming, response) => {
      // The bank is away: so is the line to it.
      serve(incoming, response).catch(() => response.destroy());
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    mishaps: happened,
    quiet: async () => {
      while (late.size > 0) await Promise.allSettled(late);
    },
    close: async () => {
      agent.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function answer(response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}

function forwarded(agent: Agent, port: number, passed: Passed): Promise<Answer> {
  const { method, path: where, headers, body } = passed;
  const { 'content-type': type, 'message-id': id } = headers;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ agent, host: '127.0.0.1', port, method, path: where },
        headers: {
          ...(type !== undefined && { 'content-type': type }),
          ...(typeof id === 'string' && { 'message-id': id }),
          ...(body.length > 0 && { 'content-length': body.length }),
        },
      },
      (response) => {
        buffer(response).then(
          (bytes) =>
            resolve({
              status: response.statusCode ?? 0,
              type: response.headers['content-type'] ?? '',
              body: bytes,
            }),
          reject,
        );
      },
    );
    outgoing.on('error', reject).end(body);
  });
}

/** Minor units. Null for anything but a credit transfer. */
function amountOf(body: Buffer): number | null {
  const text = body.toString('utf8');
  if (!text.includes('FIToFICstmrCdtTrf')) return null;
  const amount = /IntrBkSttlmAmt[^>]*>([\d.]+)</.exec(text)?.[1];
  return amount === undefined ? null : Math.round(Number(amount) * 100);
}

function timer(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
