/**
 * Rebuilds a projection from the whole log, beside the running one: into shadow tables, which take
 * the place of the old ones by a rename once they have caught up. Lists are answered all the while.
 *
 * What always holds: tables and checkpoint change hands in one transaction; a rebuild that dies
 * leaves the old tables in use, and the next one starts clean.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { beginning, type EventStore, type LogPage, type Position } from '@pis/event-store';
import type pg from 'pg';
import {
  createCheckpoint,
  inTransaction,
  lockCheckpoint,
  releaseLocks,
  saveCheckpoint,
  tryRebuildLock,
} from './checkpoint.js';
import { type ProjectionName, projections } from './projections.js';
import { PageTables } from './page-tables.js';
import type { Projection } from './projection.js';
import { projectionReader, replaceQuarantine } from './quarantine.js';

export interface RebuildOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly onProgress?: (progress: RebuildReport) => void;
}

export interface RebuildReport {
  readonly projection: string;
  readonly eventsRead: number;
  readonly durationMs: number;
  readonly eventsPerSecond: number;
}

/** Somebody else is rebuilding it. */
export class RebuildUnderWay extends Error {
  override readonly name = 'RebuildUnderWay';
}

const pageMax = 1_000;
/** How long readers may hold up the rename, and every new reader behind it. */
const swapLockTimeoutMs = 2_000;
const swapAttemptsMax = 10;
const swapRetryMs = 500;

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
  const client = await options.pool.connect();
  // A lost connection fails the next query; without a listener it ends the process.
  client.on('error', () => undefined);
  try {
    if (!(await tryRebuildLock(client, projection.name)))
      throw new RebuildUnderWay(`projection ${projection.name} is being rebuilt already`);
    return await new Rebuild(projection, client, options).run();
  } finally {
    await releaseLocks(client);
  }
}

class Rebuild {
  private readonly startedMs = performance.now();
  private eventsRead = 0;
  private readonly tables: PageTables;
  private readonly reader: string;

  constructor(
    private readonly projection: Projection,
    private readonly client: pg.PoolClient,
    private readonly options: RebuildOptions,
  ) {
    this.reader = `${projectionReader(projection.name)}:rebuild`;
    this.tables = new PageTables(projection, this.reader, client, undefined, shadowOf);
  }

  async run(): Promise<RebuildReport> {
    const { client, projection } = this;
    await client.query('SET synchronous_commit = off');
    await createCheckpoint(client, projection.name);
    for (const { name } of projection.tables) {
      await client.query(`DROP TABLE IF EXISTS ${shadowOf(name)}`);
      await client.query(`CREATE TABLE ${shadowOf(name)} (LIKE ${name} INCLUDING ALL)`);
      await this.copySettings(name);
    }
    await replaceQuarantine(client, this.reader, []);
    await this.tables.open();
    let position = beginning;
    for (let attempt = 1; ; attempt++) {
      position = await this.catchUp(position);
      // So that the first lists on the new tables are planned as well as the last on the old, and read
      // from the indexes alone.
      for (const { name } of projection.tables)
        await client.query(`VACUUM (ANALYZE) ${shadowOf(name)}`);
      try {
        await inTransaction(client, () => this.swap(position));
        return this.report();
      } catch (error) {
        if (!isLockTimeout(error) || attempt === swapAttemptsMax) throw error;
        await delay(swapRetryMs);
      }
    }
  }

  /** When it is vacuumed, for one, which a migration may have set: LIKE leaves that out. */
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
   * Applies what comes after `position` up to the end that the log has now; the next page is read
   * meanwhile. Not until nothing more comes: with steady traffic that would be never.
   */
  private async catchUp(position: Position): Promise<Position> {
    const end = await this.options.store.lastPosition();
    let reached = position;
    let page = await this.read(position);
    while (page.position > reached) {
      const [following] = await Promise.all([
        this.read(page.position),
        inTransaction(this.client, () => this.apply(page)),
      ]);
      reached = page.position;
      this.options.onProgress?.(this.report());
      if (reached >= end) break;
      page = following;
    }
    return reached;
  }

  /**
   * In one transaction: holds the running projector at its checkpoint, gets past it if need be, and
   * renames. The order of locks is the projector's, checkpoint before tables, so they cannot deadlock.
   */
  private async swap(position: Position): Promise<void> {
    const { client, projection } = this;
    await client.query(`SET LOCAL lock_timeout = ${swapLockTimeoutMs}`);
    const live = (await lockCheckpoint(client, projection.name)) ?? beginning;
    let reached = position;
    while (reached < live) {
      const page = await this.read(reached);
      // The log ends before the checkpoint: it was restored from an older copy. The tables follow it.
      if (page.position <= reached) break;
      await this.apply(page);
      reached = page.position;
    }
    for (const { name } of projection.tables) await this.replace(name);
    await replaceQuarantine(client, projectionReader(projection.name), [this.reader]);
    await saveCheckpoint(client, projection.name, reached);
  }

  /** Indexes get the names of their predecessors, by which later migrations know them. */
  private async replace(table: string): Promise<void> {
    const { client } = this;
    const names = new Map((await indexesOf(client, table)).map((i) => [i.definition, i.name]));
    const indexes = await indexesOf(client, shadowOf(table));
    await client.query(`DROP TABLE ${table}`);
    await client.query(`ALTER TABLE ${shadowOf(table)} RENAME TO ${table}`);
    for (const { name, definition } of indexes) {
      const former = names.get(definition);
      if (former === undefined) throw new Error(`no counterpart of index ${name}: ${definition}`);
      await client.query(`ALTER INDEX ${name} RENAME TO ${former}`);
    }
  }

  private read(after: Position): Promise<LogPage> {
    const { streamPrefixes } = this.projection;
    return this.options.store.readLog({ after, streamPrefixes, pageMax });
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

function shadowOf(table: string): string {
  return `${table}_rebuild`;
}

/** `definition` is what follows the table's name, and whether it is unique. */
async function indexesOf(
  client: pg.ClientBase,
  table: string,
): Promise<readonly { name: string; definition: string }[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name,
       indisunique || regexp_replace(pg_get_indexdef(indexrelid), '^.*? USING ', ' ') AS definition
     FROM pg_index WHERE indrelid = $1::regclass`,
    [table],
  );
  return rows;
}

function isLockTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === '55P03';
}
