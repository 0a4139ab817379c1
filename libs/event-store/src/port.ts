/**
 * The event store port: the system's only source of truth. Streams of facts, appended with an expected
 * revision, and read one by one or all together in one global order.
 *
 * What always holds, in every adapter (conformance suite: `@pis/event-store/testing`):
 * - an append is all or nothing, and durable once answered;
 * - a stream's revisions are 0, 1, 2, … without gaps;
 * - the log has one order; a reader that has seen a position never later sees one before it;
 * - appending again the same event ids at the same place succeeds and adds nothing.
 */

import type { PersonalOwner } from '@pis/domain';
import type { AddressOwner, SealedAddress } from './command-context.js';

/** The position of an event in the log. Opaque; positions compare as text in the log's order. */
export type Position = string;

/** Before every event. */
export const beginning: Position = '';

export type JsonObject = { readonly [key: string]: unknown };

/** Written with every event. Times are ISO 8601 with milliseconds. */
export interface EventMetadata {
  readonly at: string;
  readonly schemaVersion: number;
  /** Who caused it: `apiKey:<id>`, `user:<id>` or `system:<app>`. */
  readonly actor: string;
  readonly requestId: string | null;
  /** What it belongs to: the id of the first event or request of the chain. */
  readonly correlationId: string;
  /** The event that caused it, or null when a request did. */
  readonly causationId: string | null;
  /** W3C trace context, or null when not traced. */
  readonly traceparent: string | null;
  /** SHA-256 (hex) of the predecessor in the stream, see event-hash.ts; null for the first event. */
  readonly previousHash: string | null;
  /** The address of the caller; absent when no request caused it, and in events of older releases. */
  readonly address?: SealedAddress;
}

export interface EventToAppend {
  /** UUID. The same id at the same place in the stream is the same append. */
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

export interface RecordedEvent extends EventToAppend {
  readonly streamId: string;
  /** 0 for the first event of the stream. */
  readonly revision: number;
  readonly position: Position;
  /** The data as it is stored, where that differs from `data`: with its personal data sealed. */
  readonly storedData?: JsonObject;
  /**
   * Why its personal data was not opened. `data` is the stored data then, and no aggregate reads the event
   * (readable.ts).
   */
  readonly unopened?: string;
}

/** The revision the stream must have for the append to happen: of its last event, or none yet. */
export type ExpectedRevision = number | 'noStream';

export interface AppendResult {
  /** Of the last event appended. */
  readonly revision: number;
  readonly position: Position;
}

export interface ReadOptions {
  /** Inclusive. Forwards from 0 and backwards from the end when absent. */
  readonly from?: number;
  readonly direction?: 'forwards' | 'backwards';
  readonly maxCount?: number;
  /** For callers that need no personal data, and perhaps have no key: what is sealed stays sealed. */
  readonly leaveSealed?: boolean;
  /** Events up to this revision stay sealed: for callers that know them already. */
  readonly leaveSealedUpTo?: number;
}

/** A page of the log: the matching events, and the position read to (also past other events). */
export interface LogPage {
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
  /** The id of the event at `position`, whether it matches or not. Absent where it is not known. */
  readonly eventId?: string;
}

export interface ReadLogOptions {
  /** Exclusive: the first event after it comes first. */
  readonly after: Position;
  /**
   * The id of the event at `after`, if the reader knows it. With another event there, or none, the log has lost what the
   * reader has read, and what is there now comes before `after`.
   */
  readonly afterEventId?: string | undefined;
  /** Only streams whose id begins with one of these, for example `payment-`. All when absent. */
  readonly streamPrefixes?: readonly string[];
  /** Events in a page, at most. */
  readonly pageMax?: number;
  /** As of ReadOptions. */
  readonly leaveSealed?: boolean;
}

export interface SubscribeOptions extends Omit<ReadLogOptions, 'leaveSealed'> {
  /** Ends the subscription; the iteration then finishes without an error. */
  readonly signal: AbortSignal;
  /** Called with null when the subscription connects, and with the reason when it does not. */
  readonly onConnection?: (failure: Error | null) => void;
}

export interface SealedText {
  readonly sealed: string;
  readonly owner: PersonalOwner | AddressOwner;
  /** The event that holds it. */
  readonly place: string;
}

/** Seals and opens personal data: the keyring, as far as it matters here. Texts are JSON. */
export interface Sealing {
  /**
   * The owner's key is durable before this resolves.
   * @param place the event that is to hold the text: it opens nowhere else
   * @throws StoreUnavailable, and an error for an owner whose key was destroyed
   */
  seal(owner: PersonalOwner | AddressOwner, plaintext: string, place: string): Promise<string>;
  /**
   * In order; null where the owner's key was destroyed.
   * @throws StoreUnavailable; an error named CannotOpen when one of them was altered or moved, or has no key; one named
   *   MasterKeyMissing when this process lacks the master key of one of them
   */
  openAll(texts: readonly SealedText[]): Promise<readonly (string | null)[]>;
  /** Those of the owners whose keys were destroyed, also before they had one. @throws StoreUnavailable */
  destroyedOf(owners: readonly PersonalOwner[]): Promise<ReadonlySet<PersonalOwner>>;
}

export interface EventStore {
  /**
   * How the repository seals personal data before it appends (sealed-store.ts). Null for a store that keeps
   * and returns what it is given: the repository appends no personal data to it.
   */
  readonly sealing: Sealing | null;

