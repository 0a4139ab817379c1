/**
 * The relay's loop: hold the lock, read from the checkpoint, publish a page, save the checkpoint. A crash
 * between publishing and saving publishes the page again. Consumers are idempotent.
 */
import {
  type ConsumerState,
  type KafkaPublisher,
  type MessageSource,
  publishPage,
} from '@pis/messaging';
import { relayGroup } from '@pis/integration';
import { asSingleton, pause, standbyPollMs, type WakeUp } from '@pis/postgres';
import { type Logger } from '@pis/service-kit';
import type pg from 'pg';

/** The lock of the active relay: the bytes of 'pisrelay' as a number. */
const relayLock = { key: 8_100_132_339_967_615_353n };
const retryInitialMs = 200;
const retryMaxMs = 10_000;
/** How long a page under way may still take when the relay is stopped. */
const drainMs = 2_000;

export interface RelayOptions {
  readonly feed: MessageSource;
  readonly topics: readonly string[];
  readonly publisher: KafkaPublisher;
  readonly state: ConsumerState;
  readonly pool: pg.Pool;
  /** Of `locks`: wakes a standby when the active relay ends. */
  readonly wakeUp: WakeUp;
  readonly logger: Logger;
  readonly published: (topic: string) => void;
  /** Runs when this relay becomes active, before it reads its checkpoint. */
  readonly onActive?: () => Promise<void>;
}

export class Relay {
  private readonly stopping = new AbortController();
  private readonly givingUp = new AbortController();
  private running: Promise<void> | undefined;
  private lastError: unknown;
  private active = false;
  private asking: Promise<void> | null = null;

  constructor(private readonly options: RelayOptions) {}

  start(): void {
    this.running = this.runUntilStopped();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    // A broker that does not answer must not delay the shutdown or hold the lock. The messages that it may
    // have accepted are published again.
    const limit = setTimeout(() => this.givingUp.abort(), drainMs);
    await this.running;
    clearTimeout(limit);
    await this.options.publisher.close();
  }

  /**
   * Rejects while the last attempt to relay failed, or while the broker does not answer. An idle or standby
   * relay publishes nothing, so it must query the broker to notice an outage.
   */
  async check(): Promise<void> {
    if (this.lastError !== undefined)
      throw new Error(
        `not relaying: ${this.lastError instanceof Error ? this.lastError.message : 'unknown error'}`,
      );
    // A broker that hangs is queried once, regardless of the number of probes.
    this.asking ??= this.options.publisher.ping().finally(() => (this.asking = null));
    await this.asking;
  }

  get isActive(): boolean {
    return this.active;
  }

  /** Whether this is the active relay, and its last attempt succeeded. */
  get isPublishing(): boolean {
    return this.active && this.lastError === undefined;
  }

  private async runUntilStopped(): Promise<void> {
    const { signal } = this.stopping;
    for (let retryMs = retryInitialMs; !signal.aborted; retryMs = Math.min(retryMs * 2, retryMaxMs))
      try {
        await this.relayWithLock(() => (retryMs = retryInitialMs));
      } catch (error) {
        if (signal.aborted) return;
        this.lastError = error;
        this.options.logger.warn({ err: error, retryMs }, 'relay interrupted');
        await pause(retryMs, signal);
      }
  }

  /** The lock lives on one connection: when that breaks, the relay stops and competes again. */
  private async relayWithLock(onProgress: () => void): Promise<void> {
    const { signal } = this.stopping;
    const onWaiting = () => (this.lastError = undefined);
    const { pool, wakeUp } = this.options;
    const wait = { pollMs: standbyPollMs, wakeUp, signal, onWaiting };
    await asSingleton(pool, relayLock, wait, async (_client, lost) => {
      this.active = true;
      try {
        await this.relayPages(AbortSignal.any([signal, lost]), onProgress);
      } finally {
        this.active = false;
      }
    });
  }

  private async relayPages(signal: AbortSignal, onProgress: () => void): Promise<void> {
    const { feed, publisher, state, topics, published } = this.options;
    await this.options.onActive?.();
    const after = await state.loadCheckpoint(relayGroup);
    const onConnection = (failure: Error | null) => {
      this.lastError = failure ?? undefined;
      if (failure !== null) this.options.logger.warn({ err: failure }, 'the log is not connected');
    };
    this.lastError = new Error('the log is not connected yet');
    for await (const page of feed.subscribe({ after, topics, signal, onConnection })) {
      if (signal.aborted) return;
      const taken = await publishPage(
        (messages) => unlessAborted(this.givingUp.signal, publisher.publish(messages)),
        page,
      );
      await state.saveCheckpoint(relayGroup, page.position, page.eventId, page.kindsRead);
      for (const { topic } of taken) published(topic);
      this.lastError = undefined;
      onProgress();
    }
  }
}

/** The result of the work. Rejects if the signal aborts first. */
async function unlessAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  const cut = Promise.withResolvers<void>();
  const abort = () => cut.reject(new Error('given up'));
  signal.addEventListener('abort', abort);
  try {
    await Promise.race([work, cut.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
