/**
 * Reads with the successor's native client, which finds the nodes and the leader itself, on its own
 * connections.
 *
 * It can neither cancel a read nor limit its time. So a late read is abandoned, and the next reads use a
 * new native client. The old one is freed once its last read has ended.
 */
import { types } from 'node:util';
import { KurrentDBClient } from '@kurrent/kurrentdb-client';
import { backoffMs, pause } from '@pis/postgres';
import { type ReadOptions, StoreUnavailable } from '../port.js';
import type { EventStoreDbUrl } from '../eventstoredb/connection-string.js';
import { type StoreFault, classified, faultOf, within } from '../eventstoredb/faults.js';
import { type LogPlace, type Namespace, positionOf } from '../eventstoredb/namespace.js';
import { gossipTimeoutDefaultS } from '../eventstoredb/node-client.js';
import type { EventStoreDbReads, LogRange, OpenLogRead, ReadEvent } from '../eventstoredb/reads.js';
import { recordedOf } from '../eventstoredb/recorded.js';

type NativeClient = KurrentDBClient['rustClient'];
type Batches = ReturnType<NativeClient['readAll']>;
type NativeEvent = Batches extends AsyncIterable<readonly (infer Event)[]> ? Event : never;

/** Between two tries while the client moves to the leader. */
const moveInitialMs = 10;
const moveMaxMs = 200;
/** The client waits this long before each connection, also the first; its own default is 500 ms. */
const discoveryIntervalDefaultMs = 100;
const msPerS = 1_000;

export class NativeReads implements EventStoreDbReads {
  #client: NativeClient | null;

  /** Connects with the first read. */
  constructor(
    private readonly url: EventStoreDbUrl,
    private readonly namespace: Namespace,
  ) {
    this.#client = nativeClient(url);
  }

  stream(
    name: string,
    { from, direction = 'forwards', maxCount }: ReadOptions,
    timeoutMs: number,
  ): Promise<readonly ReadEvent[]> {
    const fromRevision =
      from === undefined ? (direction === 'forwards' ? 'start' : 'end') : BigInt(from);
    const options = { ...this.#optionsOf(direction, maxCount), fromRevision };
    return this.#read((client) => client.readStream(name, options), timeoutMs);
  }

  log(
    { from, direction = 'forwards', maxCount, prefixes }: LogRange,
    timeoutMs: number,
    isEnough?: (event: ReadEvent) => boolean,
  ): Promise<readonly ReadEvent[]> {
    const fromPosition = typeof from === 'string' ? from : { ...from };
    const filter =
      prefixes === undefined
        ? {}
        : { filter: { filterOn: 'streamName' as const, prefixes: [...prefixes] } };
    const options = { ...this.#optionsOf(direction, maxCount), fromPosition, ...filter };
    return this.#read((client) => client.readAll(options), timeoutMs, isEnough);
  }

  /**
   * On a client of its own: what a paused read has received and nobody has taken yet fills the connection, and other
   * reads would wait for that.
   */
  openLog(from: LogPlace): OpenLogRead {
    const options = { ...this.#optionsOf('forwards'), fromPosition: { ...from } };
    const open = () => nativeClient(this.url).readAll(options);
    return new NativeLogRead(open, (resolved) => this.#eventOf(resolved));
  }

  close(): void {
    this.#client = null;
  }

  /** The client moves to the leader that a node names. The read must be repeated. */
  async #read(
    open: (client: NativeClient) => Batches,
    timeoutMs: number,
    isEnough: (event: ReadEvent) => boolean = () => false,
  ): Promise<readonly ReadEvent[]> {
    const endsAtMs = performance.now() + timeoutMs;
    for (let tries = 0; ; tries += 1) {
      const client = this.#client;
      if (client === null) throw new StoreUnavailable('the store is closed');
      const reading = new AbortController();
      try {
        const leftMs = Math.max(1, endsAtMs - performance.now());
        return await within(this.#eventsOf(open(client), isEnough, reading.signal), leftMs);
      } catch (error) {
        const fault = nativeFaultOf(error);
        if (fault === 'noStream') return [];
        if (fault === 'unreachable') this.#replace(client);
        const pauseMs = backoffMs(tries, moveInitialMs, moveMaxMs);
        if (fault !== 'notLeader' || performance.now() + pauseMs >= endsAtMs)
          throw explained(error, fault);
        await pause(pauseMs);
      } finally {
        reading.abort();
      }
    }
  }

  #replace(client: NativeClient): void {
    if (this.#client !== client) return;
    try {
      this.#client = nativeClient(this.url);
    } catch {
      // A file of the URL cannot be read at the moment: the current client keeps trying.
    }
  }

  /** Ends with the signal, when the caller has stopped listening. */
  async #eventsOf(
    batches: Batches,
    isEnough: (event: ReadEvent) => boolean,
    signal: AbortSignal,
  ): Promise<readonly ReadEvent[]> {
    const events: ReadEvent[] = [];
    for await (const batch of batches) {
      for (const resolved of batch) {
        if (signal.aborted) return events;
        const event = this.#eventOf(resolved);
        if (event === null) continue;
        events.push(event);
        if (isEnough(event)) return events;
      }
    }
    return events;
  }

  #optionsOf(direction: 'forwards' | 'backwards', maxCount = Number.MAX_SAFE_INTEGER) {
    const { credentials, tls } = this.url;
    // Without TLS the server ignores credentials, and the network would see them.
    const secret = credentials !== null && tls ? { credentials } : {};
    const count = { direction, maxCount: BigInt(maxCount) };
    return { ...count, ...secret, requiresLeader: true, resolvesLink: false };
  }

  #eventOf({ event, link }: NativeEvent): ReadEvent | null {
    const at = event?.position ?? link?.position;
    if (at === undefined) return null;
    const position = positionOf(at);
    if (event === undefined) return { position, recorded: null };
    const { streamId: name, revision, id, type, data, metadata } = event;
    const stored = { name, revision, position, id, type, data, metadata };
    return { position, recorded: recordedOf(this.namespace, stored) };
  }
}

/** A read that goes on when it is asked to. It ends once nobody holds it any more. */
class NativeLogRead implements OpenLogRead {
  #batches: AsyncIterator<readonly NativeEvent[]> | null = null;
  #isClosed = false;

