/**
 * LISTEN on a connection of its own, for all that wait for notifications in a process. PostgreSQL does not keep
 * notifications for a connection that is down, so those who wait also learn of each connection. They must still poll
 * occasionally: a connection may not notice that it lost a notification.
 */
import pg from 'pg';
import { backoffMs, pause } from './wake-up.js';

const endTimeoutMs = 1_000;
/** Costs a statement. The keepalive of TCP costs none, but the kernel of a hanging server answers it. */
const checkEveryDefaultMs = 15_000;

export interface ListenerOptions {
  readonly channels: readonly string[];
  readonly connection: pg.ClientConfig;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  readonly connectTimeoutMs: number;
  /** How often the connection is used, so that a server that has silently vanished from it is noticed. */
  readonly checkEveryMs?: number;
}

export interface ChannelHandler {
  readonly channel: string;
  readonly onNotification: (payload: string) => void;
  /** Notifications arrive from now on. Those from before may be lost. */
  readonly onListening: () => void;
}

export class Listener {
  readonly #stopping = new AbortController();
  readonly #handlers = new Set<ChannelHandler>();
  #running: Promise<void> | null = null;
  #listening = false;

  constructor(private readonly options: ListenerOptions) {}

  /** Whether notifications arrive now. */
  get listening(): boolean {
    return this.#listening;
  }

  /** @param handler of one of the listener's channels */
  add(handler: ChannelHandler): void {
    this.#handlers.add(handler);
    if (this.#listening) handler.onListening();
  }

  remove(handler: ChannelHandler): void {
    this.#handlers.delete(handler);
  }

  /** Connects, and does so again when the connection is lost. */
  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { channels, retryInitialMs, retryMaxMs } = this.options;
    const { signal } = this.#stopping;
    const listen = channels.map((channel) => `LISTEN ${pg.escapeIdentifier(channel)}`).join('; ');
    let failures = 0;
    while (!signal.aborted) {
      const client = this.#client();
      const lost = new AbortController();
      const end = () => lost.abort();
      // A client without an error handler would end the process. The error itself does not matter here.
      client
        .on('error', end)
        .on('end', end)
        .on('notification', ({ channel, payload = '' }) => {
          for (const handler of this.#handlers)
            if (handler.channel === channel) handler.onNotification(payload);
        });
      signal.addEventListener('abort', end);
      try {
        await unlessLost(
          client.connect().then(() => client.query(listen)),
          lost.signal,
        );
        this.#listening = !signal.aborted;
        for (const handler of this.#handlers) handler.onListening();
        for (;;) {
          await pause(this.options.checkEveryMs ?? checkEveryDefaultMs, lost.signal);
          lost.signal.throwIfAborted();
          await unlessLost(client.query(listen), lost.signal);
          // Not before: a connection that ends each time it listens is no success.
          failures = 0;
        }
      } catch {
        failures += 1;
      }
      this.#listening = false;
      signal.removeEventListener('abort', end);
      await endQuietly(client);
      await pause(backoffMs(failures, retryInitialMs, retryMaxMs), signal);
    }
  }

  #client(): pg.Client {
    const { connection, connectTimeoutMs } = this.options;
    return new pg.Client({
      ...connection,
      // A pool hides its password from enumeration.
      ...(connection.password === undefined ? {} : { password: connection.password }),
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: connectTimeoutMs,
      keepAlive: true,
      application_name: 'pis-event-listener',
    });
  }
}

/** @throws when the connection is lost before the answer has come */
async function unlessLost(answer: Promise<unknown>, lost: AbortSignal): Promise<void> {
  const cut = Promise.withResolvers<never>();
  const end = () => cut.reject(new Error('the connection was lost'));
  lost.addEventListener('abort', end);
  if (lost.aborted) end();
  try {
    await Promise.race([answer, cut.promise]);
  } finally {
    lost.removeEventListener('abort', end);
  }
}

/** Ends the session, but does not wait long for a server that no longer answers. */
async function endQuietly(client: pg.Client): Promise<void> {
  const patience = new AbortController();
  const ended = client.end().catch(() => undefined);
  await Promise.race([ended, pause(endTimeoutMs, patience.signal)]);
  patience.abort();
}
