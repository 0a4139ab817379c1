/**
 * The data of the EventStoreDB stand-in: one log in memory, with EventStoreDB's rules for appending.
 *
 * As in a cluster, an append is first prepared and then committed once it is replicated. Prepared events
 * count for the expected revision and for conflicts, but cannot be read yet.
 */
import { EventEmitter } from 'node:events';
import { randomUUID } from 'node:crypto';

export interface StandInEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

export interface LoggedEvent extends StandInEvent {
  readonly streamId: string;
  readonly revision: number;
  /** The events of one append share the commit position and differ in the prepare position. */
  readonly commit: bigint;
  readonly prepare: bigint;
  /** 100 ns ticks since 1970, as the client reads them. */
  readonly createdTicks: bigint;
}

export type Expectation = 'any' | 'noStream' | 'streamExists' | number;

export type StandInAppend =
  | {
      readonly done: true;
      readonly revision: number;
      /** Null for an append that was there already. */
      readonly event: LoggedEvent | null;
      /** Null when it is committed; `repeated` when the append that it repeats is still under way. */
      readonly committing: Promise<void> | 'repeated' | null;
    }
  /** `current` is -1 for no stream. */
  | { readonly done: false; readonly current: number };

/** A real server writes statistics and indexes into the same log: readers must pass over them. */
const appendsPerSystemEvent = 10;
/** How long replication takes while it is not paused. */
const replicationMs = 1;

export class StandInLog {
  /** What is committed. */
  readonly events: LoggedEvent[] = [];
  readonly #streams = new Map<string, LoggedEvent[]>();
  readonly #prepared = new Set<LoggedEvent>();
  #committing = Promise.withResolvers<void>();
  #replicates = true;
  #timer: NodeJS.Timeout | null = null;
  readonly #written = new EventEmitter<{ event: [LoggedEvent] }>().setMaxListeners(0);
  #position = 0n;
  #appends = 0;

  constructor() {
    this.#appendSystemEvent();
    this.#commit();
  }

  /** The committed events of a stream, undefined when there are none. */
  stream(streamId: string): readonly LoggedEvent[] | undefined {
    const committed = this.#streams.get(streamId)?.filter((event) => !this.#prepared.has(event));
    return committed?.length === 0 ? undefined : committed;
  }

  /** Whether the stream has events that are not committed yet. */
  hasPrepared(streamId: string): boolean {
    return [...this.#prepared].some((event) => event.streamId === streamId);
  }

  /** While it is paused, appends are prepared and never committed. */
  pauseReplication(): void {
    this.#replicates = false;
  }

  resumeReplication(): void {
    this.#replicates = true;
    this.#commit();
  }

  /** Drops the prepared appends, like a leader that dies before it has replicated them. */
  dropPrepared(): void {
    for (const event of this.#prepared) {
      const kept = (this.#streams.get(event.streamId) ?? []).filter((other) => other !== event);
      if (kept.length === 0) this.#streams.delete(event.streamId);
      else this.#streams.set(event.streamId, kept);
    }
    this.#prepared.clear();
    this.resumeReplication();
  }

  /**
   * Loses the last committed events, like a log that is restored from an older backup. What is appended next begins
   * `shift` bytes behind where the first lost one began: events differ in length.
   */
  lose(count: number, shift = 0): void {
    const lost = this.events.splice(-count);
    for (const { streamId } of lost)
      this.#streams.set(
        streamId,
        this.events.filter((event) => event.streamId === streamId),
      );
    this.#position = (this.events.at(-1)?.commit ?? 0n) + BigInt(shift);
  }

  /** Whether a read can begin at this place: at an event, or behind the last one. */
  hasPlace(place: Pick<LoggedEvent, 'commit' | 'prepare'>): boolean {
    const last = this.events.at(-1);
    if (last === undefined || comparePlaces(last, place) < 0) return true;
    return this.events.some((event) => comparePlaces(event, place) === 0);
  }

  /** Calls `listener` for each event committed from now on, until the returned function is called. */
  follow(listener: (event: LoggedEvent) => void): () => void {
    this.#written.on('event', listener);
    return () => this.#written.off('event', listener);
  }

  append(streamId: string, expected: Expectation, events: readonly StandInEvent[]): StandInAppend {
    const stream = this.#streams.get(streamId) ?? [];
    const current = stream.length - 1;
    const repeated = repetition(stream, expected, events);
    if (repeated !== null) {
      const last = stream[repeated];
      const isUnderWay = last !== undefined && this.#prepared.has(last);
      const committing = isUnderWay ? 'repeated' : null;
      return { done: true, revision: repeated, event: null, committing };
    }
    const met =
      expected === 'any' ||
      (expected === 'noStream' && current < 0) ||
      (expected === 'streamExists' && current >= 0) ||
      expected === current;
    if (!met) return { done: false, current };
    const written = this.#write(streamId, stream, events);
    this.#appends += 1;
    if (this.#appends % appendsPerSystemEvent === 0) this.#appendSystemEvent();
    const committing = this.#committing.promise;
    this.#commitSoon();
    const event = written.at(-1) ?? null;
    return { done: true, revision: current + events.length, event, committing };
  }

  #commitSoon(): void {
    if (!this.#replicates) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      if (this.#replicates) this.#commit();
    }, replicationMs);
  }

  #commit(): void {
    const committed = [...this.#prepared];
    this.#prepared.clear();
    this.events.push(...committed);
    const { resolve } = this.#committing;
    this.#committing = Promise.withResolvers();
    for (const event of committed) this.#written.emit('event', event);
    resolve();
  }

  #write(
    streamId: string,
    stream: readonly LoggedEvent[],
    events: readonly StandInEvent[],
  ): LoggedEvent[] {
    const createdTicks = BigInt(Date.now()) * 10_000n;
    const prepares = events.map(() => (this.#position += 100n));
    const commit = (this.#position += 10n);
    const written = events.map((event, index) => {
      const prepare = prepares[index] ?? commit;
      const revision = stream.length + index;
      return { ...event, streamId, revision, commit, prepare, createdTicks };
    });
    this.#streams.set(streamId, [...stream, ...written]);
    for (const event of written) this.#prepared.add(event);
    return written;
  }

  #appendSystemEvent(): void {
    const streamId = '$stats-127.0.0.1:2113';
    const system = {
      id: randomUUID(),
      type: '$statsCollected',
      contentType: 'application/json',
      data: Buffer.from('{}'),
      metadata: Buffer.from('{}'),
    };
    this.#write(streamId, this.#streams.get(streamId) ?? [], [system]);
  }
}

/** The same ids at the same place are the same append: the revision it reached, or null. */
function repetition(
  stream: readonly LoggedEvent[],
  expected: Expectation,
  events: readonly StandInEvent[],
): number | null {
  const [first] = events;
  if (first === undefined) return null;
  const start =
    typeof expected === 'number'
      ? expected + 1
      : expected === 'noStream'
        ? 0
        : stream.findIndex(({ id }) => id === first.id);
  if (start < 0 || !events.every(({ id }, index) => stream[start + index]?.id === id)) return null;
  return start + events.length - 1;
}

/** Compares places in the log: negative when `a` is before `b`. */
export function comparePlaces(
  a: Pick<LoggedEvent, 'commit' | 'prepare'>,
  b: Pick<LoggedEvent, 'commit' | 'prepare'>,
): number {
  const difference = a.commit === b.commit ? a.prepare - b.prepare : a.commit - b.commit;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