  /**
   * Appends all or nothing.
   * @throws WrongExpectedRevision the stream has another revision; nothing was written, and every later
   * read shows what others wrote
   * @throws EventTooLarge an event exceeds eventSizeMaxBytes, or all of them appendSizeMaxBytes;
   *   nothing was written
   * @throws StoreUnavailable the outcome is unknown; the same event ids may be appended again
   */
  append(
    streamId: string,
    expected: ExpectedRevision,
    events: readonly EventToAppend[],
  ): Promise<AppendResult>;

  /** The events of a stream in order, empty for a stream that does not exist. @throws StoreUnavailable */
  readStream(streamId: string, options?: ReadOptions): Promise<readonly RecordedEvent[]>;

  /** Several whole streams in one round trip, in the order asked for. @throws StoreUnavailable */
  readStreams(streamIds: readonly string[]): Promise<readonly (readonly RecordedEvent[])[]>;

  /** One page of the log, forwards; empty events and an unchanged position at its end. @throws StoreUnavailable, EventsLost */
  readLog(options: ReadLogOptions): Promise<LogPage>;

  /** The position of the last event in the log, `beginning` when empty. @throws StoreUnavailable */
  lastPosition(): Promise<Position>;

  /**
   * The last event of any stream at or before a position, null when there is none. What is sealed stays
   * sealed.
   * @throws StoreUnavailable
   */
  lastEvent(upTo: Position): Promise<RecordedEvent | null>;

  /**
   * The log from a position on, without end: pages as they arrive. The next one is read when the consumer
   * asks for it. Survives a lost connection (backoff, then from the last page).
   * @throws EventsLost during the iteration, if the log lacks an event that was read from it
   */
  subscribe(options: SubscribeOptions): AsyncIterable<LogPage>;

  /** Resolves when the store answers. @throws StoreUnavailable */
  ping(): Promise<void>;

  close(): Promise<void>;
}

/** The largest event (data and metadata as JSON, in bytes) that any adapter accepts. */
export const eventSizeMaxBytes = 1_000_000;
/** The largest append, with all its events: EventStoreDB's own limit. */
export const appendSizeMaxBytes = 1_048_576;

/** Someone else appended first: load again and decide again. */
export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision';
  constructor(
    readonly streamId: string,
    readonly expected: ExpectedRevision,
    readonly actual: ExpectedRevision,
  ) {
    super(`stream ${streamId}: expected revision ${expected}, found ${actual}`);
  }
}

/** Give up: the event, or the append, will never fit. */
export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
  constructor(
    readonly streamId: string,
    readonly sizeBytes: number,
    readonly maxBytes: number = eventSizeMaxBytes,
  ) {
    super(`stream ${streamId}: ${sizeBytes} bytes to append, the most is ${maxBytes}`);
  }
}

/** Wait and retry: the store cannot be reached, or did not answer in time. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
  readonly isUnavailable = true;
}

/**
 * Begin again from a saved checkpoint, and forget what was read and not saved: the log no longer has the last event that was
 * read from it. A failover to a replica that lagged behind, or an older backup, can do that.
 */
export class EventsLost extends StoreUnavailable {
  override readonly name = 'EventsLost';
  constructor(position: Position) {
    super(`the log has lost the event at ${position}, which was read from it`);
  }
}
