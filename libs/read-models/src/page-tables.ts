/**
 * Writes events to the tables of a projection. A stream with an event that cannot be read goes into
 * quarantine, and all other streams are written.
 */
import {
  type EventStore,
  type Position,
  type RecordedEvent,
  UnreadableEvent,
} from '@pis/event-store';
import type pg from 'pg';
import {
  type Projection,
  ProjectionBroken,
  skippedEventType,
  UnreadableStreams,
} from './projection.js';
import {
  freeStreams,
  hasSkips,
  heldAmong,
  holdsAny,
  holdStreams,
  skippedAmong,
  takeDue,
  type UnreadableStream,
} from './quarantine.js';

/** Streams tried again in one transaction. */
const releaseMax = 20;

export class PageTables {
  private readonly skipped = new Set<string>();
  /** Whether any stream may be held back. While none is, a page needs no query for it. */
  private holding = true;

  constructor(
    private readonly projection: Projection,
    /** The owner of the quarantine. */
    private readonly reader: string,
    private readonly client: pg.ClientBase,
    /** Called for each stream that is newly held back. */
    private readonly onHeld: (cause: UnreadableEvent) => void = () => undefined,
    private readonly targetOf: (table: string) => string = (table) => table,
  ) {}

  /** Reads again whether streams are held back, because another process may have changed that. */
  async open(): Promise<void> {
    this.holding = await holdsAny(this.client, this.reader);
  }

  get holdsAny(): boolean {
    return this.holding;
  }

  /**
   * Inside the transaction that also saves the checkpoint.
   * @param areNew as of ReadTable.write
   * @throws ProjectionBroken
   */
  async write(events: readonly RecordedEvent[], areNew = false): Promise<void> {
    if (events.length === 0) return;
    const held = this.holding
      ? await heldAmong(
          this.client,
          this.reader,
          events.map(({ streamId }) => streamId),
        )
      : new Map<string, number>();
    const free = events.filter((e) => !held.has(e.streamId));
    const unreadable = await this.writeReadable(free, areNew);
    await this.hold(unreadable);
  }

  /** Streams that are due to be tried again, as far as the log was read. */
  async due(
    store: EventStore,
    until: Position,
  ): Promise<ReadonlyMap<string, readonly RecordedEvent[]>> {
    const due = await takeDue(this.client, this.reader, releaseMax);
    const streams = await store.readStreams(due.map(({ streamId }) => streamId));
    return new Map(
      due.map(({ streamId, fromRevision }, index) => [
        streamId,
        (streams[index] ?? []).filter((e) => e.revision >= fromRevision && e.position <= until),
      ]),
    );
  }

  /** Inside a transaction. @returns how many streams are no longer held back */
  async release(due: ReadonlyMap<string, readonly RecordedEvent[]>): Promise<number> {
    const unreadable = await this.writeReadable([...due.values()].flat(), false);
    const still = new Set(unreadable.map(({ first }) => first.streamId));
    const free = [...due.keys()].filter((streamId) => !still.has(streamId));
    await freeStreams(this.client, this.reader, free);
    await holdStreams(this.client, this.reader, unreadable);
    await this.open();
    return free.length;
  }

  private async hold(unreadable: readonly UnreadableStream[]): Promise<void> {
    if (unreadable.length === 0) return;
    await holdStreams(this.client, this.reader, unreadable);
    this.holding = true;
    for (const { cause } of unreadable) this.onHeld(cause);
  }

  /**
   * Writes all but the unreadable streams, each up to its first unreadable event. If a table refuses the
   * page, tables that were already written are written again, which changes nothing.
   */
  private async writeReadable(
    events: readonly RecordedEvent[],
    areNew: boolean,
  ): Promise<UnreadableStream[]> {
    const unreadable: UnreadableStream[] = [];
    let left = events.map((event) => this.withoutSkipped(event));
    for (let isFirst = true; ; isFirst = false) {
      try {
        for (const table of this.projection.tables)
          await table.write(this.client, this.targetOf(table.name), left, areNew && isFirst);
        return unreadable;
      } catch (error) {
        const causes = await this.causesOf(error);
        const skips = await skippedAmong(
          this.client,
          causes.map(({ event }) => event.id).filter((id) => !this.skipped.has(id)),
        );
        for (const id of skips) this.skipped.add(id);
        for (const cause of causes.filter(({ event }) => !skips.has(event.id))) {
          const { streamId, revision } = cause.event;
          const isHeld = (e: RecordedEvent) => e.streamId === streamId && e.revision >= revision;
          unreadable.push({ first: cause.event, cause });
          left = left.filter((event) => !isHeld(event));
        }
        left = left.map((event) => this.withoutSkipped(event));
      }
    }
  }

  /** @throws the error itself, unless it concerns streams that can be held back */
  private async causesOf(error: unknown): Promise<readonly UnreadableEvent[]> {
    if (error instanceof UnreadableStreams) return error.causes;
    // Without a skipped event a stream may have a gap. Without a skip, a gap is a defect.
    if (!(error instanceof ProjectionBroken)) throw error;
    if (!(await hasSkips(this.client, error.streamId))) throw error;
    return [new UnreadableEvent(error.event, error.reason)];
  }

  private withoutSkipped(event: RecordedEvent): RecordedEvent {
    return this.skipped.has(event.id) ? { ...event, type: skippedEventType } : event;
  }
}
