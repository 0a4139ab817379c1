import { randomUUID } from 'node:crypto';
import { createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { noteErasure } from '@pis/read-models';
import { MetricsRegistry } from '@pis/service-kit';
import { erasureGauge } from './erasure-metrics.js';

it('erasures that began more than 15 minutes ago and have not ended are counted by phase', async () => {
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 2);
  try {
    const note = async (phase: 'requested' | 'confirmed' | 'withdrawn', minutesAgo: number) => {
      const at = new Date(Date.now() - minutesAgo * 60_000).toISOString();
      await noteErasure(pool, { kind: 'contact', id: randomUUID(), phase, at, position: '1' });
    };
    await note('requested', 20);
    await note('requested', 10);
    await note('confirmed', 30);
    await note('withdrawn', 40);
    const registry = new MetricsRegistry();
    erasureGauge(registry, pool);
    const lines = (await registry.metrics()).split('\n').filter((line) => /^pis_/.test(line));
    expect(lines).toEqual([
      'pis_unfinished_erasures{phase="requested"} 1',
      'pis_unfinished_erasures{phase="confirmed"} 1',
      'pis_unfinished_erasures{phase="rewriting"} 0',
    ]);
  } finally {
    await pool.end();
    await database.drop();
  }
});
