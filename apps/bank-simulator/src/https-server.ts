/** The message desk over HTTPS with client certificates, for the simulator as a separate process. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { BankRefused } from '@pis/bank-rails';
import {
  inboxPageToWire,
  inboxQuerySchema,
  messageMaxBytes,
  messagesPath,
  xmlType,
} from '@pis/bank-rails/connections';
import type { MessageDesk } from './message-desk.js';
import { listening, type ListenOptions, type RunningServer } from './running-server.js';

export interface HttpsServerOptions extends ListenOptions {
  readonly desk: MessageDesk;
  /** PEM. */
  readonly key: string;
  readonly certificate: string;
  /** PEM: the authority of the customers' certificates. */
  readonly customersAuthority: string;
}

const requestTimeoutMs = 30_000;
const connectionsMax = 200;

export async function startHttpsServer(options: HttpsServerOptions): Promise<RunningServer> {
  const server = createServer(
    {
      key: options.key,
      cert: options.certificate,
      ca: options.customersAuthority,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
    },
    (request, response) => {
      handle(options.desk, request, response).catch((error: unknown) => {
        options.onProblem(error);
        const status = error instanceof BankRefused ? 422 : 503;
        if (response.headersSent) response.destroy();
        else response.writeHead(status).end();
      });
    },
  );
  server.requestTimeout = requestTimeoutMs;
  server.maxConnections = connectionsMax;
  return listening(server, options, () => server.closeAllConnections());
}

async function handle(
  desk: MessageDesk,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://bank');
  if (url.pathname !== messagesPath) {
    response.writeHead(404).end();
    return;
  }
  switch (request.method) {
    case 'POST': {
      const answer = await desk.answer(await bodyOf(request));
      response.writeHead(200, { 'content-type': xmlType }).end(answer);
      return;
    }
    case 'GET': {
      const query = inboxQuerySchema.safeParse(Object.fromEntries(url.searchParams));
      if (!query.success) throw new BankRefused('not a query of the inbox');
      const page = await desk.inbox(query.data);
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(inboxPageToWire(page)));
      return;
    }
    default:
      response.writeHead(405).end();
  }
}

/** @throws BankRefused when it is too large */
async function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request) {
    const bytes = part as Buffer;
    length += bytes.length;
    if (length > messageMaxBytes) throw new BankRefused('the message is too large');
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
