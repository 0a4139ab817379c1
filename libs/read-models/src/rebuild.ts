/**
 * Rebuilds a projection from the whole log, next to the running one. It writes shadow tables, which replace
 * the old ones by a rename once they have caught up. Lists are answered all the time.
 *
 * What always holds:
 * - tables and checkpoint change hands in one transaction; a rebuild that dies leaves the old tables in
 *   use, and the next one starts clean;
 * - the running projector is stopped only while the tables are swapped, for a bounded time. Events that
 *   arrived during the copy are applied in rounds before that. A swap that takes too long is rolled back and
 *   tried again;
 * - no timeout of the service ends it, because it has its own connection;
 * - it ends if the log has lost events that it has copied: the next one copies the log anew.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  anchorAt,
  beginning,
  type EventStore,
  EventsLost,
  type LogPage,
  type Position,
  StoreUnavailable,
} from '@pis/event-store';
import type pg from 'pg';
import { createCheckpoint, lockCheckpoint, rebuildLock, saveCheckpoint } from './checkpoint.js';
import {
  endSession,
  inTransaction,
  isTransient,
  ownConnection,
  sqlStateOf,
  takeLock,
} from '@pis/postgres';
import type { ProjectionName } from './projected-streams.js';
import { projections } from './projections.js';
import { PageTables } from './page-tables.js';
import type { Projection } from './projection.js';
import { projectionReader, replaceQuarantine } from './quarantine.js';
import { copyIndexes, pairIndexes, shapeOf } from './table-indexes.js';

export interface RebuildOptions {
  readonly store: EventStore;
  /** Says how to connect; the rebuild opens a connection of its own. */
  readonly pool: pg.Pool;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Events read and applied at once, at most. */
  readonly pageMax?: number;
}

/** copy: the log from its beginning; catch up: what came meanwhile; swap: the tables change hands. */
export type RebuildPhase = 'copy' | 'index' | 'vacuum' | 'catch up' | 'swap';

export interface RebuildProgress extends RebuildReport {
  readonly phase: RebuildPhase;
}

export interface RebuildReport {
  readonly projection: string;
  readonly eventsRead: number;
  readonly durationMs: number;
  readonly eventsPerSecond: number;
}

/** Another process is rebuilding it. */
export class RebuildUnderWay extends Error {
  override readonly name = 'RebuildUnderWay';
}

/** The more events, the more changes of a row are written at once. They take about 25 MB, and the page behind them as much. */
const defaultPageMax = 4_000;
/** Events left to apply while the projector is held, at most. */
export const gapEventsMax = 500;
const roundsMax = 100;
/** From the lock on the checkpoint, which stops the projector, to the end of the transaction. */
const holdMaxMs = 1_500;
/** How long a swap is retried while readers hold locks on the tables. */
const swapGiveUpMs = 3_600_000;
const swapRetryInitialMs = 500;
const swapRetryMaxMs = 15_000;
/** How long a rebuild waits for an unavailable event store. */
const awayGiveUpMs = 600_000;
const awayRetryMs = 1_000;

/**
 * @throws RebuildUnderWay
 * @throws ProjectionBroken an event is missing in a stream; the old tables stay in use
 */
export async function rebuildProjection(
  name: ProjectionName,
  options: RebuildOptions,
): Promise<RebuildReport> {
  return rebuild(projections[name], options);
}

/** As rebuildProjection, for a projection that is not (or not yet) one of the service's. */
export async function rebuild(
  projection: Projection,
  options: RebuildOptions,
): Promise<RebuildReport> {
  const client = await ownConnection(options.pool);
  try {
    if (!(await takeLock(client, rebuildLock(projection.name))))
      throw new RebuildUnderWay(`projection ${projection.name} is being rebuilt already`);
    return await new Rebuild(projection, client, options).run();
  } finally {
    await endSession(client);
  }
}

/** How far the log was copied. */
type Copied = Pick<LogPage, 'position' | 'eventId'>;

/** The projector would be stopped for too long: release it, complete the copy, and try again. */
class HeldTooLong extends Error {
  override readonly name = 'HeldTooLong';
}

class Rebuild {
  private readonly startedMs = performance.now();
  private readonly startedAt = new Date();
  private onReplaced: (() => Promise<void>) | undefined;
  private eventsRead = 0;
  private phase: RebuildPhase = 'copy';
  private readonly tables: PageTables;
  private readonly reader: string;

  constructor(
    private readonly projection: Projection,
    private readonly client: pg.Client,
    private readonly options: RebuildOptions,
  ) {
    this.reader = `${projectionReader(projection.name)}:rebuild`;
    this.tables = new PageTables(projection, this.reader, client, undefined, shadowOf);
  }

