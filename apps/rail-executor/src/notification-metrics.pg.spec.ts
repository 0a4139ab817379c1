import { railReferenceOf } from '@pis/bank-rails';
import { openTestPool } from '@pis/local-servers/testing';
import { MetricsRegistry } from '@pis/service-kit';
import { randomUUID } from 'node:crypto';
import { notificationGauges } from './notification-metrics.js';
import { openWorld, type World } from './testing/world.js';

describe('the gauges of the bank’s notifications', () => {
  let world: World;
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(() => world.close());

  async function shown(pool = world.pool): Promise<string[]> {
    const registry = new MetricsRegistry();
    notificationGauges(registry, pool);
    const lines = (await registry.metrics()).split('\n');
    return lines.filter((line) => line.startsWith('pis_'));
  }

  it('are zero while everything is recorded', async () => {
    expect(await shown()).toEqual([
      'pis_rail_notifications{state="new"} 0',
      'pis_rail_notifications{state="unmatched"} 0',
      'pis_rail_notification_oldest_seconds{state="new"} 0',
      'pis_rail_notification_oldest_seconds{state="unmatched"} 0',
    ]);
  });

  it('show how many fit no payment and since when, for three days', async () => {
    for (const reference of [randomUUID(), randomUUID()].map(railReferenceOf))
      await world.report(reference, 'confirmed');
    await world.executor().feedRound();
    await world.pool.query("UPDATE rail_notifications SET received_at = now() - interval '1 hour'");
    const lines = await shown();
    expect(lines).toContain('pis_rail_notifications{state="unmatched"} 2');
    const oldest = /unmatched"} ([\d.]+)$/.exec(lines.at(-1) ?? '')?.[1];
    expect(Math.abs(Number(oldest) - 3_600)).toBeLessThan(60);

    await world.pool.query("UPDATE rail_notifications SET received_at = now() - interval '4 days'");
    const later = await shown();
    expect(later).toContain('pis_rail_notifications{state="unmatched"} 2');
    expect(later).toContain('pis_rail_notification_oldest_seconds{state="unmatched"} 0');
  });

  it('are NaN while the database is unavailable', async () => {
    const pool = openTestPool(world.database.url, 1);
    await pool.end();
    const lines = await shown(pool);
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toMatch(/ Nan$/);
  });
});
