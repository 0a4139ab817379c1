/** Everything that a running system keeps or says, as texts by place, for a search. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beginning, type EventStore, postgresEventStore } from '@pis/event-store';
import pg from 'pg';
import { passedSchema, withClient } from './passing-rows.js';
import type { System } from './systems.js';
import { readMessages } from './topics.js';

/** Texts by the name of their place, for example `contacts.item`. */
export type Places = Map<string, string>;

/**
 * Every column of every table, and what the server itself keeps of their contents: the samples of ANALYZE and
 * the texts of statements. The days of a partitioned table have the name of the table.
 */
export function tablePlaces(databaseUrl: string): Promise<Places> {
  return withClient(databaseUrl, async (client) => {
    await client.query('ANALYZE');
    const places: Places = new Map();
    for (const { schema, table, columns } of await tablesOf(client)) {
      const id = pg.escapeIdentifier;
      // Each table is read once, for all its columns.
      const { rows } = await client.query<(string | null)[]>({
        text: `SELECT ${columns.map(textOf).join(', ')}
               FROM ONLY ${id(schema)}.${id(table)}`,
        rowMode: 'array',
      });
      for (const [index, { column }] of columns.entries())
        add(
          places,
          `${wholeTable(table)}.${column}`,
          rows.map((row) => ({ text: row[index] ?? null })),
        );
    }
    const { rows: samples } = await client.query<{ text: string; table: string; column: string }>(
      `SELECT tablename AS table, attname AS column,
         concat(most_common_vals::text, ' ', histogram_bounds::text, ' ', most_common_elems::text) AS text
       FROM pg_stats WHERE schemaname NOT IN ('pg_catalog', 'information_schema', '${passedSchema}')`,
    );
    for (const { table, column, text } of samples)
      add(places, `pg_stats of ${wholeTable(table)}.${column}`, [{ text }]);
    const { rows: statements } = await client.query<{ text: string | null }>(
      'SELECT query AS text FROM pg_stat_activity WHERE datname = current_database()',
    );
    add(places, 'pg_stat_activity.query', statements);
    return places;
  });
}

/** The tables that have no row in any schema. A partitioned table is one table. */
export function emptyTables(databaseUrl: string): Promise<readonly string[]> {
  return withClient(databaseUrl, async (client) => {
    const isEmpty = new Map<string, boolean>();
    for (const { schema, table } of await tablesOf(client)) {
      const id = pg.escapeIdentifier;
      const { rows } = await client.query(`SELECT FROM ONLY ${id(schema)}.${id(table)} LIMIT 1`);
      const name = wholeTable(table);
      isEmpty.set(name, (isEmpty.get(name) ?? true) && rows.length === 0);
    }
    return [...isEmpty].flatMap(([name, is]) => (is ? [name] : [])).sort();
  });
}

interface Table {
  readonly schema: string;
  readonly table: string;
  readonly columns: readonly Column[];
}

interface Column {
  readonly column: string;
  readonly type: string;
}

/** SQL: bytes in hexadecimal, and as the text that they may be. */
function textOf({ column, type }: Column): string {
  const id = pg.escapeIdentifier(column);
  return type === 'bytea' ? `concat(${id}::text, ' ', encode(${id}, 'escape'))` : `${id}::text`;
}

async function tablesOf(client: pg.Client): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(
    `SELECT c.table_schema AS schema, c.table_name AS table,
       json_agg(json_build_object('column', c.column_name, 'type', c.data_type)
         ORDER BY c.ordinal_position) AS columns
     FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
     GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  return rows;
}

function add(
  places: Places,
  place: string,
  rows: readonly { readonly text: string | null }[],
): void {
  const text = rows.map((row) => row.text ?? '').join('\n');
  const before = places.get(place);
  places.set(place, before === undefined ? text : `${before}\n${text}`);
}

/** The partitions `webhook_attempts_20261122` and `webhook_attempts_default` are the table `webhook_attempts`, `events_1` is `events`. */
function wholeTable(name: string): string {
  return name.replace(/_(\d{8}|default)$|(?<=^events)_\d+$/, '');
}

/** Every message of every topic, with keys and headers; empty on the embedded broker. */
export async function topicPlaces({ environment }: System): Promise<Places> {
  const places: Places = new Map();
  for (const { topic, key, value, headers } of await readMessages(environment)) {
    add(places, `${topic} key`, [{ text: key }]);
    add(places, `${topic} value`, [{ text: value }]);
    add(places, `${topic} headers`, [{ text: headers }]);
  }
  return places;
}

/** /metrics of every process. */
export async function metricPlaces({ urls }: System): Promise<Places> {
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  return new Map([['/metrics', texts.join('\n')]]);
}

/** The files of PIS_DATA_DIR, but the database's own: those are the tables, their past and their log of changes. */
export function filePlaces({ environment }: System): Places {
  const dataDir = environment['PIS_DATA_DIR'];
  if (dataDir === undefined) return new Map();
  const own = path.join('postgres', 'cluster');
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(dataDir, path.join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith(own));
  return new Map(
    files.map((file) => [`file ${file}`, readFileSync(path.join(dataDir, file), 'latin1')]),
  );
}

/** The log of an event store of its own, as it lies there: without any key. */
export async function logPlaces({ environment }: System): Promise<Places> {
  const places: Places = new Map();
  if (environment['PIS_EVENT_STORE'] !== 'eventstoredb') return places;
  await withStore(environment, '', async (store) => {
    for (let after = beginning; ; ) {
      const page = await store.readLog({ after });
      if (page.position === after) return;
      after = page.position;
      for (const { streamId, data, metadata } of page.events) {
        add(places, 'events.stream_id', [{ text: streamId }]);
        add(places, 'events.data', [{ text: JSON.stringify(data) }]);
        add(places, 'events.metadata', [{ text: JSON.stringify(metadata) }]);
      }
    }
  });
  return places;
}

/** The adapter alone, as a program with access to the store but without a key would use it. */
export async function withStore<Result>(
  environment: Readonly<Record<string, string>>,
  databaseUrl: string,
  work: (store: EventStore) => Promise<Result>,
): Promise<Result> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  const store =
    environment['PIS_EVENT_STORE'] === 'eventstoredb'
      ? await eventStoreDbOf(environment)
      : postgresEventStore({ pool, listenConnectionString: databaseUrl });
  try {
    return await work(store);
  } finally {
    await store.close();
    await pool.end();
  }
}

/** Loaded here and not before: where the stand-in runs, that has loaded both clients in the order that it needs. */
async function eventStoreDbOf(environment: System['environment']): Promise<EventStore> {
  const { eventStoreDbEventStore } = await import('@pis/event-store/eventstoredb');
  return eventStoreDbEventStore({
    connectionString: environment['EVENTSTOREDB_URL'] ?? '',
    namespace: environment['EVENTSTOREDB_NAMESPACE'] ?? '',
  });
}
