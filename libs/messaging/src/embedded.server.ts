import { CommitSchedule } from './commit-schedule.js';
import { ConsumerStrategy, type ConsumerOptions, type ConsumerStatus } from './consumer.server.js';
import { abortableDelay, atMost } from './delay.js';
import { errorText } from './errors.js';
import type { ConsumerEngine } from './engine.js';
import type { ConsumerState, Delivery, LogPlace, MessagePage, MessageSource } from './message.js';
import { replayOfHeader } from './message-headers.js';
import { CheckpointMoved, type ReplayRequests } from './pg-consumer-state.js';
import type { Partition } from './partition.js';

export interface EmbeddedConsumerOptions extends ConsumerOptions {
  readonly source: MessageSource;
  readonly state: ConsumerState & Partial<ReplayRequests>;
  /** How often the state is asked for parked messages that an operator wants handled again. */
  readonly replayPollMs?: number;
}

/**
 * The embedded mode's consumer: reads the log itself, in process, and keeps its checkpoint in a
 * ConsumerState. The checkpoint is only ever past messages that are handled or parked.
 *
 * When an operator has moved the checkpoint, or the log has lost what was read from it, the source or the state says so
 * (CheckpointMoved). The consumer then drops what it has taken and not begun, and reads on from the new checkpoint.
 */
export class EmbeddedConsumerStrategy extends ConsumerStrategy {
  readonly #source: MessageSource;
  readonly #state: ConsumerState & Partial<ReplayRequests>;
  readonly #replayPollMs: number;
  readonly #engine: ConsumerEngine;
  readonly #commits: CommitSchedule;
  readonly #reading = new AbortController();
  #log: Partition;
  /** Aborts when the checkpoint turns out to be moved while the log is read. */
  #turn = new AbortController();
  /** Saved with the last checkpoint. */
  #kindsSaved: MessagePage['kindsRead'];
  /** How far the log was read; null before the checkpoint is known. */
  #readTo: LogPlace | null = null;
  /** Messages after that position, at the last count. */
  #unread = 0;
  /** Replayed messages have no position in the log. One name lets them share the queues of their keys. */
  readonly #replays: Partition;
  #loops: Promise<unknown> = Promise.resolve();
  #connected = false;
  #error: string | null = null;

