/**
 * The HTTP server of every app: limits for slow and oversized requests before any route, and a shutdown that
 * answers every request that was sent.
 */
import { Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { inNetworks } from './forwarded.js';

export interface HttpLimits {
  readonly bodyBytesMax: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  /** From the connection, or the end of the previous request, to the end of the headers. */
  readonly headersTimeoutMs: number;
  /** From the same moment to the end of the body. */
  readonly requestTimeoutMs: number;
  /** How often Node checks the two limits above. */
  readonly timeoutCheckIntervalMs: number;
  /** Time without a byte in either direction, for example because the client does not read the answer. */
  readonly silenceTimeoutMs: number;
  /** Idle time between two requests. Longer than the 60 s of common load balancers: a request could get lost otherwise. */
  readonly keepAliveTimeoutMs: number;
  /** Further connections are closed at once. The number of requests on a connection is not limited. */
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
  /** CIDRs of the proxies that are trusted to set X-Forwarded-For. Default: none. */
  readonly trustedProxies?: readonly string[];
  readonly limits?: Partial<HttpLimits>;
}

export function httpAdapter({
  trustedProxies = [],
  limits,
}: HttpServerOptions = {}): FastifyAdapter {
  const max = { ...defaultLimits, ...limits };
  const adapter = new FastifyAdapter({
    // The limit of the headers already limits a parameter. The app validates it.
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
      // Node's own answer has no body. Apps that require the header check it themselves.
      requireHostHeader: false,
    },
  });
  const { server } = adapter.getInstance();
  server.maxConnections = max.connectionsMax;
  return adapter;
}

/** How long open connections may send requests after that. Each answer then closes its connection. */
const lastRequestsMs = 500;
/** How long a connection without any request stays open when the server closes: its request may be unread. */
const firstRequestMs = 200;
/** After so many turns of the event loop without a new connection, no connection waits to be accepted. */
const quietTurns = 3;
const turnsMax = 10_000;
/** Requests under way are cut off this long after the drain began, but not before stragglersAfterDrainMs. */
const stragglersMs = 6_000;
/** The least time for requests under way after listening ends. */
const stragglersAfterDrainMs = 2_000;

/** The time from the beginning of the drain until requests under way are cut off. */
export function stragglersLimitMs(drainMs: number): number {
  return Math.max(stragglersMs, drainMs + stragglersAfterDrainMs);
}

export interface Drain {
  /**
   * For drainMs everything continues as before, so that load balancers can stop sending requests. Then the
   * server stops listening, and every answer closes its connection. In the other order, clients would
   * reconnect and be cut off. Resolves when no connection is open, or after lastRequestsMs. Closing the
   * server at once would cut off a request that is in transit on an idle connection.
   */
  begin(drainMs: number): Promise<void>;
  /** Resolves when the server has closed. */
  end(): void;
}

/** Call this before the app listens. */
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
  // Connections without a request, as browsers open them. The server counts them as busy and would wait.
  const endSilent = () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
  fastify.addHook('preClose', (done) => {
    // An immediate runs after all received data was read, however late the timer is.
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
  const stopListening = async () => {
    // Node accepts one connection a turn. Those that the kernel already accepted would be cut off.
    for (let quiet = 0, turns = 0; quiet < quietTurns && turns < turnsMax; turns += 1) {
      const before = accepted;
      await turn();
      quiet = accepted === before ? quiet + 1 : 0;
    }
    // Closes only the listener. The server's own close also ends idle connections.
    Server.prototype.close.call(fastify.server);
  };
  return {
    begin: async (drainMs) => {
      const cut = () => fastify.server.closeAllConnections();
      stragglers = setTimeout(cut, stragglersLimitMs(drainMs));
      await new Promise((resolve) => setTimeout(resolve, drainMs));
      await stopListening();
      isDraining = true;
      await untilEmpty(lastRequestsMs);
    },
    end: () => {
      clearTimeout(silent);
      clearTimeout(stragglers);
    },
  };
}
