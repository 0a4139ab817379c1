/**
 * The quarantine of one consumer group, during one subscription of it.
 *
 * What always holds: a stream leaves the quarantine only when the group's checkpoint is past a position
 * that was handed over after the stream's messages. A crash before that hands them over again.
 */
import type { Position, RecordedEvent, UnreadableEvent } from '@pis/event-store';
import {
  adoptQuarantine,
  type DueStream,
  freeHandled,
  heldAmong,
  type HoldOptions,
  holdsAny,
  holdStreams,
  releaseStreams,
  reopenQuarantine,
  skippedAmong,
  takeDue,
  type UnreadableStream,
} from '@pis/read-models';
import type pg from 'pg';
import { relayGroup } from './consumer-groups.js';

/** Streams tried again at a time. */
const releaseMax = 20;

export class FeedQuarantine {
  private holding = true;
  private position: Position = '';
  /** Streams whose messages were handed over: the others that come with the log follow them. */
  private readonly released = new Set<string>();
  /** Those of them that wait for a later position. */
  private readonly unmarked = new Set<string>();

  constructor(
    private readonly pool: pg.Pool,
    private readonly group: string,
    private readonly onHeld: (cause: UnreadableEvent) => void,
  ) {}

  async open(after: Position): Promise<void> {
    await adoptQuarantine(this.pool, this.group, relayGroup, after);
    await reopenQuarantine(this.pool, this.group, after);
    this.position = after;
    this.holding = await holdsAny(this.pool, this.group);
  }

  /** While it holds nothing, a page costs no query. */
  get holdsAny(): boolean {
    return this.holding;
  }

  /** Those of the events that are not held back. */
  async pass(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    if (!this.holding || events.length === 0) return events;
    const streamIds = events.map(({ streamId }) => streamId);
    const held = await heldAmong(this.pool, this.group, streamIds);
    for (const streamId of this.released) held.delete(streamId);
    return events.filter(({ streamId, revision }) => revision < (held.get(streamId) ?? Infinity));
  }

  skippedAmong(unreadable: readonly UnreadableStream[]): Promise<ReadonlySet<string>> {
    const ids = unreadable.map(({ cause }) => cause.event.id);
    return skippedAmong(this.pool, ids);
  }

  /** The event can be read but not passed on. What came before it in its stream was passed on. */
  holdRefused(refused: UnreadableStream): Promise<void> {
    return this.hold([refused], { beginsThere: true });
  }

  async hold(unreadable: readonly UnreadableStream[], options?: HoldOptions): Promise<void> {
    if (unreadable.length === 0) return;
    await holdStreams(this.pool, this.group, unreadable, options);
    this.holding = true;
    for (const { first, cause } of unreadable) {
      const { streamId } = first;
      // One that was only tried again is known.
      if (!this.unmarked.has(streamId)) this.onHeld(cause);
      this.released.delete(streamId);
      this.unmarked.delete(streamId);
    }
  }

  /** Streams to try again. Frees those that were handled meanwhile. */
  async due(): Promise<readonly DueStream[]> {
    for (const streamId of await freeHandled(this.pool, this.group)) this.released.delete(streamId);
    this.holding = await holdsAny(this.pool, this.group);
    const due = this.holding ? await takeDue(this.pool, this.group, releaseMax) : [];
    return due.filter(({ streamId }) => !this.released.has(streamId));
  }

  /** These streams are handed over, unless `hold` says otherwise. */
  release(streamIds: readonly string[]): void {
    for (const streamId of streamIds) {
      this.released.add(streamId);
      this.unmarked.add(streamId);
    }
  }

  isReleased(streamId: string): boolean {
    return this.released.has(streamId);
  }

  /** Before a page is handed over: once the checkpoint is at its position, what came before is handled. */
  async advance(position: Position): Promise<void> {
    if (this.unmarked.size > 0 && position > this.position) {
      await releaseStreams(this.pool, this.group, [...this.unmarked], position);
      this.unmarked.clear();
    }
    this.position = position;
  }
}
