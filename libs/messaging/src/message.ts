/** A message of the broker as both transports see it. */
export interface Message {
  readonly topic: string;
  /** The stream id: messages of one key are handled one after the other, in order. */
  readonly key: string;
  /** JSON text. */
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message on its way to a handler. */
export interface Delivery extends Message {
  /** Its position in the topic (Kafka: partition and offset; embedded: the log position). Opaque. */
  readonly offset: string;
  /** 1 for the first try. */
  readonly attempt: number;
}

/** Publishes to the broker. Resolves once the broker has the messages durably. */
export interface MessagePublisher {
  publish(messages: readonly Message[]): Promise<void>;
  close(): Promise<void>;
}

/** How far a log of events was read. `position` is opaque and compares as text; '' is before everything. */
export interface LogPlace {
  readonly position: string;
  /** The id of the event at that position, if it is known. */
  readonly eventId?: string | undefined;
}

/**
 * What the embedded transport reads instead of a broker: the same messages, in log order, computed
 * from the event store. A consumer that has handled all messages may checkpoint the place that the page was read to.
 */
export interface MessagePage extends LogPlace {
  readonly messages: readonly PageMessage[];
  /**
   * Holds back the stream of a message that cannot be passed on, from that message on. Call it before the
   * next page is requested, once all messages before this one are handled. Absent where nothing can be held
   * back.
   * @returns 'held', or 'skipped' if an operator wants only this message skipped
   */
  readonly holdBack?: (message: PageMessage, reason: string) => Promise<'held' | 'skipped'>;
  /**
   * In a page before the checkpoint, of streams that an older release has passed over: how far they are read once it is handled,
   * by the prefix of their names.
   */
  readonly kindsRead?: Readonly<Record<string, string>> | undefined;
}

export type PageMessage = Message & {
  readonly offset: string;
  /** Of the event at `offset` that it tells. */
  readonly eventId?: string;
};

export interface MessageSource {
  /**
   * Throws CheckpointMoved when `after` is not where an operator has moved the reader's checkpoint to, and when the log has
   * lost what was read from it.
   */
  subscribe(options: {
    readonly after: string;
    /** The id of the event at `after`, if the reader has read it. */
    readonly afterEventId?: string | undefined;
    readonly topics: readonly string[];
    readonly signal: AbortSignal;
    /** Called with null when the log connects, and with the reason when it does not. */
    readonly onConnection?: (failure: Error | null) => void;
  }): AsyncIterable<MessagePage>;
  /** How many messages of the topics come after a position, as far as known; counted up to `max`. 0 says none. */
  countAfter(options: {
    readonly after: string;
    readonly topics: readonly string[];
    readonly max: number;
  }): Promise<number>;
}

/** The checkpoint and the dead letters of a consumer group of the embedded transport. */
export interface ConsumerState {
  /** '' when the group has never committed. */
  loadCheckpoint(group: string): Promise<string>;
  /**
   * @param eventId of the event at the position, if it is known
   * @param kindsRead of the pages that are handled
   * @throws CheckpointMoved an operator has moved it since it was loaded, or the log has another event there; nothing was saved
   */
  saveCheckpoint(
    group: string,
    position: string,
    eventId?: string,
    kindsRead?: MessagePage['kindsRead'],
  ): Promise<void>;
  park(group: string, delivery: Delivery, error: string): Promise<void>;
  /** The oldest first. */
  parked(
    group: string,
    max: number,
  ): Promise<readonly { id: string; delivery: Delivery; error: string }[]>;
  unpark(group: string, id: string): Promise<void>;
}

/**
 * Names a consumer group as Nest's transport id, so that in all-in-one each handler is bound to its
 * own group: `@EventPattern<string>(topics.payments, consumerGroup('rail-executor'))`.
 */
export function consumerGroup(name: string): symbol {
  return Symbol.for(`pis.consumer.${name}`);
}

/** The third argument of `@EventPattern`: see onlyWith. */
export interface HandlerExtras {
  readonly onlyWith?: Readonly<Record<string, string>>;
}

/**
 * A handler with these extras gets no message that has one of the headers with another value. Such a message costs it
 * nothing: it is not even parsed. One without the header is handled.
 */
export function onlyWith(headers: Readonly<Record<string, string>>): HandlerExtras {
  return { onlyWith: headers };
}
