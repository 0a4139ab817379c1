/**
 * LISTEN on a connection of its own, for all that wait for notifications in a process. PostgreSQL does not keep
 * notifications for a connection that is down, so those who wait also learn of each connection. They must still poll
 * occasionally: a connection may not notice that it lost a notification.
 *
 * A connection that listens may never hear anything: a pooler has lent its session to others, it leads to another
 * database, or its server has silently vanished. So a notification is sent now and then on the connections of those
 * whose work is announced, and must arrive here. No statement is under way here meanwhile: a pooler passes on what the
 * session of a statement hears. Until the first one has arrived, and from one that does not on, nobody relies on notifications.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { backoffMs, pause } from './wake-up.js';

const endTimeoutMs = 1_000;
/** Costs a statement. The keepalive of TCP costs none, but the kernel of a hanging server answers it. */
const checkEveryDefaultMs = 15_000;
/**
 * A notification that was sent, and has not arrived after this, does not arrive. Nor is it waited for longer until it is
 * sent: the server may have vanished from all connections.
 */
const arrivesWithinDefaultMs = 5_000;

export interface ListenerOptions {
  readonly channels: readonly string[];
  readonly connection: pg.ClientConfig;
  readonly retryInitialMs: number;
  readonly retryMaxMs: number;
  readonly connectTimeoutMs: number;
  /**
   * The connections on which others notify, or connections to the same server: a notification is sent on them to prove
   * that notifications arrive. Without them nothing is proven, and the listening connection itself is used now and then.
   */
  readonly senders?: { query(text: string, values: string[]): Promise<unknown> };
  /** How often it is checked that notifications arrive, or at least that the server has not silently vanished. */
  readonly checkEveryMs?: number;
  readonly arrivesWithinMs?: number;
  /** Called when notifications turn out not to arrive although the connection listens, and when they do again. */
  readonly onHearing?: (isHearing: boolean) => void;
}

export interface ChannelHandler {
  readonly channel: string;
  readonly onNotification: (payload: string) => void;
  /** Notifications arrive from now on. Those from before may be lost. */
  readonly onListening: () => void;
  /** It is no longer proven that notifications arrive: do not wait for one. */
  readonly onDoubt?: () => void;
}

export class Listener {
  readonly #stopping = new AbortController();
  readonly #handlers = new Set<ChannelHandler>();
  #running: Promise<void> | null = null;
  #listening = false;
  #isProven = false;
  /** As told by onHearing. */
  #isHearing = true;
  /** Of this listener alone. */
  readonly #proofs = `pis_proof_${randomUUID()}`;
  #awaited: { readonly token: string; readonly arrived: () => void } | null = null;

  constructor(private readonly options: ListenerOptions) {}

  /** Whether the connection listens now. */
  get listening(): boolean {
    return this.#listening;
  }

  /** Whether the last notification that was sent as a proof has arrived. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** Something has failed that notifications depend on: they are not relied on before the next proof. */
  doubt(): void {
    if (!this.#isProven) return;
    this.#isProven = false;
    for (const handler of this.#handlers) handler.onDoubt?.();
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
    const listen = [...channels, this.#proofs]
      .map((channel) => `LISTEN ${pg.escapeIdentifier(channel)}`)
      .join('; ');
    let failures = 0;
    while (!signal.aborted) {
      const client = this.#client();
      const lost = new AbortController();
      const end = () => lost.abort();
      // A client without an error handler would end the process. The error itself does not matter here.
      client
        .on('error', end)
        .on('end', end)
        .on('notification', ({ channel, payload = '' }) => this.#notified(channel, payload));
      signal.addEventListener('abort', end);
      try {
        await unlessLost(
          client.connect().then(() => client.query(listen)),
          lost.signal,
        );
        this.#listening = !signal.aborted;
        for (const handler of this.#handlers) handler.onListening();
        for (let isNew = true; ; isNew = false) {
          const isProven = await unlessLost(this.#prove(lost.signal), lost.signal);
          // Fails if the server has silently vanished.
          if (!isProven && !isNew) await unlessLost(client.query(listen), lost.signal);
          await pause(this.options.checkEveryMs ?? checkEveryDefaultMs, lost.signal);
          lost.signal.throwIfAborted();
          // Not before: a connection that ends each time it listens is no success.
          failures = 0;
        }
      } catch {
        failures += 1;
      }
      this.#listening = false;
      this.doubt();
      signal.removeEventListener('abort', end);
      await endQuietly(client);
      await pause(backoffMs(failures, retryInitialMs, retryMaxMs), signal);
    }
  }

  #notified(channel: string, payload: string): void {
    if (channel === this.#proofs) {
      if (payload === this.#awaited?.token) this.#awaited.arrived();
      return;
    }
    for (const handler of this.#handlers)
      if (handler.channel === channel) handler.onNotification(payload);
  }

  /** @returns whether notifications arrive. Also false if none could be sent: then it is not known */
  async #prove(lost: AbortSignal): Promise<boolean> {
    const isArrived = await this.#arrives(lost);
    if (lost.aborted) return false;
    if (isArrived === true) this.#isProven = true;
    else this.doubt();
    if (isArrived !== null && isArrived !== this.#isHearing) {
      this.#isHearing = isArrived;
      this.options.onHearing?.(isArrived);
    }
    return isArrived === true;
  }

  /** Null if none could be sent, or the server has not answered for too long. */
  async #arrives(lost: AbortSignal): Promise<boolean | null> {
    const { senders, arrivesWithinMs = arrivesWithinDefaultMs } = this.options;
    if (senders === undefined) return null;
    const token = randomUUID();
    const arrived = Promise.withResolvers<true>();
    this.#awaited = { token, arrived: () => arrived.resolve(true) };
    const sent = senders.query('SELECT pg_notify($1, $2)', [this.#proofs, token]).then(
      () => true,
      () => false,
    );
    if (!(await isTrueWithin(sent, arrivesWithinMs, lost))) return null;
    return isTrueWithin(arrived.promise, arrivesWithinMs, lost);
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
async function unlessLost<Answer>(answer: Promise<Answer>, lost: AbortSignal): Promise<Answer> {
  const cut = Promise.withResolvers<never>();
  const end = () => cut.reject(new Error('the connection was lost'));
  lost.addEventListener('abort', end);
  if (lost.aborted) end();
  try {
    return await Promise.race([answer, cut.promise]);
  } finally {
    lost.removeEventListener('abort', end);
  }
}

/** False if it takes longer. */
async function isTrueWithin(
  answer: Promise<boolean>,
  limitMs: number,
  lost: AbortSignal,
): Promise<boolean> {
  const patience = new AbortController();
  const ended = AbortSignal.any([patience.signal, lost]);
  const isTrue = await Promise.race([answer, pause(limitMs, ended).then(() => false)]);
  patience.abort();
  return isTrue;
}

/** Ends the session, but does not wait long for a server that no longer answers. */
async function endQuietly(client: pg.Client): Promise<void> {
  const patience = new AbortController();
  const ended = client.end().catch(() => undefined);
  await Promise.race([ended, pause(endTimeoutMs, patience.signal)]);
  patience.abort();
}
