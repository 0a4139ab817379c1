/**
 * Kept connections, by origin, bounded for each origin and in total. A connection carries one request at a
 * time. A receiver that closes an idle connection just as it is used again has not failed: such a request
 * is sent once more over a new connection (see `send`).
 *
 * undici's Agent does not fit. Its pools scan all connections of an origin for each request (with 256
 * connections 240 µs of CPU per request instead of 138 µs), it does not bound idle connections over all
 * origins, and it does not say whether a connection was kept, which decides about sending again.
 */
import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import type { Dial } from './guarded-dial.js';
import {
  type Answer,
  Exchange,
  responseHeadersMaxBytes,
  ResponseTooLarge,
  responseWireMaxBytes,
} from './exchange.js';

export interface ConnectionsOptions {
  readonly dial: Dial;
  readonly perOriginMax: number;
  readonly bodyTimeoutMs: number;
}

export type OutgoingRequest = Pick<Dispatcher.DispatchOptions, 'path' | 'body' | 'headers'> & {
  readonly origin: string;
  /** Asked last before it is sent. */
  readonly mayBegin: () => boolean;
};

/** Shorter than the 5 s after which many servers close. */
const keepAliveMs = 4_000;
/** After that a name is looked up again, because it may point elsewhere. */
const connectionAgeMaxMs = 5 * 60_000;
/** Idle connections in total. Beyond that the one that was idle longest is closed. */
const idleMax = 1_024;

interface Waiter {
  readonly give: (connection: Connection) => void;
  readonly refuse: (error: Error) => void;
}

interface Origin {
  open: number;
  readonly idle: Connection[];
  readonly waiting: Set<Waiter>;
}

export class Connections {
  private readonly origins = new Map<string, Origin>();
  /** In the order in which they became idle. */
  private readonly idle = new Set<Connection>();
  private readonly all = new Set<Connection>();
  private isClosed = false;

  constructor(private readonly options: ConnectionsOptions) {}

  /** @param signal ends it early with its reason, also while it waits for a connection */
  async send(request: OutgoingRequest, signal: AbortSignal): Promise<Answer> {
    const connection = await this.acquire(request.origin, signal);
    let isReusable = false;
    try {
      const answer = await connection.send(request, signal);
      isReusable = answer.complete;
      return answer;
    } finally {
      this.release(connection, isReusable);
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const { waiting } of this.origins.values())
      for (const waiter of waiting) waiter.refuse(new Error('the client is closed'));
    this.origins.clear();
    this.idle.clear();
    await Promise.all([...this.all].map((connection) => connection.close()));
  }

