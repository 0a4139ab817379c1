import pg from 'pg';

/**
 * Lets the first partition of an empty log end after `events`. Give the store the same number as `partitionEvents`: it then
 * makes each further partition when an append needs it.
 */
export async function withSmallPartitions(databaseUrl: string, events: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ partition: string }>(
      'SELECT partition FROM event_partitions WHERE from_position IS NOT NULL',
    );
    for (const { partition } of rows) await client.query(`DROP TABLE ${partition}`);
    await client.query('ALTER TABLE events DETACH PARTITION events_1');
    await client.query(
      `ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM (MINVALUE) TO (${events + 1})`,
    );
  } finally {
    await client.end();
  }
}
