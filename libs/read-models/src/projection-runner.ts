/**
 * Runs one projection: reads the log page by page and writes rows and checkpoint in one transaction.
 *
 * What always holds:
 * - an event is in the tables exactly once, whatever dies between two statements: the checkpoint is
 *   committed with the rows and read again on every new connection;
 * - what a runner of another release has passed over is in the tables before the next one is active (passed-over.ts);
 * - one runner writes at a time. Its right is an advisory lock on the connection that writes, so a runner
 *   that loses the connection also loses the lock. The others wait and take over;
 * - the runner waits for an unavailable database. A stream with an unreadable event goes into quarantine,
 *   and all other streams continue. A gap in a stream stops the projection for good.
 */
import {
  beginning,
  countEvents,
  countPagesMax,
  type EventStore,
  type LogPage,
  type Position,
  type UnreadableEvent,
} from '@pis/event-store';
import {
  asSingleton,
  Bell,
  inTransaction,
  isTransient,
  isUniqueViolation,
  pause,
  reasonOf,
  standbyPollMs,
  type WakeUp,
} from '@pis/postgres';
import type pg from 'pg';
import {
  anchorOfPage,
  createCheckpoint,
  lockCheckpoint,
  advanceCheckpoint,
  type Reached,
  readCheckpoint,
  readReached,
  runnerLock,
  saveKindsRead,
} from './checkpoint.js';
import { type PassedOver, passedOver } from './passed-over.js';
import { type LocalProgress, register, unregister } from './projection-progress.js';
import { PageTables } from './page-tables.js';
import type { Projection } from './projection.js';
import { projectionReader } from './quarantine.js';

export interface ProjectionRunnerOptions {
  readonly projection: Projection;
  readonly store: EventStore;
  /** The runner holds one of its connections while it runs. */
  readonly pool: pg.Pool;
  /** Of `locks`: wakes a standby when the active runner ends. */
  readonly wakeUp?: WakeUp;
  /** Called after each committed page, with the number of its events. */
  readonly onApplied?: (events: number) => void;
  /**
   * A signal that aborts when the log is not the one that the checkpoint stands on; its reason has details.
   * Requested before each start. Resolves once that is known, and rejects when `ending` aborts.
   */
  readonly sameLog?: (ending: AbortSignal) => Promise<AbortSignal>;
  /** Called for a stream that is held back from now on, because one of its events cannot be read. */
  readonly onHeld?: (cause: UnreadableEvent) => void;
  /** Each failure; `stopped` says that the projection has ended for good. */
  readonly onFailure?: (error: unknown, stopped: boolean) => void;
}

/** `standby`: another runner holds the lock, or the database is away. */
export type ProjectionRole = 'standby' | 'active' | 'stopped' | 'ended';

export interface ProjectionState {
  readonly role: ProjectionRole;
  /** The position of the tables, as known to this runner. */
  readonly position: Position;
  /** The current failure. */
  readonly lastError: string | null;
}

const pageMax = 500;
const backoffInitialMs = 100;
const backoffMaxMs = 5_000;
/** How old the saved checkpoint may be while only events of other streams arrive. */
const idleCheckpointMs = 1_000;
/** How often streams in quarantine are tried again. */
const releaseEveryMs = 10_000;
/**
 * After older events nobody rests: there are more to catch up with. A projection may stay this far behind under load, because
 * its pages need not be full while other streams grow, too. The difference between the clocks adds to it.
 */
const restAgeMaxMs = 2_000;
/** A wait for events is called quiet from here on. At ten payments per second, waits are shorter. */
const quietMs = 150;
/** Events counted for the lag, at most. A longer lag is reported as this number. */
const lagMax = 1_000;

const ends = new WeakMap<object, Promise<Position>>();

/** The projections of a process that ask at the same time share an answer. @throws StoreUnavailable */
function endOfLog(store: Pick<EventStore, 'lastPosition'>): Promise<Position> {
  const asked = ends.get(store) ?? store.lastPosition().finally(() => ends.delete(store));
  ends.set(store, asked);
  return asked;
}

export class ProjectionRunner implements LocalProgress {
  private role: ProjectionRole = 'standby';
  private position: Position = beginning;
  private lastError: string | null = null;
  private readonly waiting = new Set<{ position: Position; reached: () => void }>();
  /** Rings when somebody waits for a position. */
  private readonly awaited = new Bell();
  private readonly ending = new AbortController();
  private running: Promise<void> | undefined;
  /** A position after which the log had no event for the projection, up to this end. */
  private caughtUp: { readonly after: Position; readonly end: Position } | null = null;

  constructor(private readonly options: ProjectionRunnerOptions) {}

  start(): void {
    register(this.options.pool, this.name, this);
    this.running ??= this.run();
  }

  /** Resolves when the page in flight is committed and the lock released. */
  async stop(): Promise<void> {
    unregister(this.options.pool, this.name, this);
    this.ending.abort();
    await this.running;
    if (this.role !== 'stopped') this.role = 'ended';
  }

  get name(): string {
    return this.options.projection.name;
  }

