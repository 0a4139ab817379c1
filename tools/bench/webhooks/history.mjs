/** A month of deliveries that have finished, as they lie in a database that has been in use for long. */
import pg from 'pg';

/** Within the retention, so that the dispatcher leaves them where they are. */
const days = 28;
const sessions = 2;

/** One delivered row and one attempt each; today's partitions get their share. */
export async function fillHistory(databaseUrl, rows) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: sessions });
  const today = Math.floor(Date.now() / dayMs);
  const perDay = Math.ceil(rows / days);
  const queue = Array.from({ length: days }, (_, n) => today - n);
  const fill = async () => {
    for (let day = queue.pop(); day !== undefined; day = queue.pop())
      await fillDay(pool, day, perDay);
  };
  await Promise.all(Array.from({ length: sessions }, fill));
  // Done by the server itself, long ago, where the rows came one by one.
  for (const [table] of tables) await pool.query(`VACUUM (ANALYZE) ${table}`);
  await pool.query('CHECKPOINT');
  await pool.end();
}

const dayMs = 24 * 3_600_000;
const tables = [
  [
    'webhook_finished_deliveries',
    (table) => `INSERT INTO ${table} (id, organization_id, endpoint_id, event_id, event_type,
        payment_id, occurred_at, attempts, created_at, window_ends_at, last_status, state, finished_at)
      SELECT md5('d' || $1::text || n)::uuid, e.organization_id, e.endpoint_id, gen_random_uuid(),
          'payment.queued', gen_random_uuid(), t.at, 1, t.at, t.at + interval '72 hours', 200,
          'delivered', t.at
        FROM generate_series(0, $3::int - 1) n
        CROSS JOIN LATERAL (SELECT $2::timestamptz + n * interval '23 hours' / $3 AS at) t
        CROSS JOIN LATERAL (SELECT md5('o' || n % 4)::uuid AS organization_id,
            md5('e' || n % 20)::uuid AS endpoint_id) e`,
  ],
  [
    'webhook_attempts',
    (
      table,
    ) => `INSERT INTO ${table} (delivery_id, attempt, id, at, status, duration_ms, response_excerpt)
      SELECT md5('d' || $1::text || n)::uuid, 1, gen_random_uuid(),
          $2::timestamptz + n * interval '23 hours' / $3, 200, 12, ''
        FROM generate_series(0, $3::int - 1) n`,
  ],
];

/** Filled first, indexed and attached then: several times as fast as row by row into the indexes. */
async function fillDay(pool, day, rows) {
  const from = new Date(day * dayMs).toISOString();
  const to = new Date((day + 1) * dayMs).toISOString();
  const client = await pool.connect();
  try {
    await client.query('SET synchronous_commit = off');
    for (const [table, insert] of tables) {
      const name = `${table}_${from.slice(0, 10).replaceAll('-', '')}`;
      const { rows: existing } = await client.query('SELECT to_regclass($1) AS found', [name]);
      if (existing[0].found === null) {
        await client.query(
          `CREATE TABLE ${name} (LIKE ${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`,
        );
        await client.query(insert(name), [day, from, rows]);
        await client.query(
          `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`,
        );
      } else await client.query(insert(name), [day, from, rows]);
    }
  } finally {
    client.release();
  }
}