  private acquire(name: string, signal: AbortSignal): Promise<Connection> {
    if (this.isClosed) return Promise.reject(new Error('the client is closed'));
    if (signal.aborted) return Promise.reject(reasonOf(signal));
    const origin = this.origins.get(name) ?? { open: 0, idle: [], waiting: new Set() };
    this.origins.set(name, origin);
    // The last one used is the most likely to be still open.
    const kept = origin.idle.pop();
    if (kept !== undefined) {
      this.idle.delete(kept);
      return Promise.resolve(kept);
    }
    if (origin.open < this.options.perOriginMax) return Promise.resolve(this.open(name, origin));
    return new Promise((resolve, reject) => {
      const refuse = (error: Error) => {
        signal.removeEventListener('abort', abort);
        origin.waiting.delete(waiter);
        reject(error);
      };
      const abort = () => refuse(reasonOf(signal));
      const give = (connection: Connection) => {
        signal.removeEventListener('abort', abort);
        origin.waiting.delete(waiter);
        resolve(connection);
      };
      const waiter = { give, refuse };
      origin.waiting.add(waiter);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  private open(name: string, origin: Origin): Connection {
    origin.open += 1;
    const connection: Connection = new Connection(name, this.options, () => {
      // Closed while idle, by the receiver or by us.
      if (this.idle.delete(connection)) this.drop(connection, origin);
    });
    this.all.add(connection);
    return connection;
  }

  private release(connection: Connection, isReusable: boolean): void {
    const origin = this.origins.get(connection.origin);
    if (origin === undefined) {
      this.discard(connection);
      return;
    }
    const [waiter] = origin.waiting;
    if (!isReusable || connection.isOld()) {
      this.drop(connection, origin);
      if (waiter !== undefined) waiter.give(this.open(connection.origin, origin));
    } else if (waiter !== undefined) waiter.give(connection);
    else {
      origin.idle.push(connection);
      this.idle.add(connection);
      if (this.idle.size > idleMax) this.closeLongestIdle();
    }
  }

  private closeLongestIdle(): void {
    const [longest] = this.idle;
    const origin = longest && this.origins.get(longest.origin);
    if (longest === undefined || origin === undefined) return;
    this.idle.delete(longest);
    this.drop(longest, origin);
  }

  private drop(connection: Connection, origin: Origin): void {
    origin.open -= 1;
    const at = origin.idle.indexOf(connection);
    if (at >= 0) origin.idle.splice(at, 1);
    if (origin.open === 0 && origin.waiting.size === 0) this.origins.delete(connection.origin);
    this.discard(connection);
  }

  private discard(connection: Connection): void {
    this.all.delete(connection);
    // Nothing is in flight on it, so there is nothing to wait for.
    void connection.close();
  }
}

/** An undici client with a single socket, which it opens when needed. */
class Connection {
  private readonly client: Client;
  private readonly closing = new AbortController();
  private readonly openedAt = performance.now();
  private socket: Socket | null = null;
  /** Answers that the current socket has carried. */
  private answered = 0;
  private bytesBefore = 0;

  constructor(
    readonly origin: string,
    private readonly options: ConnectionsOptions,
    onDisconnect: () => void,
  ) {
    this.client = new Client(origin, {
      connect: (target, callback) => this.connect(target, callback),
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      maxHeaderSize: responseHeadersMaxBytes,
      // The signal of send() is the only limit over everything.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.client.on('disconnect', onDisconnect);
  }

  /**
   * Sends at most twice. A kept connection that breaks before the first byte of an answer was most likely
   * closed by the receiver while it was idle. Sending again at once is safe: deliveries are at least once
   * anyway, and the receiver can deduplicate on the envelope's ID.
   */
  async send(request: OutgoingRequest, signal: AbortSignal): Promise<Answer> {
    const first = this.exchange(request, signal);
    try {
      return await first.answer;
    } catch (error) {
      const wasKept = this.answered > 0;
      if (!wasKept || first.sawAnswer || signal.aborted || !isDisconnect(error)) throw error;
      this.answered = 0;
      return await this.exchange(request, signal).answer;
    }
  }

  isOld(): boolean {
    return performance.now() - this.openedAt > connectionAgeMaxMs;
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the connection was closed'));
    await this.client.destroy();
  }

  private exchange({ mayBegin, ...request }: OutgoingRequest, signal: AbortSignal): Exchange {
    const exchange = new Exchange(this.options.bodyTimeoutMs, mayBegin);
    const abort = () => exchange.cut(reasonOf(signal));
    signal.addEventListener('abort', abort, { once: true });
    const done = () => signal.removeEventListener('abort', abort);
    exchange.answer.then(() => {
      this.answered += 1;
      done();
    }, done);
    if (signal.aborted) abort();
    this.bytesBefore = this.socket?.bytesRead ?? 0;
    this.client.dispatch({ ...request, method: 'POST' }, exchange);
    return exchange;
  }

  private connect(target: buildConnector.Options, callback: buildConnector.Callback): void {
    this.options.dial(target, this.closing.signal).then(
      (socket) => {
        this.answered = 0;
        this.bytesBefore = 0;
        this.socket = socket;
        // Before undici's own listener, which takes the bytes.
        socket.on('readable', () => {
          if (socket.bytesRead - this.bytesBefore > responseWireMaxBytes)
            socket.destroy(new ResponseTooLarge('answer'));
        });
        callback(null, socket);
      },
      (error: unknown) => callback(error as Error, null),
    );
  }
}

const disconnectCodes: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  // undici's: the other side closed.
  'UND_ERR_SOCKET',
]);

function isDisconnect(error: unknown): boolean {
  return disconnectCodes.has((error as { code?: unknown } | null)?.code);
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('given up');
}
