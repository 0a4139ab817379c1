/**
 * Builds a projection from the log beside the live one, and says in which rows and columns the live one differs.
 *
 * What always holds:
 * - the service is not disturbed. The copy is in temporary tables of this session, which have the names of the live
 *   ones: what a projection writes goes there, and PostgreSQL drops them with the session. Live tables are only read;
 * - both sides are as of one position. One snapshot has the live tables with the checkpoint that was committed with
 *   them, and the copy is brought to exactly that checkpoint before they are compared;
 * - a difference is reported if a second comparison has it, too. What a use case writes ahead of the projection, and
 *   an erasure under way, are gone by then;
 * - memory does not grow with the log: pages are read, and only rows that differ are fetched.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { beginning, type EventStore, type Position } from '@pis/event-store';
import { endSession, inTransaction, ownConnection } from '@pis/postgres';
import type pg from 'pg';
import { readCheckpoint } from './checkpoint.js';
import { erasureDifferences } from './erasure-differences.js';
import { PageTables } from './page-tables.js';
import type { ProjectionName } from './projected-streams.js';
import { type Projection, ProjectionBroken } from './projection.js';
import { projections } from './projections.js';
import { projectionReader } from './quarantine.js';
import { copyIndexes } from './table-indexes.js';
import { type ReadModelDifference, tableDifferences } from './table-differences.js';

export interface ComparisonOptions {
  readonly store: EventStore;
  /** Says how to connect; the comparison opens a connection of its own. */
  readonly pool: pg.Pool;
  /** Whether the store opens personal data. If not, it must give every party as an erased one. */
  readonly withPersonalData: boolean;
  readonly onDifference: (difference: ReadModelDifference) => void;
  /** Called after each page with the events read so far. */
  readonly onPage?: (eventsRead: number) => void;
  /** How long differences have to go away. Default: 15 s. */
  readonly settleMaxMs?: number;
}

export interface ComparisonReport {
  readonly projection: ProjectionName;
  /** Of both sides. */
  readonly position: Position;
  readonly eventsRead: number;
  /** Of the live tables. */
  readonly rows: number;
  readonly differences: number;
}

const pageMax = 1_000;
/** Events that may be left for the snapshot. */
const gapEventsMax = 1_000;
const roundsMax = 100;
/** A rebuild may put the checkpoint back. */
const startsMax = 3;
const settleDefaultMs = 15_000;
const settlePollMs = 100;
/** Differences remembered from the first comparison. With more of them, the second one reports all that it finds. */
const rememberedMax = 100_000;
const bufferSize = '64MB';
/** What the projection of the directory writes beside its tables. */
const directoryTables = ['erased_parties', 'party_erasures'] as const;
/** They are compared in another way. */
const notCompared: readonly string[] = ['party_erasures', 'quarantined_streams'];

/** The live checkpoint is before what the copy has: it was put back by a rebuild or for a restored log. */
class PutBack extends Error {
  override readonly name = 'PutBack';
}

/**
 * A log from which no table can be built is one difference.
 * @throws StoreUnavailable
 */
export async function compareReadModels(
  name: ProjectionName,
  options: ComparisonOptions,
): Promise<ComparisonReport> {
  for (let starts = 1; ; starts += 1) {
    const client = await ownConnection(options.pool);
    const comparison = new Comparison(name, client, options);
    try {
      return await comparison.run();
    } catch (error) {
      if (error instanceof ProjectionBroken) return comparison.cannotBeBuilt(error);
      if (!(error instanceof PutBack) || starts >= startsMax) throw error;
    } finally {
      await endSession(client);
    }
  }
}

class Comparison {
  private readonly projection: Projection;
  private readonly tables: PageTables;
  private eventsRead = 0;
  private reached: Position = beginning;
  private schema = '';

  constructor(
    private readonly name: ProjectionName,
    private readonly client: pg.Client,
    private readonly options: ComparisonOptions,
  ) {
    this.projection = projections[name];
    this.tables = new PageTables(this.projection, projectionReader(name), client);
  }

  async run(): Promise<ComparisonReport> {
    const { client } = this;
    await client.query(`SET temp_buffers = '${bufferSize}'`);
    // Nothing that this session writes has to survive it.
    await client.query('SET synchronous_commit = off');
    this.schema = await this.liveSchema();
    for (const table of [...this.ownTables, 'quarantined_streams']) {
      const live = `${this.schema}.${table}`;
      await client.query(
        `CREATE TEMPORARY TABLE ${table} (LIKE ${live} INCLUDING ALL EXCLUDING INDEXES)`,
      );
      const { writesBy = [] } = this.projection.tables.find(({ name }) => name === table) ?? {};
      await copyIndexes(client, { table: live, copy: `pg_temp.${table}`, writesBy });
    }
    await this.tables.open();
    for (let round = 1; round <= roundsMax; round += 1) {
      const before = this.eventsRead;
      await this.copyTo(await readCheckpoint(client, this.name));
      if (this.eventsRead - before <= gapEventsMax) break;
    }
    for (const table of this.ownTables) await client.query(`ANALYZE pg_temp.${table}`);
    const first = await this.compare(null);
    if (first.differences.size === 0) return first.report;
    await this.settle();
    return (await this.compare(first.differences)).report;
  }

