/**
 * The clients of event stores as their makers ship them, without our adapters: what a machine can do
 * before the system does anything. PostgreSQL has no client of its own; here it is `pg` and one insert
 * for each append, in a transaction of its own.
 *
 * Each has the same calls. `append` adds one event to a new stream and answers its position, as text.
 * `appendStream` writes a short stream, `readStream` reads one and answers how many events it has.
 * `readLog` reads all events from a position on (inclusive; null: from the beginning) and counts them.
 */
import { randomUUID } from 'node:crypto';
import { parseEventStoreDbUrl } from '@pis/event-store';
import pg from 'pg';

/** About as large as the event of a new payment. */
const data = { paymentNote: 'Invoice 42', paymentAmount: 12_345, filler: 'x'.repeat(1_000) };
const metadata = { actor: 'user:bench', correlationId: 'bench', requestId: null };
const logPageRows = 1_000;

const openers = { postgres: openPostgres, eventstore: openEventStoreDb, kurrent: openKurrent };

/** @param client postgres, eventstore or kurrent */
export function openClient(client, url, callers) {
  return openers[client](url, callers);
}

async function openPostgres(connectionString, callers) {
  const pool = new pg.Pool({ connectionString, max: callers });
  await pool.query(`CREATE TABLE IF NOT EXISTS bench_events (position bigserial PRIMARY KEY,
    stream_id text NOT NULL, revision int NOT NULL, data json NOT NULL, metadata json NOT NULL,
    UNIQUE (stream_id, revision))`);
  const insert = (streamId, revision) =>
    pool.query({
      name: 'bench_insert_event',
      text: `INSERT INTO bench_events (stream_id, revision, data, metadata) VALUES ($1, $2, $3, $4)`,
      values: [streamId, revision, JSON.stringify(data), JSON.stringify(metadata)],
    });
  return {
    append: async () => {
      await insert(streamName(), 0);
      // The log of the system is another table, so its beginning is where a reading starts.
      return null;
    },
    appendStream: async (events) => {
      const streamId = streamName();
      for (let revision = 0; revision < events; revision += 1) await insert(streamId, revision);
      return streamId;
    },
    readStream: async (streamId) => {
      const { rows } = await pool.query({
        name: 'bench_read_stream',
        text: 'SELECT * FROM bench_events WHERE stream_id = $1 ORDER BY revision',
        values: [streamId],
      });
      return rows.length;
    },
    readLog: () => countRows(pool),
    close: () => pool.end(),
  };
}

async function countRows(pool) {
  let events = 0;
  for (let after = '0'; ; ) {
    const { rows } = await pool.query({
      name: 'bench_read_log',
      text: 'SELECT * FROM events WHERE position > $1 ORDER BY position LIMIT $2',
      values: [after, logPageRows],
    });
    events += rows.length;
    if (rows.length < logPageRows) return events;
    after = rows.at(-1).position;
  }
}

async function openEventStoreDb(url) {
  const { EventStoreDBClient, jsonEvent } = await import('@eventstore/db-client');
  const { connectionString, options } = addressOf(url);
  const client = EventStoreDBClient.connectionString(connectionString);
  return overGrpc(client, jsonEvent, { ...options, expectedRevision: 'no_stream' }, options);
}

async function openKurrent(url) {
  const { KurrentDBClient, jsonEvent } = await import('@kurrent/kurrentdb-client');
  const { connectionString, options } = addressOf(url);
  // It warns about the old name of the protocol.
  const client = KurrentDBClient.connectionString(connectionString.replace(/^esdb/, 'kurrentdb'));
  return overGrpc(client, jsonEvent, { ...options, streamState: 'no_stream' }, options);
}

function overGrpc(client, jsonEvent, appendOptions, readOptions) {
  const newEvent = () => jsonEvent({ id: randomUUID(), type: 'BenchEvent', data, metadata });
  const write = async (streamId, events) => {
    const added = Array.from({ length: events }, newEvent);
    const { position } = await client.appendToStream(streamId, added, appendOptions);
    return position === undefined ? null : `${position.commit}/${position.prepare}`;
  };
  return {
    append: () => write(streamName(), 1),
    appendStream: async (events) => {
      const streamId = streamName();
      await write(streamId, events);
      return streamId;
    },
    readStream: (streamId) => count(client.readStream(streamId, readOptions)),
    readLog: (from) =>
      count(
        client.readAll({ ...readOptions, fromPosition: from === null ? 'start' : place(from) }),
      ),
    close: () => client.dispose(),
  };
}

/** Credentials go with each call: the clients decode them differently in a connection string. */
function addressOf(url) {
  const { credentials, tls } = parseEventStoreDbUrl(url);
  const secret = credentials !== null && tls ? { credentials } : {};
  return {
    connectionString: url.replace(/\/\/[^/]*@/, '//'),
    options: { ...secret, requiresLeader: true },
  };
}

function place(text) {
  const [commit, prepare] = text.split('/');
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
}

async function count(events) {
  let found = 0;
  for await (const _event of events) found += 1;
  return found;
}

function streamName() {
  return `bench-${randomUUID()}`;
}