  constructor(options: EmbeddedConsumerOptions) {
    super(options);
    this.#source = options.source;
    this.#state = options.state;
    this.#replayPollMs = options.replayPollMs ?? replayPollDefaultMs;
    this.#engine = this.createEngine((delivery, error) =>
      this.#state.park(this.group, withoutReplayOf(delivery), errorText(error)),
    );
    this.#log = this.#openLog();
    this.#replays = this.#engine.open(logName, () => undefined);
    this.#commits = new CommitSchedule(
      this.commitLimits,
      () => this.#commit(),
      (error) => this.observe.problem?.('saving the checkpoint', error),
    );
  }

  get consumerStatus(): ConsumerStatus {
    const { unfinished, oldestUnfinishedMs } = this.#log;
    const lag = unfinished + this.#unread;
    return { connected: this.#connected, lag, oldestUnfinishedMs, error: this.#error };
  }

  protected override start(): void {
    this.#loops = Promise.all([this.#read(), this.#pollReplays()]);
    this.#engine.start(() => this.#measure());
  }

  override async close(): Promise<void> {
    this.#reading.abort();
    if (!(await this.#engine.stop(this.drainMs))) {
      this.observe.problem?.('draining', new Error(`handlers still run after ${this.drainMs} ms`));
    }
    await atMost(lastCommitMs, this.#commits.flush());
    await this.abandon();
  }

  override async abandon(): Promise<void> {
    this.#reading.abort();
    this.#engine.abandon();
    this.#log.abandon();
    this.#replays.abandon();
    await atMost(lastCommitMs, this.#commits.close());
    // The signal ends both loops. A source that ignores it must not delay the shutdown.
    await atMost(this.drainMs, this.#loops);
    this.#connected = false;
  }

  /**
   * Gives the oldest parked messages to their handler again, each in the queue of its key. A message that
   * succeeds is no longer parked. A message that fails again stays.
   * @returns how many messages were taken
   */
  async replayDeadLetters(): Promise<number> {
    const parked = await this.#state.parked(this.group, replayMax);
    return this.#replay(parked);
  }

  /** The ConsumerState it was given. */
  override unwrap<T>(): T {
    return this.#state as T;
  }

  protected override async deliver(delivery: Delivery): Promise<void> {
    await super.deliver(withoutReplayOf(delivery));
    const id = delivery.headers[replayOfHeader];
    if (id !== undefined) await this.#state.unpark(this.group, id);
  }

  #replay(parked: readonly { id: string; delivery: Delivery }[]): number {
    for (const { id, delivery } of parked) {
      const headers = { ...delivery.headers, [replayOfHeader]: id };
      this.#replays.submit({ ...delivery, headers }, null);
    }
    return parked.length;
  }

  async #pollReplays(): Promise<void> {
    const { signal } = this.#reading;
    while (!signal.aborted && this.#state.takeReplayRequests !== undefined) {
      await abortableDelay(this.#replayPollMs, signal);
      try {
        if (!signal.aborted)
          this.#replay(await this.#state.takeReplayRequests(this.group, replayMax));
      } catch (error) {
        this.observe.problem?.('looking up replay requests', error);
      }
    }
  }

  /** Reads until stopped. A failing source or state is retried with backoff, from the last position. */
  async #read(): Promise<void> {
    const { signal } = this.#reading;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const moved = await this.#readOn(() => (failures = 0));
        // Again before anything was read: the checkpoint itself may stand on a lost event.
        if (moved !== null && failures > 0) throw moved;
      } catch (error) {
        if (signal.aborted) return;
        this.#connected = false;
        this.#error = errorText(error);
        this.observe.problem?.('reading the log', error);
        const ms = Math.min(readBackoffInitialMs * 2 ** Math.min(failures, 30), readBackoffMaxMs);
        await abortableDelay(ms, signal);
      }
    }
  }

  /**
   * Until stopped, or until the checkpoint was moved: then the next call begins at the new one.
   * @returns what the source said of the move; null if it said nothing
   */
  async #readOn(wentWell: () => void): Promise<CheckpointMoved | null> {
    // A save may have shown it since the source failed.
    if (this.#turn.signal.aborted) this.#startOver();
    const turn = this.#turn;
    let moved: CheckpointMoved | null = null;
    const signal = AbortSignal.any([this.#reading.signal, turn.signal]);
    try {
      const { position: after, eventId: afterEventId } = this.#readTo ?? (await this.#begin());
      const onConnection = (failure: Error | null) => this.#connection(failure);
      const from = { after, afterEventId, topics: this.topics, signal, onConnection };
      for await (const page of this.#source.subscribe(from)) {
        if (signal.aborted) break;
        this.#connection(null);
        wentWell();
        this.#take(page);
        const { position, eventId } = page;
        this.#readTo = { position, eventId };
        await this.#log.room();
      }
      if (!signal.aborted) throw new Error('the log ended');
    } catch (error) {
      if (!(error instanceof CheckpointMoved)) throw error;
      moved = error;
      turn.abort();
    }
    if (turn.signal.aborted) this.#startOver();
    return moved;
  }

  #openLog(): Partition {
    return this.#engine.open(logName, (count) => this.#commits.advanced(count));
  }

  /** Handlers that run go on. The messages of their keys wait for them. */
  #startOver(): void {
    this.#turn = new AbortController();
    this.#log.abandon();
    this.#log = this.#openLog();
    this.#readTo = null;
    this.#unread = 0;
  }

  /** The source retries the reported failures itself. */
  #connection(failure: Error | null): void {
    this.#connected = failure === null;
    this.#error = failure === null ? null : errorText(failure);
    if (failure !== null) this.observe.problem?.('connecting to the log', failure);
  }

  async #begin(): Promise<LogPlace> {
    this.#readTo = { position: await this.#state.loadCheckpoint(this.group) };
    this.#engine.recheck();
    return this.#readTo;
  }

  #take({ messages, position, eventId, kindsRead }: MessagePage): void {
    messages.forEach((message, index) => {
      // Messages of one log entry share its offset: only the last of them ends the entry.
      const last = messages[index + 1]?.offset !== message.offset;
      this.#log.submit(message, last ? message.offset : null, message.eventId);
    });
    this.#log.mark(position, eventId, kindsRead);
  }

  async #commit(): Promise<void> {
    const { position, eventId, kindsRead } = this.#log;
    const turn = this.#turn;
    if (position === null) return;
    try {
      const isSaved = kindsRead === this.#kindsSaved;
      const args = [this.group, position, eventId] as const;
      await this.#state.saveCheckpoint(...args, isSaved ? undefined : kindsRead);
      this.#kindsSaved = kindsRead;
    } catch (error) {
      if (!(error instanceof CheckpointMoved)) throw error;
      turn.abort();
    }
  }

  /** Also counts unread messages, up to a limit, because that costs pages of the log. */
  async #measure() {
    const readTo = this.#readTo;
    try {
      if (readTo !== null) {
        const { topics } = this;
        const after = readTo.position;
        const unread = await this.#source.countAfter({ after, topics, max: unreadMax });
        // Messages read meanwhile are counted as unfinished already.
        this.#unread = this.#readTo === readTo ? unread : 0;
      }
    } catch (error) {
      // The last count stays. The taken messages are still known, and their age grows.
      this.observe.problem?.('counting what is not read yet', error);
    }
    return this.consumerStatus;
  }
}

function withoutReplayOf(delivery: Delivery): Delivery {
  const { [replayOfHeader]: _id, ...headers } = delivery.headers;
  return { ...delivery, headers };
}

const logName = 'log';
const replayMax = 100;
/** Messages not read yet are counted up to here. */
const unreadMax = 1_000;
const replayPollDefaultMs = 15_000;
const lastCommitMs = 3_000;
const readBackoffInitialMs = 100;
const readBackoffMaxMs = 5_000;