  cannotBeBuilt({ streamId, message }: ProjectionBroken): ComparisonReport {
    const { name: projection, reached: position, eventsRead } = this;
    const differs = `the log does not say what its rows are: ${message}`;
    const [table] = this.ownTables;
    this.options.onDifference({ table: table ?? projection, row: streamId, column: null, differs });
    return { projection, position, eventsRead, rows: 0, differences: 1 };
  }

  private get ownTables(): readonly string[] {
    const tables = this.projection.tables.map(({ name }) => name);
    return this.name === 'directory' ? [...tables, ...directoryTables] : tables;
  }

  /** While no temporary table hides a live one. */
  private async liveSchema(): Promise<string> {
    const { rows } = await this.client.query<{ schema: string }>(
      `SELECT quote_ident(nspname) AS schema FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
       WHERE pg_class.oid = $1::regclass`,
      [this.projection.tables[0]?.name],
    );
    return rows[0]?.schema ?? 'public';
  }

  /** Applies the log up to a position, and no event after it. A log that ends before it was restored: all of it. */
  private async copyTo(end: Position): Promise<void> {
    const { streamPrefixes } = this.projection;
    while (this.reached < end) {
      const after = this.reached;
      const page = await this.options.store.readLog({ after, streamPrefixes, pageMax });
      if (page.position <= after) return;
      const events = page.events.filter(({ position }) => position <= end);
      await this.tables.write(events);
      this.reached = page.position < end ? page.position : end;
      this.eventsRead += events.length;
      this.options.onPage?.(this.eventsRead);
    }
  }

  /** @param before differences of the first comparison; null for that one, which reports nothing */
  private async compare(before: ReadonlySet<string> | null): Promise<{
    readonly differences: ReadonlySet<string>;
    readonly report: ComparisonReport;
  }> {
    const { client, schema } = this;
    const { withPersonalData } = this.options;
    const compared = this.ownTables.filter((table) => !notCompared.includes(table));
    return inTransaction(client, async () => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      // Before the snapshot: a rebuild would otherwise replace the tables by some that the snapshot does not have.
      const live = compared.map((table) => `${schema}.${table}`).join(', ');
      await client.query(`LOCK TABLE ${live} IN ACCESS SHARE MODE`);
      const position = await readCheckpoint(client, this.name);
      if (position < this.reached)
        throw new PutBack(`the checkpoint of ${this.name} was put back meanwhile`);
      await this.copyTo(position);
      const differences = new Set<string>();
      let count = 0;
      let rows = 0;
      const take = (difference: ReadModelDifference) => {
        const key = JSON.stringify([difference.table, difference.row, difference.column]);
        if (differences.size < rememberedMax) differences.add(key);
        if (before === null || (before.size < rememberedMax && !before.has(key))) return;
        count += 1;
        this.options.onDifference(difference);
      };
      (await this.heldOnOneSide()).forEach(take);
      (await this.erasuresThatDiffer(position)).forEach(take);
      for (const name of compared) {
        const pair = { name, schema, withPersonalData };
        for await (const difference of tableDifferences(client, pair)) take(difference);
        rows += await this.rowsOf(name);
      }
      const { eventsRead } = this;
      const report = { projection: this.name, position, eventsRead, rows, differences: count };
      return { differences, report };
    });
  }

  /** Streams that the live projection holds back in quarantine and the copy does not, or the other way round. */
  private async heldOnOneSide(): Promise<readonly ReadModelDifference[]> {
    const { rows } = await this.client.query<{ stream: string; reason: string; isLive: boolean }>(
      `SELECT coalesce(live.stream_id, copy.stream_id) AS stream, coalesce(live.reason, copy.reason) AS reason,
         live.stream_id IS NOT NULL AS "isLive"
       FROM (SELECT * FROM ${this.schema}.quarantined_streams WHERE reader = $1) live
       FULL JOIN (SELECT * FROM pg_temp.quarantined_streams WHERE reader = $1) copy USING (stream_id)
       WHERE live.stream_id IS NULL OR copy.stream_id IS NULL LIMIT $2`,
      [projectionReader(this.name), rememberedMax],
    );
    return rows.map(({ stream: row, reason, isLive }) => ({
      table: 'quarantined_streams',
      ...{ row, column: null },
      differs: isLive ? 'the stream is held back in quarantine' : `it cannot be read: ${reason}`,
    }));
  }

  /** @param copied the checkpoint of the snapshot */
  private async erasuresThatDiffer(copied: Position): Promise<readonly ReadModelDifference[]> {
    if (this.name !== 'directory') return [];
    const end = await this.options.store.lastPosition();
    return erasureDifferences(this.client, this.schema, { copied, end });
  }

  private async rowsOf(table: string): Promise<number> {
    const { rows } = await this.client.query<{ count: string }>(
      `SELECT count(*) FROM ${this.schema}.${table}`,
    );
    return Number(rows[0]?.count ?? 0);
  }

  /** Until the projection has applied what the log has now, and no erasure is under way; not longer than its limit. */
  private async settle(): Promise<void> {
    const { store, settleMaxMs = settleDefaultMs } = this.options;
    const giveUpAtMs = performance.now() + settleMaxMs;
    const end = await store.lastPosition();
    while (performance.now() < giveUpAtMs) {
      const { rows } = await this.client.query(
        `SELECT FROM projection_checkpoints WHERE name = $1 AND position >= $2
           AND NOT EXISTS (SELECT FROM ${this.schema}.erased_parties WHERE passes = 0)`,
        [this.name, end],
      );
      if (rows.length > 0) return;
      await delay(settlePollMs);
    }
  }
}