  /** Begins with the first call of next(). */
  constructor(
    private readonly open: () => Batches,
    private readonly eventOf: (event: NativeEvent) => ReadEvent | null,
  ) {}

  async next(timeoutMs: number): Promise<readonly ReadEvent[] | null> {
    if (this.#isClosed) throw new StoreUnavailable('this read was closed');
    try {
      this.#batches ??= this.open()[Symbol.asyncIterator]();
      const { value, done } = await within(this.#batches.next(), timeoutMs);
      return done === true
        ? null
        : value.map((event) => this.eventOf(event)).filter((event) => event !== null);
    } catch (error) {
      const fault = nativeFaultOf(error);
      throw explained(error, fault === 'noStream' ? 'refused' : fault);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#batches = null;
  }
}

/** The native client's errors have only a name. */
const faultOfName: Readonly<Record<string, StoreFault | 'noStream'>> = {
  StreamNotFoundError: 'noStream',
  StreamDeletedError: 'refused',
  NotLeaderError: 'notLeader',
  AccessDeniedError: 'rights',
};

function nativeFaultOf(error: unknown): StoreFault | 'noStream' {
  const name = types.isNativeError(error) ? error.name : '';
  return faultOfName[name] ?? faultOf(error);
}

/** The port's error. It says where to find the reason, because the native client does not give it. */
function explained(error: unknown, fault: StoreFault): unknown {
  const cause = { cause: error };
  if (fault === 'rights')
    return new StoreUnavailable(
      'EventStoreDB does not take the user of EVENTSTOREDB_URL, or denies it a right: ' +
        '`pis event-store check` shows which',
      cause,
    );
  if (types.isNativeError(error) && error.name === 'UnavailableError')
    return new StoreUnavailable(
      'EventStoreDB is unavailable for reads: `pis event-store check` shows why',
      cause,
    );
  return classified(error);
}

/** Made of the parts of the URL, because the client prints a text that it does not understand. */
function nativeClient(url: EventStoreDbUrl): NativeClient {
  return KurrentDBClient.connectionString(nativeConnectionString(url)).rustClient;
}

/**
 * The native client takes all times in milliseconds. The credentials go with each read instead: here it
 * would not decode them.
 */
export function nativeConnectionString(url: EventStoreDbUrl): string {
  const { hosts, discover, tls, settings } = url;
  const { gossipTimeout = gossipTimeoutDefaultS } = settings;
  const { discoveryInterval = discoveryIntervalDefaultMs } = settings;
  const texts = {
    tls,
    nodePreference: 'leader',
    gossipTimeout: gossipTimeout * msPerS,
    discoveryInterval,
    maxDiscoverAttempts: settings.maxDiscoverAttempts,
    keepAliveInterval: settings.keepAliveInterval,
    keepAliveTimeout: settings.keepAliveTimeout,
    tlsCAFile: tls ? url.tlsCaFile : undefined,
    userCertFile: tls ? url.userCertFile : undefined,
    userKeyFile: tls ? url.userKeyFile : undefined,
  };
  const query = Object.entries(texts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');
  const names = hosts.map(({ host, port }) => `${host}:${port}`).join(',');
  return `kurrentdb${discover ? '+discover' : ''}://${names}?${query}`;
}
