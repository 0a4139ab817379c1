/**
 * The machine's own limit, as pgbench measures it: single-row inserts, each its own durable commit,
 * from N clients with prepared statements. Controlled over IPC.
 */
import pg from 'pg';

process.once('message', (task) => {
  load(task).then(
    (result) => process.send(result, () => process.disconnect()),
    (error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(1);
    },
  );
});

async function load({ databaseUrl, clients, seconds, warmupSeconds, payload }) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: clients });
  await pool.query(
    'CREATE TABLE IF NOT EXISTS bench_inserts (id bigserial PRIMARY KEY, body json)',
  );
  const startedAt = performance.now() + warmupSeconds * 1000;
  const endsAt = startedAt + seconds * 1000;
  let inserted = 0;
  const one = async () => {
    const client = await pool.connect();
    while (performance.now() < endsAt) {
      await client.query({
        name: 'bench_insert',
        text: 'INSERT INTO bench_inserts (body) VALUES ($1)',
        values: [payload],
      });
      const now = performance.now();
      if (now >= startedAt && now <= endsAt) inserted += 1;
    }
    client.release();
  };
  await Promise.all(Array.from({ length: clients }, one));
  await pool.query('DROP TABLE bench_inserts');
  await pool.end();
  return { perSecond: inserted / seconds };
}
