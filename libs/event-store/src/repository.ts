/**
 * The repository: load → decide → append, for any aggregate of the domain over any event store.
 *
 * What always holds: an event is written once, however often an append whose outcome is unknown is
 * repeated, because the repetition carries the same event ids; and a decision is only written at the
 * revision it was made at. Personal data is sealed once, before the hashes are chained, so that every
 * repetition carries the same bytes and a hash in memory is that of what is stored.
 */
import {
  type Aggregate,
  type DomainCommand,
  type DomainEvent,
  type Refusal,
  isRefusal,
} from '@pis/domain';
import { backoffMs, orderedUuid, pause } from '@pis/postgres';
import { pagesAsOf } from './as-of.js';
import type { CommandContext } from './command-context.js';
import { againOnConflict } from './conflicts.js';
import { hashOfEvent } from './event-hash.js';
import {
  type EventStore,
  type ExpectedRevision,
  type JsonObject,
  type Position,
  type RecordedEvent,
  StoreUnavailable,
  WrongExpectedRevision,
} from './port.js';
import { domainEventOf } from './readable.js';
import { type Contents, sealedContents } from './sealed-contents.js';
import { type FoldedStream, type Folder, readPages, type StreamStates } from './stream-states.js';

export interface Loaded<State> {
  readonly state: State;
  readonly revision: ExpectedRevision;
  readonly lastEvent: RecordedEvent | null;
}

export interface Appended<State> extends Loaded<State> {
  readonly revision: number;
  readonly lastEvent: RecordedEvent;
  readonly events: readonly RecordedEvent[];
  /** Of the last event. */
  readonly position: Position;
}

export interface Executed<State> extends Loaded<State> {
  /** What the command added; empty when there was nothing to do. */
  readonly events: readonly RecordedEvent[];
  /** Of the last event added, or null when nothing was. */
  readonly position: Position | null;
}

export interface Repository<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
> {
  /** `<category>-<id>` */
  streamIdOf(id: string): string;

  /**
   * Folds a stream read elsewhere: from its first event on, or onto what is loaded already.
   * @throws UnreadableEvent
   */
  fold(events: readonly RecordedEvent[], onto?: Loaded<State>): Loaded<State>;

  /**
   * @param share whose part of the memory the state takes, for example an organization's id; the
   *   aggregate's own id when absent
   * @throws StoreUnavailable, UnreadableEvent
   */
  load(id: string, share?: string): Promise<Loaded<State>>;

  /**
   * The state at a time, by the times of the events (as-of.ts).
   * @param at ISO 8601 in UTC with milliseconds, inclusive
   * @throws StoreUnavailable, UnreadableEvent
   */
  loadAsOf(id: string, at: string): Promise<Loaded<State>>;

  /**
   * Appends at the revision of `loaded`, once; repeats with the same event ids while the store is
   * unavailable, a bounded number of times.
   * @param options.eventIds UUIDs for the events, in order; new ones when absent. A caller that
   *   derives them from its own input may repeat the append after a crash.
   * @throws WrongExpectedRevision, StoreUnavailable, EventTooLarge, and the keyring's KeyDestroyed for a
   *   party that was erased: nothing is appended
   */
  append(
    id: string,
    loaded: Loaded<State>,
    events: readonly Event[],
    context: CommandContext,
    options?: { readonly eventIds?: readonly string[] },
  ): Promise<Appended<State>>;

  /**
   * Decides the commands in order, each on the state that those before it lead to. Appends their events at
   * the revision of `loaded`, all or none. A refused command refuses them all.
   * @throws as append. A conflict is not retried: load again and choose the commands anew.
   */
  record(
    id: string,
    loaded: Loaded<State>,
    commands: readonly Command[],
    context: CommandContext,
  ): Promise<Executed<State> | Refusal<Code>>;

  /**
   * Load, decide, append; again from the start when someone else appended in between.
   * @throws WrongExpectedRevision after conflictTriesMax conflicts, StoreUnavailable, EventTooLarge,
   *   UnreadableEvent when the stream has an event that this build does not know: nothing is decided
   */
  execute(
    id: string,
    command: Command,
    context: CommandContext,
  ): Promise<Executed<State> | Refusal<Code>>;

  /**
   * Decides as for a stream that does not exist, and appends without loading it. If the stream exists, it
   * is loaded and the aggregate decides again, so the aggregate's own refusal is returned.
   * @throws as execute
   */
  create(
    id: string,
    command: Command,
    context: CommandContext,
  ): Promise<Executed<State> | Refusal<Code>>;
}

