import { MetricsRegistry } from '@pis/service-kit';
import { countSql, pendingGauges } from './pending-metrics.js';
import { openWorld, type World } from './testing/world.js';

describe('the gauges of payments under way', () => {
  let world: World;
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(() => world.close());

  async function shown(): Promise<string[]> {
    const registry = new MetricsRegistry();
    pendingGauges(registry, world.pool);
    const lines = (await registry.metrics()).split('\n');
    return lines.filter((line) => line.startsWith('pis_'));
  }

  it('are zero when every payment is at its end', async () => {
    expect(await shown()).toEqual([
      'pis_rail_payments{stage="queued"} 0',
      'pis_rail_payments{stage="claimed"} 0',
      'pis_rail_payments{stage="submitted"} 0',
      'pis_rail_payments{stage="in_flight"} 0',
      'pis_rail_payment_late_seconds{due="again"} 0',
    ]);
  });

  it('count payments by stage and show how late they are', async () => {
    for (const ending of ['0501', '0401', '0401']) {
      const { value, delivery } = await world.queue(ending);
      await world.executor().handle(value, delivery);
    }
    await world.executor().deadlineRound();
    await world.pool.query(`UPDATE rail_pending SET deadline_at = now() - interval '1 hour'
                             WHERE stage = 'queued'`);
    const lines = await shown();
    expect(lines).toContain('pis_rail_payments{stage="queued"} 1');
    expect(lines).toContain('pis_rail_payments{stage="in_flight"} 2');
    const late = Number(/ ([\d.]+)$/.exec(lines.at(-1) ?? '')?.[1]);
    expect(Math.abs(late - 3_600)).toBeLessThan(60);
  });

  it('are counted in one pass', async () => {
    const { rows } = await world.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${countSql}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan.match(/Scan .*\brail_pending/g)).toHaveLength(1);
  });
});