  get state(): ProjectionState {
    return { role: this.role, position: this.position, lastError: this.lastError };
  }

  get isActive(): boolean {
    return this.role === 'active';
  }

  /** For health: throws with the reason while the projection does not advance. */
  check(): void {
    if (this.lastError !== null) throw new Error(`projection ${this.name}: ${this.lastError}`);
  }

  /**
   * Events not yet in the tables, counted up to a thousand. If the count does not reach the end of the log, it is a
   * lower bound, but not 0.
   * @throws StoreUnavailable
   */
  async lag(): Promise<number> {
    const { store, pool, projection } = this.options;
    const end = await endOfLog(store);
    const after = this.isActive ? this.position : await readCheckpoint(pool, this.name);
    // Nothing was appended since: an idle system saves the page.
    if (this.caughtUp?.after === after && this.caughtUp.end === end) return 0;
    const { streamPrefixes } = projection;
    const options = { after, streamPrefixes, max: lagMax, pagesMax: countPagesMax };
    const events = await countEvents(store, options);
    this.caughtUp = events === 0 ? { after, end } : null;
    return events;
  }

  /** The time of the oldest event that is not yet in the tables. Null when there is none. @throws StoreUnavailable */
  async oldestUnappliedAt(): Promise<Date | null> {
    const { store, pool, projection } = this.options;
    let after = this.isActive ? this.position : await readCheckpoint(pool, this.name);
    const { streamPrefixes } = projection;
    for (let pages = 0; pages < countPagesMax; pages += 1) {
      const options = { after, pageMax: 1, leaveSealed: true };
      const page = await store.readLog(
        streamPrefixes === undefined ? options : { ...options, streamPrefixes },
      );
      const [oldest] = page.events;
      if (oldest !== undefined) return new Date(oldest.metadata.at);
      if (page.position <= after) return null;
      after = page.position;
    }
    return null;
  }

  /** Resolves true once the tables have reached `position`, false after `timeoutMs`. */
  waitFor(position: Position, timeoutMs: number): Promise<boolean> {
    if (this.position >= position) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiter = {
        position,
        reached: () => {
          clearTimeout(timer);
          resolve(true);
        },
      };
      const timer = setTimeout(() => {
        this.waiting.delete(waiter);
        resolve(false);
      }, timeoutMs);
      this.waiting.add(waiter);
      this.awaited.ring();
    });
  }

  private async run(): Promise<void> {
    const { signal } = this.ending;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.session(() => (failures = 0));
      } catch (error) {
        if (signal.aborted) return;
        const stopped = !isTransient(error);
        this.role = stopped ? 'stopped' : 'standby';
        this.lastError = reasonOf(error);
        this.options.onFailure?.(error, stopped);
        if (stopped) return;
        const backoffMs = Math.min(backoffInitialMs * 2 ** failures, backoffMaxMs);
        failures += 1;
        await pause(backoffMs, signal);
      }
    }
  }

  /** Runs until the connection is lost. Returns when it must end or when a rebuild moved the checkpoint. */
  private async session(progressed: () => void): Promise<void> {
    const { pool } = this.options;
    const sameLog =
      (await this.options.sameLog?.(this.ending.signal)) ?? new AbortController().signal;
    sameLog.throwIfAborted();
    const signal = AbortSignal.any([this.ending.signal, sameLog]);
    const onWaiting = () => (this.lastError = null);
    const wait = { pollMs: standbyPollMs, wakeUp: this.options.wakeUp, signal, onWaiting };
    await asSingleton(pool, runnerLock(this.name), wait, (client, lost) =>
      this.runAlone(client, AbortSignal.any([signal, lost]), progressed),
    );
    if (!this.ending.signal.aborted) sameLog.throwIfAborted();
  }

  /** While this process holds the projection's lock on `client`. */
  private async runAlone(
    client: pg.ClientBase,
    signal: AbortSignal,
    progressed: () => void,
  ): Promise<void> {
    const { projection, store } = this.options;
    try {
      // Rows and checkpoint are lost together or not at all, and can be computed again. So there is no need
      // to compete with the event store for the disk.
      await client.query('SET synchronous_commit = off');
      await createCheckpoint(client, this.name);
      const reader = projectionReader(this.name);
      const tables = new PageTables(projection, reader, client, this.options.onHeld);
      // First: while migrations are under way, its missing table says so. The checkpoint's table exists long before it is whole.
      await tables.open();
      const place = await readReached(client, this.name);
      // Again: a rebuild may have replaced the quarantine and the checkpoint since. One that comes later moves the checkpoint.
      await tables.open();
      const writer = new PageWriter(projection, client, tables, store, place);
      const { laterPrefixes = [] } = projection;
      for await (const missed of passedOver(store, place, laterPrefixes, pageMax)) {
        if (signal.aborted || !(await writer.makeUpFor(missed))) return;
        progressed();
        if (missed.events.length > 0) this.options.onApplied?.(missed.events.length);
      }
      this.role = 'active';
      this.reached(place.position);
      this.lastError = 'the log is not connected yet';
      while (!signal.aborted && (await this.follow(writer, tables, signal, progressed)));
    } finally {
      if (this.role === 'active') this.role = 'standby';
    }
  }

  /**
   * Follows the log until the signal aborts. While streams are in quarantine, it restarts periodically to
   * try them again. Returns false if another process has moved the checkpoint.
   */
  private async follow(
    writer: PageWriter,
    tables: PageTables,
    signal: AbortSignal,
    progressed: () => void,
  ): Promise<boolean> {
    const { store, projection } = this.options;
    const { streamPrefixes } = projection;
    if (tables.holdsAny) await writer.release();
    const isHolding = tables.holdsAny;
    const until = isHolding
      ? AbortSignal.any([signal, AbortSignal.timeout(releaseEveryMs)])
      : signal;
    const onConnection = (failure: Error | null) => {
      this.lastError = failure === null ? null : reasonOf(failure);
      if (failure !== null) this.options.onFailure?.(failure, false);
    };
    const { position: after, eventId } = writer.reached;
    const place = { after, afterEventId: eventId ?? undefined };
    const from = { ...place, streamPrefixes, pageMax, signal: until, onConnection };
    const { restMs, pagesBeforeRest = 0 } = projection;
    let pages = 0;
    let readyAtMs = performance.now();
    for await (const page of store.subscribe(from)) {
      const wasQuiet = performance.now() - readyAtMs >= quietMs;
      if (!(await writer.write(page))) return false;
      progressed();
      this.reached(page.position);
      if (page.events.length > 0) this.options.onApplied?.(page.events.length);
      if (tables.holdsAny && !isHolding) return true;
      if (page.events.length === 0) continue;
      pages = wasQuiet ? 1 : pages + 1;
      if (restMs !== undefined && pages > pagesBeforeRest && isOfNow(page))
        await this.rest(restMs, until);
      readyAtMs = performance.now();
    }
    return until.aborted;
  }

  /** Until somebody waits for what comes next. */
  private async rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.waiting.size > 0) return;
    // Not AbortSignal.any: a signal that lives as long as the runner keeps something of each one made from it.
    await this.awaited.wait(this.awaited.rung, ms, signal);
  }

  private reached(position: Position): void {
    this.lastError = null;
    this.position = position;
    for (const waiter of this.waiting) {
      if (waiter.position > position) continue;
      this.waiting.delete(waiter);
      waiter.reached();
    }
  }
}

