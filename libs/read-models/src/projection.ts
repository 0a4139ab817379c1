/**
 * Projection: how a part of the log becomes tables. Each table defines which row an event belongs to and
 * how the event changes it, as pure functions. This file loads the rows of a page of events, folds them in
 * memory and writes them back in bulk.
 *
 * What always holds: a row's `revision` is that of the last event folded into it; an event at or
 * before it changes nothing, and one that would leave a gap stops the projection.
 */
import { type Category, streamNameOf } from '@pis/domain';
import { type Position, type RecordedEvent, UnreadableEvent } from '@pis/event-store';
import type pg from 'pg';
import { binaryArray, isoTimes, reasonOf, textArray, uuidArray } from '@pis/postgres';

export interface Projection {
  readonly name: string;
  /** The streams it is computed from. */
  readonly streamPrefixes: readonly string[];
  /** Those of them that a process of another release may pass over (passed-over.ts). Default: none. */
  readonly laterPrefixes?: readonly string[];
  readonly tables: readonly ReadTable[];
  /**
   * How long the runner rests after a page of recent events that was not full, so that the next one has more: a row that
   * they change several times is written once. Nobody in the same process waits for the end of a rest. Default: 0.
   */
  readonly restMs?: number;
  /** How many pages after a quiet time are followed by no rest. Default: 0. */
  readonly pagesBeforeRest?: number;
  /**
   * Called when rebuilt tables are about to replace the former ones, and may take its time. What it returns
   * is called in the transaction in which they do, and must be quick.
   */
  readonly replacing?: (client: pg.ClientBase, rebuilt: Rebuilt) => Promise<() => Promise<void>>;
}

/**
 * The rest of projections that clients read soon after an event, of which a webhook may have told them. What happens to a
 * few payments in a quiet time is in the tables at once. At 50 payments per second, most pages, with their transactions,
 * are saved.
 */
export const restOfLists = { restMs: 100, pagesBeforeRest: 8 };

export interface Rebuilt {
  readonly startedAt: Date;
  /** The name that the rebuilt table has until then. */
  readonly tableOf: (name: string) => string;
}

export interface ReadTable {
  readonly name: string;
  /** Columns that `write` looks rows up by and that begin no unique index: while the log is copied, other indexes are missing. */
  readonly writesBy?: readonly string[];
  /**
   * Folds the events that concern this table into `target`, which has this table's columns.
   * @param areNew whether no event of them was written to it before. If one was, this fails with a unique violation, and
   *   the transaction must be repeated without. Default: false
   * @throws UnreadableStreams, ProjectionBroken
   */
  write(
    client: pg.ClientBase,
    target: string,
    events: readonly RecordedEvent[],
    areNew?: boolean,
  ): Promise<void>;
}

/**
 * The end of an INSERT of rows that may be there already. ON CONFLICT looks into the index before each row, and confirms
 * the row in the WAL after it. So rows of new events are inserted without it.
 */
export function unlessThere(areNew: boolean, key: string): string {
  return areNew ? '' : `ON CONFLICT (${key}) DO NOTHING`;
}

/** A statement with `unlessThere`: two texts need two names. */
export function insertName(target: string, areNew: boolean): string {
  return `${target}.${areNew ? 'insert' : 'insertAgain'}`;
}

/** The types of columns there are; text is stored without what PostgreSQL refuses (storableText). */
export type ColumnType =
  | 'uuid'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'boolean'
  | 'timestamptz(3)'
  | 'json';

/** Field names in camelCase, the columns in snake_case. Times are ISO 8601 texts, json is a value. */
export type StoredRow = { readonly revision: number } & Readonly<Record<string, unknown>>;

export interface ReadTableDefinition<Row extends StoredRow> {
  readonly name: string;
  /** The primary key, a uuid. */
  readonly key: keyof Row & string;
  readonly columns: Readonly<Record<keyof Row & string, ColumnType>>;
  /** Events of other streams belong to no row of this table. */
  readonly category: Category;
  /** The key of the row an event is about, null when there is none; the id in the stream's name when absent. */
  readonly keyOf?: (event: RecordedEvent, id: string) => string | null;
  /** Whether the event creates its row: then nothing is loaded for it. */
  readonly begins: (event: RecordedEvent) => boolean;
  /**
   * The row after the event. Pure; `revision` is set by the caller. A record that is deleted keeps
   * its row with a time of deletion, so that an older event cannot bring it back.
   */
  readonly evolve: (row: Row | null, event: RecordedEvent) => Omit<Row, 'revision'>;
  /** Whether one row is the whole stream, so that its revisions must have no gap. */
  readonly ownsStream: boolean;
}