  async run(): Promise<RebuildReport> {
    const { client, projection } = this;
    await client.query('SET synchronous_commit = off');
    await createCheckpoint(client, projection.name);
    for (const { name, writesBy = [] } of projection.tables) {
      await client.query(`DROP TABLE IF EXISTS ${shadowOf(name)}`);
      await client.query(
        `CREATE TABLE ${shadowOf(name)} (LIKE ${name} INCLUDING ALL EXCLUDING INDEXES)`,
      );
      await this.copySettings(name);
      await copyIndexes(client, { table: name, copy: shadowOf(name), writesBy });
    }
    await replaceQuarantine(client, this.reader, []);
    await this.tables.open();
    const copied = await this.catchUp({ position: beginning });
    // One sort for each is cheaper than a search for each row.
    this.enter('index');
    await this.copyAllIndexes();
    this.enter('vacuum');
    // So that the first lists on the new tables are planned as well as the last on the old ones, and are
    // read from the indexes only.
    for (const { name } of projection.tables)
      await client.query(`VACUUM (ANALYZE) ${shadowOf(name)}`);
    const { startedAt } = this;
    this.onReplaced = await projection.replacing?.(client, { startedAt, tableOf: shadowOf });
    await this.changeHands(copied);
    return this.report();
  }

  /** Retries until it succeeds. The projector continues between two tries. */
  private async changeHands(copied: Copied): Promise<void> {
    const giveUpAtMs = performance.now() + swapGiveUpMs;
    let reached = copied;
    for (let pauseMs = swapRetryInitialMs; ; pauseMs = Math.min(pauseMs * 2, swapRetryMaxMs)) {
      this.enter('catch up');
      await this.copyAllIndexes();
      reached = await this.closeGap(reached);
      this.enter('swap');
      try {
        return await inTransaction(this.client, () => this.swap(reached));
      } catch (error) {
        if (!isHeldTooLong(error) || performance.now() > giveUpAtMs) throw error;
        // The streams that the transaction held back are rolled back with it.
        await this.tables.open();
        await delay(pauseMs);
      }
    }
  }

  /** In rounds, each shorter than the last, until few events come during one. */
  private async closeGap(from: Copied): Promise<Copied> {
    let reached = from;
    for (let round = 1; round <= roundsMax; round++) {
      const before = this.eventsRead;
      reached = await this.catchUp(reached);
      if (this.eventsRead - before <= gapEventsMax) break;
    }
    return reached;
  }

  /** Also those that a migration has created since. */
  private async copyAllIndexes(): Promise<void> {
    for (const { name } of this.projection.tables) {
      await this.assertUnchanged(name);
      await copyIndexes(this.client, { table: name, copy: shadowOf(name) });
    }
  }

  /** @throws Error a release that was started meanwhile has migrated the table, and needs what the copy lacks */
  private async assertUnchanged(table: string): Promise<void> {
    const { client } = this;
    if ((await shapeOf(client, table)) === (await shapeOf(client, shadowOf(table)))) return;
    throw new Error(`table ${table} was migrated meanwhile: start the rebuild again`);
  }

  /** Storage settings that LIKE leaves out, for example the vacuum thresholds that a migration may have set. */
  private async copySettings(table: string): Promise<void> {
    const { rows } = await this.client.query<{ settings: string }>(
      `SELECT array_to_string(reloptions, ', ') AS settings FROM pg_class
       WHERE oid = $1::regclass AND reloptions IS NOT NULL`,
      [table],
    );
    for (const { settings } of rows)
      await this.client.query(`ALTER TABLE ${shadowOf(table)} SET (${settings})`);
  }

  /**
   * Applies the events after `from` up to the current end of the log, and reads the next page
   * meanwhile. It does not wait until nothing more arrives: with steady traffic that would never happen.
   */
  private async catchUp(from: Copied): Promise<Copied> {
    const end = await this.whileAway(() => this.options.store.lastPosition());
    let reached = from;
    let page = await this.read(from);
    while (page.position > reached.position) {
      const [following] = await Promise.all([
        this.read(page),
        inTransaction(this.client, () => this.apply(page)),
      ]);
      reached = copiedIn(page);
      this.reportProgress();
      if (reached.position >= end) break;
      page = following;
    }
    return reached;
  }

