/**
 * The HTTP server that every app has: limits against slow and oversized clients before any route, and
 * an end in which whoever has asked gets an answer.
 */
import { Server, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { inNetworks } from './forwarded.js';

export interface HttpLimits {
  readonly bodyBytesMax: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  /** From the connection, or the end of the request before, to the end of the headers. */
  readonly headersTimeoutMs: number;
  /** The same to the end of the body. */
  readonly requestTimeoutMs: number;
  /** How often the two above are looked at. */
  readonly timeoutCheckIntervalMs: number;
  /** Without a byte in either direction, for example from one who does not read the answer. */
  readonly silenceTimeoutMs: number;
  /** Between two requests; longer than the 60 s of the usual load balancers, which would lose a request otherwise. */
  readonly keepAliveTimeoutMs: number;
  /** Beyond them new connections are closed at once. Requests of one connection are not limited. */
  readonly connectionsMax: number;
}

const defaultLimits: HttpLimits = {
  bodyBytesMax: 64 * 1024,
  headerBytesMax: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  timeoutCheckIntervalMs: 1_000,
  silenceTimeoutMs: 60_000,
  keepAliveTimeoutMs: 72_000,
  connectionsMax: 10_000,
};

export interface HttpServerOptions {
  /** CIDRs of the proxies whose X-Forwarded-For is believed; none unless given. */
  readonly trustedProxies?: readonly string[];
  readonly limits?: Partial<HttpLimits>;
}

export function httpAdapter({
  trustedProxies = [],
  limits,
}: HttpServerOptions = {}): FastifyAdapter {
  const max = { ...defaultLimits, ...limits };
  const adapter = new FastifyAdapter({
    // No parameter is longer than the headers may be: what it must be like, the app says.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: max.headerBytesMax },
    trustProxy: trustedProxies.length > 0 ? inNetworks(trustedProxies) : false,
    bodyLimit: max.bodyBytesMax,
    requestTimeout: max.requestTimeoutMs,
    connectionTimeout: max.silenceTimeoutMs,
    keepAliveTimeout: max.keepAliveTimeoutMs,
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    http: {
      headersTimeout: max.headersTimeoutMs,
      requestTimeout: max.requestTimeoutMs,
      connectionsCheckingInterval: max.timeoutCheckIntervalMs,
      maxHeaderSize: max.headerBytesMax,
      // Node's own refusal has no body: an app that wants the header says so itself.
      requireHostHeader: false,
    },
  });
  const { server } = adapter.getInstance();
  server.maxConnections = max.connectionsMax;
  return adapter;
}

/** How long connections may ask after that, and be told in the answer to go elsewhere. */
const lastRequestsMs = 500;
/** How long one that has not asked yet may, once nobody else can connect: its request may be there, unread. */
const firstRequestMs = 200;
/** So many turns of the event loop without a new connection: there is none that waits to be let in. */
const quietTurns = 3;
const turnsMax = 10_000;
/** Requests under way are cut so long after the drain began, but not before stragglersAfterDrainMs. */
const stragglersMs = 6_000;
/** How long requests under way have, at least, once nobody new is let in. */
const stragglersAfterDrainMs = 2_000;

/** After so long a request whose rest does not come holds nobody up any more. */
export function stragglersLimitMs(drainMs: number): number {
  return Math.max(stragglersMs, drainMs + stragglersAfterDrainMs);
}

export interface Drain {
  /**
   * For drainMs everything goes on as before, whether or not a connection is open: load balancers
   * probe and route anew meanwhile. Then nobody new is let in, and every answer closes its connection.
   * In the other order, clients that are sent away would connect again and be cut off. Resolves when no
   * connection is open, or after lastRequestsMs: closing the server at once would cut a request that is
   * on its way on an idle connection.
   */
  begin(drainMs: number): Promise<void>;
  /** When the server has closed. */
  end(): void;
}

/** Call it before the app listens. */
export function drainOf(app: NestFastifyApplication): Drain {
  const fastify = app.getHttpAdapter().getInstance();
  const open = new Set<Socket>();
  let accepted = 0;
  let isDraining = false;
  let onEmpty: () => void = () => undefined;
  let stragglers: NodeJS.Timeout | undefined;
  fastify.server.on('connection', (socket: Socket) => {
    accepted += 1;
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      if (open.size === 0) onEmpty();
    });
  });
  let silent: NodeJS.Timeout | undefined;
  // To the server they are busy, and closing would wait for them: browsers keep such ones.
  const endSilent = () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
  fastify.addHook('preClose', (done) => {
    // An immediate comes after what has arrived was read, however late the timer is.
    silent = setTimeout(() => setImmediate(endSilent), firstRequestMs);
    done();
  });
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    if (isDraining) reply.header('Connection', 'close');
    done(null, payload);
  });
  const untilEmpty = async (limitMs: number) => {
    if (open.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      onEmpty = resolve;
      timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
  };
  const letNobodyIn = async () => {
    // Node lets in one a turn; whom the kernel has let in already would be cut off.
    for (let quiet = 0, turns = 0; quiet < quietTurns && turns < turnsMax; turns += 1) {
      const before = accepted;
      await turn();
      quiet = accepted === before ? quiet + 1 : 0;
    }
    // The listener alone: the server's own close ends idle connections, too.
    Server.prototype.close.call(fastify.server);
  };
  return {
    begin: async (drainMs) => {
      const cut = () => fastify.server.closeAllConnections();
      stragglers = setTimeout(cut, stragglersLimitMs(drainMs));
      await delay(drainMs);
      await letNobodyIn();
      isDraining = true;
      await untilEmpty(lastRequestsMs);
    },
    end: () => {
      clearTimeout(silent);
      clearTimeout(stragglers);
    },
  };
}
