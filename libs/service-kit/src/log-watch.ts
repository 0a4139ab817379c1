/**
 * Checks that the event log still contains the events of all checkpoints. A log that was restored from an
 * older backup, emptied or replaced lacks events that readers have read. Such readers would silently wait
 * beyond its end, and miss the next events.
 *
 * It also checks that the store is still the one that the database belongs to (store-binding.ts). An address
 * can lead to another store at any time, and a log without readers has no checkpoints to compare.
 *
 * What always holds: no reader starts, and no command is accepted, before the first check. While the event of
 * a checkpoint is missing, its reader pauses and commands are refused. While the store is another one, all
 * readers pause. The log is checked immediately after a lost connection to it returns.
 */
import { type EventStore, StoreUnavailable, type SubscribeOptions } from '@pis/event-store';
import { Bell, pause } from '@pis/postgres';
import {
  type CheckpointsOfStore,
  type ReaderCheckpoint,
  readCheckpointsOfStore,
} from '@pis/read-models';
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import type { Logger } from './logging.js';
import { shortReaders } from './short-readers.js';
import { isStore } from './store-binding.js';

export interface LogWatchLimits {
  readonly everyMs: number;
  /** Interval until the first check succeeds, and until a finding is confirmed. */
  readonly againMs: number;
  /** Checks in a row in which an event must be missing. A replica of the store may lag. */
  readonly triesMax: number;
}

const logWatchLimits: LogWatchLimits = { everyMs: 5_000, againMs: 500, triesMax: 4 };

export interface LogWatchOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly metrics: Registry;
  readonly limits?: Partial<LogWatchLimits>;
}

/** Stands for all readers when the store is not the one that the database belongs to. */
const otherStore = 'store-binding';

/** The log lacks the event of a checkpoint. An operator must restore the log or move the checkpoint. */
export class LogTooShort extends StoreUnavailable {
  constructor(readers: readonly string[]) {
    super(
      readers.includes(otherStore)
        ? 'the event store is not the one that the database belongs to: see "What a store belongs to" in docs/operations.md'
        : `the event log lacks events that were read from it by ${readers.join(', ')}: see "A log that is too short" in docs/operations.md`,
    );
  }
}

const notChecked = 'the event log has not been checked against the checkpoints yet';

export class LogWatch {
  private readonly limits: LogWatchLimits;
  private readonly stopping = new AbortController();
  private readonly checked = Promise.withResolvers<void>();
  private readonly gates = new Map<string, AbortController>();
  private readonly generations = new Map<string, number>();
  private readonly gauge: Gauge;
  /** Rings to start a check early. */
  private readonly bell = new Bell();
  private isChecked = false;
  private short: readonly string[] = [];
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: LogWatchOptions) {
    this.limits = { ...logWatchLimits, ...options.limits };
    this.gauge = new Gauge({
      name: 'pis_log_too_short',
      help: '1 when the event log lacks the event that the checkpoint of a reader stands on',
      labelNames: ['reader'],
      registers: [options.metrics],
    });
  }

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /** The same store, with a check of the log each time that a connection to it returns. */
  watched(store: EventStore): EventStore {
    const subscribe = (options: SubscribeOptions) => {
      let isLost = false;
      const onConnection = (failure: Error | null) => {
        if (failure === null && isLost) this.bell.ring();
        isLost = failure !== null;
        options.onConnection?.(failure);
      };
      return store.subscribe({ ...options, onConnection });
    };
    return { ...store, subscribe };
  }

  /** For health, and before each command. @throws LogTooShort, StoreUnavailable */
  check(): void {
    if (!this.isChecked) throw new StoreUnavailable(notChecked);
    if (this.short.length > 0) throw new LogTooShort(this.short);
  }

  /** Resolves after the first check. The signal aborts when the log lacks the event of the reader. */
  async sameLog(reader: string, ending: AbortSignal): Promise<AbortSignal> {
    await this.untilChecked(ending);
    return this.gateOf(reader).signal;
  }

  /** Resolves after the first check, whatever its result. @throws the signal's reason */
  async untilChecked(ending: AbortSignal): Promise<void> {
    const ended = Promise.withResolvers<never>();
    const end = () => ended.reject(ending.reason);
    ending.addEventListener('abort', end);
    try {
      ending.throwIfAborted();
      await Promise.race([this.checked.promise, ended.promise]);
    } finally {
      ending.removeEventListener('abort', end);
    }
  }

  private gateOf(reader: string): AbortController {
    const known = this.gates.get(reader);
    const isShort = this.short.includes(reader) || this.short.includes(otherStore);
    const isOver = known === undefined || (known.signal.aborted && !isShort);
    const gate = isOver ? new AbortController() : known;
    if (isShort) gate.abort(new LogTooShort([reader]));
    this.gates.set(reader, gate);
    return gate;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const { rung } = this.bell;
      try {
        this.found(await this.findShort());
      } catch (err) {
        // The store or the database is unavailable, which others report. The last result still holds.
        this.options.logger.debug({ err }, 'the event log was not checked');
      }
      const ms = this.isChecked ? this.limits.everyMs : this.limits.againMs;
      await this.bell.wait(rung, ms, signal);
    }
  }

  private found(short: readonly string[]): void {
    const { logger } = this.options;
    if (short.join() !== this.short.join()) {
      if (short.length > 0) logger.error({ readers: short }, new LogTooShort(short).message);
      else logger.info('the event log has the events of all checkpoints again');
    }
    for (const reader of this.short) this.gauge.set({ reader }, 0);
    for (const reader of short) this.gauge.set({ reader }, 1);
    this.short = short;
    this.isChecked = true;
    this.checked.resolve();
    for (const reader of this.gates.keys()) this.gateOf(reader);
  }

  /** If an operator moved the checkpoint of a reader, the reader restarts from there. */
  private followMoves(checkpoints: readonly ReaderCheckpoint[]): void {
    for (const { reader, generation } of checkpoints) {
      // No reader starts before the first check. Without a checkpoint then, it had none that could have been moved.
      const known = this.generations.get(reader) ?? 0;
      this.generations.set(reader, generation);
      if (known === generation) continue;
      this.gates.get(reader)?.abort(new StoreUnavailable(`the checkpoint of ${reader} was moved`));
    }
  }

  /** The readers with an event that is missing in all checks. @throws StoreUnavailable; when it is stopped between two */
  private async findShort(): Promise<readonly string[]> {
    const { signal } = this.stopping;
    for (let tries = 1; ; tries += 1) {
      const found = await readCheckpointsOfStore(this.options.pool);
      this.followMoves(found.checkpoints);
      const short = await this.missing(found);
      if (short.length === 0 || tries >= this.limits.triesMax) return short;
      await pause(this.limits.againMs, signal);
      signal.throwIfAborted();
    }
  }

  private async missing({ checkpoints, storeId }: CheckpointsOfStore): Promise<readonly string[]> {
    const { store } = this.options;
    // Side by side, so that the store reads both streams with one query.
    const [short, isSame] = await Promise.all([
      shortReaders(store, checkpoints),
      isStore(store, storeId),
    ]);
    return isSame ? short : [otherStore, ...short];
  }
}