export interface RepositoryOptions {
  /** Remembers states between loads, which then read only the new events of the stream. */
  readonly states?: StreamStates;
}

/** How often an append is tried, at most, while the store is unavailable. */
const unavailableTriesMax = 3;
const unavailablePauseInitialMs = 50;
const unavailablePauseMaxMs = 500;

export function repository<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
>(
  store: EventStore,
  aggregate: Aggregate<State, Command, Event, Code, string>,
  { states }: RepositoryOptions = {},
): Repository<State, Command, Event, Code> {
  const nothing = nothingOf(aggregate);
  const streamIdOf = (id: string) => `${aggregate.category}-${id}`;
  const fold = foldOf(aggregate);

  const folder: Folder<State> = {
    fold: (events, { state, lastEvent }) => fold(events, loadedFrom({ state, lastEvent })),
    nothing,
    version: versionOf(aggregate),
  };
  const load: Repository<State, Command, Event, Code>['load'] = async (id, share = id) => {
    const streamId = streamIdOf(id);
    const folded =
      states === undefined
        ? await readPages(store, streamId, folder, nothing)
        : await states.load(store, streamId, share, folder);
    return loadedFrom(folded);
  };

  const loadAsOf: Repository<State, Command, Event, Code>['loadAsOf'] = async (id, at) => {
    let loaded = nothing;
    for await (const events of pagesAsOf(store, streamIdOf(id), at)) loaded = fold(events, loaded);
    return loaded;
  };

  /** `state` is what the events lead to from `loaded`. */
  const write = async (
    id: string,
    loaded: Loaded<State>,
    { events, state, eventIds }: Decided<State, Event>,
    context: CommandContext,
  ): Promise<Appended<State>> => {
    const streamId = streamIdOf(id);
    const contents = await sealedContents(store, streamId, loaded.revision, events, context);
    const proposed = chained(aggregate, streamId, loaded, contents, context, eventIds);
    const { position } = await appendUntilAnswered(store, streamId, loaded.revision, proposed);
    // Under given IDs the store may hold an earlier append, with other bytes.
    const isKnown = proposed.length === 1 && eventIds === undefined;
    const recorded = isKnown
      ? proposed.map((event) => ({ ...event, position }))
      : await readBack(store, proposed);
    const lastEvent = recorded.at(-1);
    if (lastEvent === undefined) throw new RangeError('an append takes at least one event');
    states?.appended(streamId, folder, { state, lastEvent });
    return { state, revision: lastEvent.revision, lastEvent, events: recorded, position };
  };

  const append: Repository<State, Command, Event, Code>['append'] = (
    id,
    loaded,
    events,
    context,
    { eventIds } = {},
  ) => {
    const state = events.reduce((before, event) => aggregate.evolve(before, event), loaded.state);
    return write(id, loaded, { events, state, eventIds }, context);
  };

  const record: Repository<State, Command, Event, Code>['record'] = async (
    id,
    loaded,
    commands,
    context,
  ) => {
    const events: Event[] = [];
    let { state } = loaded;
    for (const command of commands) {
      const decision = aggregate.decide(command, state);
      if (isRefusal(decision)) return decision;
      for (const event of decision) {
        state = aggregate.evolve(state, event);
        events.push(event);
      }
    }
    if (events.length === 0) return { ...loaded, events: [], position: null };
    return write(id, loaded, { events, state, eventIds: undefined }, context);
  };

  const execute: Repository<State, Command, Event, Code>['execute'] = (id, command, context) =>
    againOnConflict(store, streamIdOf(id), async () =>
      record(id, await load(id), [command], context),
    );

  const create: Repository<State, Command, Event, Code>['create'] = async (
    id,
    command,
    context,
  ) => {
    try {
      return await record(id, nothing, [command], context);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
    }
    return execute(id, command, context);
  };

  return { streamIdOf, fold, load, loadAsOf, append, record, execute, create };
}

