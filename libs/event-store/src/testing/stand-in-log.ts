/** What the EventStoreDB stand-in keeps: one log in memory, and EventStoreDB's rules for appending. */
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
  | { readonly done: true; readonly revision: number; readonly event: LoggedEvent | null }
  /** `current` is -1 for no stream. */
  | { readonly done: false; readonly current: number };

/** A real server writes statistics and indexes into the same log: readers must pass over them. */
const appendsPerSystemEvent = 10;

export class StandInLog {
  readonly events: LoggedEvent[] = [];
  readonly #streams = new Map<string, LoggedEvent[]>();
  readonly #written = new EventEmitter<{ event: [LoggedEvent] }>().setMaxListeners(0);
  #position = 0n;
  #appends = 0;

  constructor() {
    this.#appendSystemEvent();
  }

  stream(streamId: string): readonly LoggedEvent[] | undefined {
    return this.#streams.get(streamId);
  }

  /** Calls `listener` for each event written from now on, until the returned function is called. */
  follow(listener: (event: LoggedEvent) => void): () => void {
    this.#written.on('event', listener);
    return () => this.#written.off('event', listener);
  }

  append(streamId: string, expected: Expectation, events: readonly StandInEvent[]): StandInAppend {
    const stream = this.#streams.get(streamId) ?? [];
    const current = stream.length - 1;
    const repeated = repetition(stream, expected, events);
    if (repeated !== null) return { done: true, revision: repeated, event: null };
    const met =
      expected === 'any' ||
      (expected === 'noStream' && current < 0) ||
      (expected === 'streamExists' && current >= 0) ||
      expected === current;
    if (!met) return { done: false, current };
    const written = this.#write(streamId, stream, events);
    this.#appends += 1;
    if (this.#appends % appendsPerSystemEvent === 0) this.#appendSystemEvent();
    return { done: true, revision: current + events.length, event: written.at(-1) ?? null };
  }

  #write(streamId: string, stream: LoggedEvent[], events: readonly StandInEvent[]): LoggedEvent[] {
    const createdTicks = BigInt(Date.now()) * 10_000n;
    const prepares = events.map(() => (this.#position += 100n));
    const commit = (this.#position += 10n);
    const written = events.map((event, index) => {
      const prepare = prepares[index] ?? commit;
      const revision = stream.length + index;
      return { ...event, streamId, revision, commit, prepare, createdTicks };
    });
    stream.push(...written);
    this.#streams.set(streamId, stream);
    this.events.push(...written);
    for (const event of written) this.#written.emit('event', event);
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
