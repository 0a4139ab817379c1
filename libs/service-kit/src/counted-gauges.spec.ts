import { Registry } from 'prom-client';
import type pg from 'pg';
import { readForScrape } from './counted-gauges.js';
import { quarantineGauge } from './quarantine-metrics.js';
import { createLogger } from './logging.js';

it('a scrape ends even if the database hangs, and queries it once', async () => {
  let asked = 0;
  const hanging = () => {
    asked += 1;
    return new Promise<never>(() => undefined);
  };
  const read = readForScrape(hanging, 0, 1);
  expect(await Promise.all([read(), read()])).toEqual([null, null]);
  expect(await read()).toBeNull();
  expect(asked).toBe(1);
});

it('a reading is reused for a while, and repeated after a failure', async () => {
  const answers = [Promise.reject(new Error('away')), Promise.resolve(1), Promise.resolve(2)];
  const read = readForScrape(() => answers.shift() ?? Promise.reject(new Error('asked again')), 0);
  expect(await read()).toBeNull();
  expect(await read()).toBe(1);
  const kept = readForScrape(() => answers.shift() ?? Promise.resolve(3), 60_000);
  expect([await kept(), await kept()]).toEqual([2, 2]);
});

it('the other metrics of a process are available while its database hangs', async () => {
  const registry = new Registry();
  const pool = { query: () => new Promise(() => undefined) } as unknown as pg.Pool;
  quarantineGauge(registry, pool, createLogger('test', 'silent'));
  expect(await registry.metrics()).toContain('pis_quarantined_streams');
});