/** The fold of an aggregate: of its events from the first one on, or onto what is loaded already. */
export function foldOf<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
>(
  aggregate: Aggregate<State, Command, Event, Code, string>,
): Repository<State, Command, Event, Code>['fold'] {
  return (events, onto = nothingOf(aggregate)) =>
    events.reduce<Loaded<State>>(
      (loaded, recorded) => ({
        state: aggregate.evolve(loaded.state, domainEventOf<Event>(aggregate, recorded)),
        revision: recorded.revision,
        lastEvent: recorded,
      }),
      onto,
    );
}

function nothingOf<State>({ initial }: { readonly initial: State }): Loaded<State> {
  return { state: initial, revision: 'noStream', lastEvent: null };
}

function loadedFrom<State>({ state, lastEvent }: FoldedStream<State>): Loaded<State> {
  return { state, lastEvent, revision: lastEvent?.revision ?? 'noStream' };
}

/** What a snapshot was folded by: the aggregate's code and the schema of its events. */
function versionOf<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
>({ stateVersion, schemaVersions }: Aggregate<State, Command, Event, Code, string>): string | null {
  if (stateVersion === undefined) return null;
  return `${stateVersion} ${JSON.stringify(schemaVersions)}`;
}

interface Decided<State, Event> {
  readonly events: readonly Event[];
  readonly state: State;
  readonly eventIds: readonly string[] | undefined;
}

type Unplaced = Omit<RecordedEvent, 'position'>;

/** The domain's events in their recorded form, each with the hash of the previous one. */
function chained<
  State,
  Command extends DomainCommand,
  Event extends DomainEvent,
  Code extends string,
>(
  { schemaVersions }: Aggregate<State, Command, Event, Code, string>,
  streamId: string,
  loaded: Loaded<State>,
  contents: readonly Contents[],
  context: CommandContext,
  eventIds: readonly string[] | undefined,
): Unplaced[] {
  if (eventIds !== undefined && eventIds.length !== contents.length)
    throw new RangeError(`${contents.length} events, but ${eventIds.length} ids`);
  const { actor, requestId, correlationId, causationId, traceparent } = context;
  let revision = loaded.revision === 'noStream' ? -1 : loaded.revision;
  let previousHash = loaded.lastEvent === null ? null : hashOfEvent(loaded.lastEvent);
  return contents.map(({ event, storedData, address }, index) => {
    const type = event.type as Event['type'];
    const metadata = {
      at: event.at,
      schemaVersion: schemaVersions[type],
      actor,
      requestId,
      correlationId,
      causationId,
      traceparent,
      previousHash,
      ...(address === undefined ? {} : { address }),
    };
    const id = eventIds?.[index] ?? orderedUuid();
    revision += 1;
    const data = event.data as JsonObject;
    const stored = storedData === undefined ? {} : { storedData };
    const unplaced = { streamId, revision, id, type, data, metadata, ...stored };
    previousHash = index + 1 < contents.length ? hashOfEvent(unplaced) : null;
    return unplaced;
  });
}

/** One append, repeated with the same IDs and bytes while its outcome is unknown. */
async function appendUntilAnswered(
  store: EventStore,
  streamId: string,
  expected: ExpectedRevision,
  events: readonly Unplaced[],
) {
  const toAppend = events.map(({ id, type, data, storedData = data, metadata }) => ({
    id,
    type,
    data: storedData,
    metadata,
  }));
  for (let tries = 1; ; tries++) {
    try {
      return await store.append(streamId, expected, toAppend);
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || tries >= unavailableTriesMax) throw error;
    }
    await pause(backoffMs(tries, unavailablePauseInitialMs, unavailablePauseMaxMs));
  }
}

/** The store returns only the position of the last event. In the rare case that more is needed, it is read. */
async function readBack(
  store: EventStore,
  events: readonly Unplaced[],
): Promise<readonly RecordedEvent[]> {
  const [first] = events;
  if (first === undefined) return [];
  const { streamId, revision } = first;
  return store.readStream(streamId, { from: revision, maxCount: events.length });
}