/**
 * Whether more events of the projection's streams are about to come rather than there already. A page that is not full
 * says little: it looks at a bounded part of the log.
 */
function isOfNow({ events }: LogPage): boolean {
  const last = events.at(-1);
  if (last === undefined || events.length >= pageMax) return false;
  // If the writer's clock is ahead of ours, events that are long past may look as if they came from the future.
  return Math.abs(Date.now() - Date.parse(last.metadata.at)) < restAgeMaxMs;
}

/** Writes pages on one connection, and notices when another process has moved the checkpoint. */
class PageWriter {
  private savedAtMs = performance.now();

  constructor(
    private readonly projection: Projection,
    private readonly client: pg.ClientBase,
    private readonly tables: PageTables,
    private readonly store: EventStore,
    private saved: Reached,
  ) {}

  /** Where the checkpoint is. */
  get reached(): Reached {
    return this.saved;
  }

  /** False when a rebuild has put the checkpoint elsewhere: read it again. */
  async write(page: LogPage): Promise<boolean> {
    const { client, projection, store } = this;
    const { name, laterPrefixes = [] } = projection;
    const { events } = page;
    const now = performance.now();
    if (events.length === 0 && now - this.savedAtMs < idleCheckpointMs) return true;
    const anchor = await anchorOfPage(store, page);
    const write = (areNew: boolean) =>
      inTransaction(client, async () => {
        const { position: from } = this.saved;
        if (!(await advanceCheckpoint(client, name, from, anchor, laterPrefixes))) return false;
        await this.tables.write(events, areNew);
        return true;
      });
    const written = await write(true).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      return write(false);
    });
    if (!written) return false;
    this.saved = anchor;
    this.savedAtMs = now;
    return true;
  }

  /** Writes what another process has passed over before the checkpoint. False as of `write`. */
  makeUpFor(missed: PassedOver): Promise<boolean> {
    const { client, projection, saved } = this;
    return inTransaction(client, async () => {
      if (!(await saveKindsRead(client, projection.name, saved.position, missed))) return false;
      await this.tables.write(missed.events);
      return true;
    });
  }

  /** Tries the streams in quarantine again, the longest waiting first, as long as some are freed. */
  async release(): Promise<void> {
    const { client, projection, store } = this;
    const { position: saved } = this.saved;
    for (let freed = 1; freed > 0; ) {
      const due = await this.tables.due(store, saved);
      freed = await inTransaction(client, async () =>
        // A rebuild has its own quarantine.
        (await lockCheckpoint(client, projection.name)) === saved ? this.tables.release(due) : 0,
      );
    }
  }
}