/** An event is missing before this one: a defect, or a log that was tampered with. The projection stops. */
export class ProjectionBroken extends Error {
  override readonly name = 'ProjectionBroken';
  readonly streamId: string;
  readonly position: Position;
  constructor(
    readonly event: RecordedEvent,
    readonly reason: string,
  ) {
    const { streamId, position, type } = event;
    super(`event at ${position} of stream ${streamId}: ${type}: ${reason}`);
    this.streamId = streamId;
    this.position = position;
  }
}

/** Events that this build cannot apply, the first of each stream. Nothing of the page was written to the table. */
export class UnreadableStreams extends Error {
  override readonly name = 'UnreadableStreams';
  constructor(readonly causes: readonly UnreadableEvent[]) {
    super(causes[0]?.message);
  }
}

/** The type of an event that an operator skipped. It changes only the revision. */
export const skippedEventType = '(skipped)';

/** A row that a page changed. `before` is null for a new one. */
export interface RowChange<Row> {
  readonly before: Row | null;
  readonly after: Row;
}

/** @param onChanged writes what follows from the changed rows, in the same transaction */
export function readTable<Row extends StoredRow>(
  definition: ReadTableDefinition<Row>,
  onChanged?: (
    client: pg.ClientBase,
    target: string,
    changes: readonly RowChange<Row>[],
    areNew: boolean,
  ) => Promise<void>,
): ReadTable {
  const statements = statementsOf(definition);
  return {
    name: definition.name,
    async write(client, target, events, areNew = false) {
      const unreadable = new Map<string, UnreadableEvent>();
      const byKey = groupByKey(definition, events, unreadable);
      const toLoad = [...byKey].filter(([, [first]]) => first && !definition.begins(first));
      const keys = toLoad.map(([key]) => key);
      const loaded = keys.length === 0 ? [] : await load<Row>(client, statements, target, keys);
      const rows = new Map(loaded.map((row) => [String(row[definition.key]), row]));

      const changes: RowChange<Row>[] = [];
      for (const [key, group] of byKey) {
        const before = rows.get(key) ?? null;
        try {
          const after = fold(definition, before, group);
          if (after !== null && after !== before) changes.push({ before, after });
        } catch (error) {
          if (!(error instanceof UnreadableEvent)) throw error;
          unreadable.set(error.event.streamId, error);
        }
      }
      if (unreadable.size > 0) throw new UnreadableStreams([...unreadable.values()]);
      if (changes.length === 0) return;
      const isNew = ({ before }: RowChange<Row>) => areNew && before === null;
      for (const [some, statement] of [
        [changes.filter(isNew), statements.insert],
        [changes.filter((change) => !isNew(change)), statements.upsert],
      ] as const)
        if (some.length > 0)
          await client.query(
            statement(
              target,
              some.map(({ after }) => after),
            ),
          );
      await onChanged?.(client, target, changes, areNew);
    },
  };
}

/** @param unreadable gets the first such event of each stream; what follows it is left out */
function groupByKey<Row extends StoredRow>(
  { category, keyOf }: ReadTableDefinition<Row>,
  events: readonly RecordedEvent[],
  unreadable: Map<string, UnreadableEvent>,
): Map<string, RecordedEvent[]> {
  const byKey = new Map<string, RecordedEvent[]>();
  for (const event of events) {
    const name = streamNameOf(event.streamId);
    if (name?.category !== category || unreadable.has(event.streamId)) continue;
    try {
      const key = keyOf === undefined ? name.id : keyOf(event, name.id);
      if (key === null) continue;
      if (!uuidForm.test(key)) throw new UnreadableEvent(event, 'it is about no UUID');
      const group = byKey.get(key);
      if (group) group.push(event);
      else byKey.set(key, [event]);
    } catch (cause) {
      // Without its data, the row of a skipped event is unknown.
      if (event.type !== skippedEventType)
        unreadable.set(event.streamId, asUnreadable(event, cause));
    }
  }
  return byKey;
}

export const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function asUnreadable(event: RecordedEvent, cause: unknown): UnreadableEvent {
  if (cause instanceof UnreadableEvent) return cause;
  return new UnreadableEvent(event, reasonOf(cause), { cause });
}

/**
 * Exported for the tests of the mappings, which need no database.
 * @throws UnreadableEvent when `evolve` cannot apply an event
 * @throws ProjectionBroken when an event of the stream is missing
 */
