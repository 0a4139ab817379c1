/**
 * The quarantine of one consumer group during one subscription.
 *
 * What always holds: a stream leaves the quarantine only after the group's checkpoint has passed a position
 * that was delivered after the stream's messages. After an earlier crash they are delivered again.
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

/** Streams that are retried at the same time. */
const releaseMax = 20;

export class FeedQuarantine {
  private holding = true;
  private position: Position = '';
  /** Streams with delivered messages. Their later messages follow with the log. */
  private readonly released = new Set<string>();
  /** Those of these streams that wait for a later position. */
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

  /** While the quarantine is empty, a page needs no query. */
  get holdsAny(): boolean {
    return this.holding;
  }

  /** The events that are not held back. */
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

  /** The event can be read but not published. The events before it in its stream were published. */
  holdRefused(refused: UnreadableStream): Promise<void> {
    return this.hold([refused], { beginsThere: true });
  }

  async hold(unreadable: readonly UnreadableStream[], options?: HoldOptions): Promise<void> {
    if (unreadable.length === 0) return;
    await holdStreams(this.pool, this.group, unreadable, options);
    this.holding = true;
    for (const { first, cause } of unreadable) {
      const { streamId } = first;
      // A stream that was only retried was reported before.
      if (!this.unmarked.has(streamId)) this.onHeld(cause);
      this.released.delete(streamId);
      this.unmarked.delete(streamId);
    }
  }

  /** Streams to retry. Releases those that were handled meanwhile. */
  async due(): Promise<readonly DueStream[]> {
    for (const streamId of await freeHandled(this.pool, this.group)) this.released.delete(streamId);
    this.holding = await holdsAny(this.pool, this.group);
    const due = this.holding ? await takeDue(this.pool, this.group, releaseMax) : [];
    return due.filter(({ streamId }) => !this.released.has(streamId));
  }

  /** Marks these streams as delivered. A later `hold` revokes this. */
  release(streamIds: readonly string[]): void {
    for (const streamId of streamIds) {
      this.released.add(streamId);
      this.unmarked.add(streamId);
    }
  }

  isReleased(streamId: string): boolean {
    return this.released.has(streamId);
  }

  /** Call this before a page is delivered: when the checkpoint reaches its position, all earlier pages are handled. */
  async advance(position: Position): Promise<void> {
    if (this.unmarked.size > 0 && position > this.position) {
      await releaseStreams(this.pool, this.group, [...this.unmarked], position);
      this.unmarked.clear();
    }
    this.position = position;
  }
}
