/**
 * What an audit reads to compare the hashes of webhook bodies with the bodies that are still stored, and with the index
 * of events.
 *
 * What always holds: memory does not grow with the tables. Bodies are read in pages, and each page looks up its hashes by
 * their key. Only the hashes without an event need a join of two whole tables. That join has only their keys, and
 * PostgreSQL does it on disk: the session must have no `statement_timeout`.
 */
import type pg from 'pg';
import { bodyShape } from './body-hashes.js';

/** A row that stores a body, or did, with the hash of its event. */
export interface StoredBody {
  readonly table: 'webhook_fan_outs' | 'webhook_deliveries' | 'webhook_finished_deliveries';
  /** Of the event in `webhook_fan_outs`, otherwise of the delivery. */
  readonly id: string;
  /** Null in `webhook_fan_outs` when the deliveries store it. */
  readonly body: string | null;
  /** Hex; null when none was written, or one of another shape. */
  readonly hash: string | null;
  /** The event was fanned out by a release that writes hashes, and has none of any shape. */
  readonly lacksHash: boolean;
}

/** A release without hashes may run beside one with them for so long after the migration. */
const upgradeHours = 24;

const migration = '20261205000000_webhook_body_hashes';

const storedRows = `
  SELECT 'webhook_fan_outs' AS table, event_id AS id, event_id, occurred_at, body,
      created_at AS fanned_out_at
    FROM webhook_fan_outs
  UNION ALL SELECT 'webhook_deliveries', id, event_id, occurred_at, body, NULL
    FROM webhook_deliveries WHERE body IS NOT NULL
  UNION ALL SELECT 'webhook_finished_deliveries', id, event_id, occurred_at, body, NULL
    FROM webhook_finished_deliveries WHERE body IS NOT NULL`;

type StoredRow = Pick<StoredBody, 'table' | 'id' | 'body'> & {
  readonly eventId: string;
  /** As text, so that it comes back as it was. */
  readonly occurredAt: string;
  readonly needsHash: boolean;
};

interface HashRow {
  readonly hash: string | null;
  readonly shape: number | null;
}

/** All fan-outs, and the deliveries that store a body, in pages, as of one snapshot. */
export async function* storedBodyPages(
  client: pg.ClientBase,
  max: number,
): AsyncGenerator<readonly StoredBody[], void, undefined> {
  // Without a record of the migration, every fan-out needs a hash.
  const rows = `SELECT r.table, r.id, r.body, r.event_id AS "eventId", r.occurred_at::text AS "occurredAt",
      r.fanned_out_at IS NOT NULL AND r.fanned_out_at > coalesce((
        SELECT max(finished_at) FROM _prisma_migrations
          WHERE migration_name = '${migration}' AND rolled_back_at IS NULL),
        '-infinity') + interval '${upgradeHours} hours' AS "needsHash"
    FROM (${storedRows}) r`;
  for await (const page of pagesOf<StoredRow>(client, rows, max)) {
    const hashes = await hashesOf(client, page);
    yield page.map(({ table, id, body, needsHash }, index) => {
      const { hash = null, shape = null } = hashes[index] ?? {};
      return {
        ...{ table, id, body, hash: shape === bodyShape ? hash : null },
        lacksHash: needsHash && shape === null,
      };
    });
  }
}

/** In the order of the rows. */
async function hashesOf(
  client: pg.ClientBase,
  rows: readonly StoredRow[],
): Promise<readonly HashRow[]> {
  const found = await client.query<HashRow>(
    `SELECT encode(h.hash, 'hex') AS hash, h.shape
      FROM unnest($1::timestamptz[], $2::uuid[]) WITH ORDINALITY AS k (occurred_at, event_id, n)
        LEFT JOIN LATERAL (SELECT hash, shape FROM webhook_body_hashes
          WHERE occurred_at = k.occurred_at AND event_id = k.event_id LIMIT 1) h ON true
      ORDER BY k.n`,
    [rows.map(({ occurredAt }) => occurredAt), rows.map(({ eventId }) => eventId)],
  );
  return found.rows;
}

export interface UnknownHashesOptions {
  /** Whether the index has the whole log. If not, the events that it lacks are behind its last one. */
  readonly isIndexWhole: boolean;
  readonly max: number;
}

/**
 * IDs of the events whose bodies were hashed although the index has no such event, in pages. Leaves out the last day,
 * because the log grows meanwhile: the last day of the index, if that is not whole.
 */
export async function* hashesWithoutEvent(
  client: pg.ClientBase,
  { isIndexWhole, max }: UnknownHashesOptions,
): AsyncGenerator<readonly string[], void, undefined> {
  const end = isIndexWhole ? 'now()' : '(SELECT max(occurred_at) FROM integration_events)';
  // A hash of a later time than now is of no event of the log either. The clocks of the processes may differ.
  const ids = `SELECT h.event_id AS id FROM webhook_body_hashes h
    WHERE (h.occurred_at < ${end} - interval '24 hours' OR h.occurred_at > now() + interval '24 hours')
      AND NOT EXISTS (SELECT FROM integration_events e
        WHERE e.event_id = h.event_id AND e.occurred_at = h.occurred_at)`;
  for await (const page of pagesOf<{ readonly id: string }>(client, ids, max))
    yield page.map(({ id }) => id);
}

/** The rows of a query, as of one snapshot. Whole tables are never joined row by row, whatever their statistics say. */
async function* pagesOf<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: string,
  max: number,
): AsyncGenerator<readonly Row[], void, undefined> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    await client.query('SET LOCAL enable_nestloop = off');
    await client.query(`DECLARE rows_of_audit NO SCROLL CURSOR FOR ${query}`);
    await client.query('SET LOCAL enable_nestloop = DEFAULT');
    for (;;) {
      const { rows } = await client.query<Row>(`FETCH ${max} FROM rows_of_audit`);
      if (rows.length === 0) return;
      yield rows;
    }
  } finally {
    // Fails only with the connection, and then the server rolls back.
    await client.query('ROLLBACK').catch(() => undefined);
  }
}