export function fold<Row extends StoredRow>(
  { evolve, begins, ownsStream }: ReadTableDefinition<Row>,
  before: Row | null,
  events: readonly RecordedEvent[],
): Row | null {
  let row = before;
  for (const event of events) {
    const { revision, type } = event;
    if (row !== null && revision <= row.revision) continue;
    const follows: boolean = ownsStream
      ? revision === (row?.revision ?? -1) + 1
      : row !== null || begins(event);
    if (type === skippedEventType) {
      if (row !== null && follows) row = { ...row, revision };
      continue;
    }
    if (!follows)
      throw new ProjectionBroken(event, `revision ${revision} after ${row?.revision ?? 'nothing'}`);
    try {
      // Sound: a Row is its fields and the revision.
      row = { ...evolve(row, event), revision } as unknown as Row;
    } catch (cause) {
      throw asUnreadable(event, cause);
    }
  }
  return row;
}

async function load<Row extends StoredRow>(
  client: pg.ClientBase,
  statements: Statements<Row>,
  target: string,
  keys: readonly string[],
): Promise<readonly Row[]> {
  const { rows } = await client.query<Row>(statements.select(target, keys));
  return rows;
}

interface Statements<Row> {
  select(target: string, keys: readonly string[]): pg.QueryConfig;
  /** Fails with a unique violation if a row is there already. */
  insert(target: string, rows: readonly Row[]): pg.QueryConfig;
  upsert(target: string, rows: readonly Row[]): pg.QueryConfig;
}

/**
 * One statement per kind and table, for any number of rows: each column is sent as one array. They are unnested in the
 * list of the SELECT, which reads row by row. In FROM, each array would first be copied into a store of its own: that took
 * a fifth more CPU time of PostgreSQL, and a third more for a single row.
 */
function statementsOf<Row extends StoredRow>({
  key,
  columns,
}: ReadTableDefinition<Row>): Statements<Row> {
  const fields = Object.keys(columns) as (keyof Row & string)[];
  const names = fields.map(columnOf).join(', ');
  const keyColumn = columnOf(key);
  const values = fields
    .map((field, index) => `unnest($${index + 1}::${columns[field]}[])`)
    .join(', ');
  const updates = fields
    .filter((field) => field !== key)
    .map((field) => `${columnOf(field)} = excluded.${columnOf(field)}`)
    .join(', ');
  const selected = fields.map((field) => `${columnOf(field)} AS "${field}"`).join(', ');
  const insertion = (target: string) =>
    `INSERT INTO ${target} AS stored (${names}) SELECT ${values}`;
  const valuesOf = (rows: readonly Row[]) =>
    fields.map((field) => columnValues(columns[field], rows, field));
  return {
    // Without a name, so that it is planned for the table as it is now: a plan that was made while it was small reads all of it.
    select: (target, keys) => ({
      text: `SELECT ${selected} FROM ${target} WHERE ${keyColumn} = ANY($1::uuid[])`,
      values: [uuidArray(keys)],
      types: isoTimes,
    }),
    insert: (target, rows) => ({
      name: `${target}.insert`,
      text: insertion(target),
      values: valuesOf(rows),
    }),
    upsert: (target, rows) => ({
      name: `${target}.upsert`,
      text: `${insertion(target)}
        ON CONFLICT (${keyColumn}) DO UPDATE SET ${updates}
        WHERE stored.revision < excluded.revision`,
      values: valuesOf(rows),
    }),
  };
}

export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The values of a column, as the parameter of a statement. */
export function columnValues<Row>(
  type: ColumnType,
  rows: readonly Row[],
  field: keyof Row,
): unknown {
  const values = rows.map((row): unknown => row[field] ?? null);
  // JSON.stringify escapes NUL and lone surrogates, and `json` keeps the escapes.
  if (type === 'json')
    return binaryArray(
      'json',
      values.map((value) => (value === null ? null : JSON.stringify(value))),
    );
  const texts = values.map((value) => (value === null ? null : String(value)));
  if (type === 'uuid') return uuidArray(texts);
  if (type !== 'text') return textArray(texts);
  return textArray(texts.map((text) => (text === null ? null : storableText(text))));
}

/**
 * Text columns accept no NUL and no lone surrogate, but a client may send both. A filter on such a column
 * must pass its parameter through here too. The exact text is in `item`.
 */
export function storableText(text: string): string {
  const isStorable = text.isWellFormed() && !text.includes('\0');
  return isStorable ? text : text.toWellFormed().replaceAll('\0', '\ufffd');
}
