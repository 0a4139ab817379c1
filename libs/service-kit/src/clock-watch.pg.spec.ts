/** An operator sees that the clock of a machine is wrong: in the log, once, and as a metric. */
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { Registry } from 'prom-client';
import { ClockWatch } from './clock-watch.js';
import { createLogger } from './logging.js';

const monthSeconds = 30 * 86_400;
/** For the answers of a busy machine. */
const toleranceSeconds = 30;

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

function watch(aheadSeconds: () => number, ofPool = pool) {
  const lines: string[] = [];
  const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
  const metrics = new Registry();
  const clock = () => Date.now() + aheadSeconds() * 1_000;
  const made = new ClockWatch({ pool: ofPool, logger, metrics, clock });
  const shown = async () =>
    Number(/^pis_clock_difference_seconds (\S+)$/m.exec(await metrics.metrics())?.[1]);
  return { made, lines, shown };
}

it('a clock that is a month ahead is logged once, and so is that it is right again', async () => {
  let aheadSeconds = monthSeconds;
  const { made, lines } = watch(() => aheadSeconds);
  for (let count = 0; count < 3; count += 1) await made.compare();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /"level":"warn".*is \d+ s ahead of that of PostgreSQL: see PisClockDiffers/,
  );
  aheadSeconds = 0;
  for (let count = 0; count < 3; count += 1) await made.compare();
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/"level":"info".*PostgreSQL agree/);
});

it('a clock that is behind is logged as such', async () => {
  const { made, lines } = watch(() => -monthSeconds);
  await made.compare();
  expect(lines[0]).toMatch(/is \d+ s behind that of PostgreSQL/);
});

it('a scrape shows the difference with its sign, also if nobody asks for the health', async () => {
  for (const seconds of [monthSeconds, -monthSeconds, 0]) {
    const { shown } = watch(() => seconds);
    expect(Math.abs((await shown()) - seconds)).toBeLessThan(toleranceSeconds);
  }
});

it('scrapes after a health check make no further statement', async () => {
  let statements = 0;
  const counting = {
    query: (config: pg.QueryConfig) => {
      statements += 1;
      return pool.query(config);
    },
  } as unknown as pg.Pool;
  const { made, shown } = watch(() => monthSeconds, counting);
  await made.compare();
  await shown();
  await shown();
  expect(statements).toBe(1);
});

it('the difference is unknown until PostgreSQL has answered once', async () => {
  const away = { query: () => Promise.reject(new Error('away')) } as unknown as pg.Pool;
  const { made, lines, shown } = watch(() => monthSeconds, away);
  expect(await shown()).toBeNaN();
  await expect(made.compare()).rejects.toThrow('away');
  expect(lines).toEqual([]);
});