  /**
   * In one transaction: stops the running projector at its checkpoint, applies the missing events if
   * needed, and renames. The order of locks is the projector's, checkpoint before tables, so they cannot
   * deadlock.
   * @throws HeldTooLong, or a timeout of PostgreSQL: see isHeldTooLong
   */
  private async swap(copied: Copied): Promise<void> {
    const { client, projection } = this;
    await client.query(`SET LOCAL lock_timeout = ${holdMaxMs}`);
    const live = (await lockCheckpoint(client, projection.name)) ?? beginning;
    const releaseAtMs = performance.now() + holdMaxMs;
    const { position, eventId } =
      live > copied.position ? await this.closeLastGap(copied, live, releaseAtMs) : copied;
    const anchoring = anchorAt(this.options.store, position);
    const anchor = await inTime(anchoring, releaseAtMs - performance.now());
    if (eventId !== undefined && anchor?.eventId !== eventId) throw new EventsLost(position);
    const tables = projection.tables.map(({ name }) => name);
    await this.limitTo(releaseAtMs);
    await client.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`);
    for (const table of tables) {
      await this.limitTo(releaseAtMs);
      await this.replace(table);
    }
    await this.limitTo(releaseAtMs);
    await this.onReplaced?.();
    await replaceQuarantine(client, projectionReader(projection.name), [this.reader]);
    await saveCheckpoint(client, projection.name, anchor, projection.laterPrefixes ?? []);
  }

  /** Within the transaction: the next statement ends in time. @throws HeldTooLong when no time is left */
  private async limitTo(releaseAtMs: number): Promise<void> {
    const leftMs = Math.ceil(releaseAtMs - performance.now());
    if (leftMs <= 0) throw new HeldTooLong('the tables cannot change hands in time');
    await this.client.query(`SET LOCAL statement_timeout = ${leftMs}`);
  }

  /** From what is copied past `live`, in one page and in time. */
  private async closeLastGap(copied: Copied, live: Position, releaseAtMs: number): Promise<Copied> {
    const { streamPrefixes } = this.projection;
    const { store } = this.options;
    let reached = copied;
    for (let events = 0; reached.position < live; ) {
      const from = { ...afterOf(reached), streamPrefixes, pageMax: gapEventsMax };
      const page = await inTime(store.readLog(from), releaseAtMs - performance.now());
      // The log ends before the checkpoint: it was restored from an older copy. The tables follow it.
      if (page.position <= reached.position) break;
      events += page.events.length;
      if (events > gapEventsMax) throw new HeldTooLong('too many events came meanwhile');
      await this.limitTo(releaseAtMs);
      await this.apply(page);
      reached = copiedIn(page);
    }
    return reached;
  }

  /**
   * Indexes get the names of their predecessors, because later migrations use these names.
   * @throws HeldTooLong the table has an index that is yet to be built for the copy
   */
  private async replace(table: string): Promise<void> {
    const { client } = this;
    await this.assertUnchanged(table);
    const { missing, extra, pairs } = await pairIndexes(client, table, shadowOf(table));
    if (missing.length > 0) throw new HeldTooLong(`an index of ${table} was created meanwhile`);
    await client.query(`DROP TABLE ${table}`);
    await client.query(`ALTER TABLE ${shadowOf(table)} RENAME TO ${table}`);
    for (const { name } of extra) await client.query(`DROP INDEX ${name}`);
    for (const { index, counterpart } of pairs)
      await client.query(`ALTER INDEX ${counterpart.name} RENAME TO ${index.name}`);
  }

  private read(from: Copied): Promise<LogPage> {
    const { streamPrefixes } = this.projection;
    const { store, pageMax = defaultPageMax } = this.options;
    return this.whileAway(() => store.readLog({ ...afterOf(from), streamPrefixes, pageMax }));
  }

  /** A copy that takes hours must not fail because the event store is unavailable for minutes. */
  private async whileAway<Result>(ask: () => Promise<Result>): Promise<Result> {
    const giveUpAtMs = performance.now() + awayGiveUpMs;
    for (;;)
      try {
        return await ask();
      } catch (error) {
        const mayPass = isTransient(error) && !(error instanceof EventsLost);
        if (!mayPass || performance.now() > giveUpAtMs) throw error;
        await delay(awayRetryMs);
      }
  }

  private enter(phase: RebuildPhase): void {
    this.phase = phase;
    this.reportProgress();
  }

  private reportProgress(): void {
    this.options.onProgress?.({ ...this.report(), phase: this.phase });
  }

  private async apply({ events }: LogPage): Promise<void> {
    this.eventsRead += events.length;
    await this.tables.write(events);
  }

  private report(): RebuildReport {
    const durationMs = Math.round(performance.now() - this.startedMs);
    const eventsPerSecond = Math.round((this.eventsRead / Math.max(durationMs, 1)) * 1000);
    const { name } = this.projection;
    return { projection: name, eventsRead: this.eventsRead, durationMs, eventsPerSecond };
  }
}

function copiedIn({ position, eventId }: LogPage): Copied {
  return eventId === undefined ? { position } : { position, eventId };
}

function afterOf({ position: after, eventId: afterEventId }: Copied) {
  return { after, afterEventId };
}

function shadowOf(table: string): string {
  return `${table}_rebuild`;
}

/** Fails when `work` has not answered within `ms`. */
async function inTime<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  const waiting = new AbortController();
  const tooLate = delay(Math.max(ms, 0), undefined, { signal: waiting.signal }).then(() => {
    throw new HeldTooLong('the event store took too long to answer');
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    waiting.abort();
  }
}

/** lock_not_available and query_canceled: readers of the tables, or a statement, took too long. */
const timeoutCodes = ['55P03', '57014'];

function isHeldTooLong(error: unknown): boolean {
  if (error instanceof EventsLost) return false;
  if (error instanceof HeldTooLong || error instanceof StoreUnavailable) return true;
  return timeoutCodes.includes(sqlStateOf(error));
}
