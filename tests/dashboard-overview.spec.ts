/** The overview, the list of payments and live updates in a real browser. */
import { until } from '@pis/local-servers/testing';
import pg from 'pg';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, type DashboardUser, startDashboard } from './support/dashboard.js';
import { heldPayment } from './support/held-payment.js';
import { pisJson } from './support/process.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 480_000;
const firstLoadBytesMax = 250_000;
const idleWindowMs = 10_000;
/** As of an idle system without a dashboard (idle.spec.ts). */
const transactionsPerSecondMax = 8;

/** Charts by the beginning of their names, and their bars. The scenario has payments by ACH and RTP, all returned as R01. */
const barsOf = {
  'Success rate by rail. ACH: ': 2,
  // Two rails with four outcomes each.
  'Outcomes by rail. ACH: ': 8,
  'Time to completion by rail. ACH: median ': 2,
  'Returns by reason. R01 Insufficient funds: ': 1,
} as const;

describeInBrowser('Payments in the dashboard', () => {
  let scenario: DashboardScenario;
  beforeAll(async () => {
    scenario = await startDashboard({ settings: { PIS_RATE_LIMIT_PER_KEY: '0' } });
    await fillPeriod();
  }, limitMs);
  afterAll(() => scenario?.close());

  it(
    'shows a payment that becomes COMPLETED on an open list and on its open page, without a reload',
    async () => {
      const paymentId = await heldPayment(scenario.api, 'Waits');
      const list = await scenario.signedIn('viewer', '/dashboard/payments');
      const page = await scenario.signedIn('operator', `/dashboard/payments/${paymentId}`);
      const row = list.page.getByRole('row').filter({ hasText: 'Patience Waits' });
      await row.getByText('Processing').waitFor();
      await page.page.getByText('Processing', { exact: true }).first().waitFor();
      // Gone when a page is loaded again.
      for (const { page: open } of [list, page]) await open.evaluate('globalThis.stays = true');

      await scenario.api.data(200, 'POST', `/v1/sandbox/payments/${paymentId}/simulate`, {
        outcome: 'complete',
      });
      await row.getByText('Completed').waitFor();
      await page.page.getByText('Completed', { exact: true }).first().waitFor();
      for (const open of [list, page]) {
        expect(await open.value('globalThis.stays')).toBe(true);
        open.expectQuiet();
        await open.close();
      }
    },
    limitMs,
  );

  async function sql(text: string, values: readonly unknown[]): Promise<void> {
    const client = new pg.Client({ connectionString: scenario.system.databaseUrl });
    await client.connect();
    await client.query(text, [...values]);
    await client.end();
  }

  /** Payments of the last days, for the charts. */
  async function fillPeriod(): Promise<void> {
    const { organizationId } = scenario.system;
    await sql(
      `INSERT INTO payment_days (organization_id, status, day, direction, payment_rail,
            return_reason_code, payments, amount_minor)
          SELECT $1, status, (now() AT TIME ZONE 'UTC')::date - n, direction, rail,
            CASE WHEN status = 'RETURNED' THEN 'R01' ELSE '' END,
            1 + n % 5, 100000 * (1 + (n * 7 + length(direction)) % 9)
          FROM generate_series(1, 60) AS n, unnest(ARRAY['INBOUND', 'OUTBOUND']) AS direction,
            unnest(ARRAY['ACH', 'RTP']) AS rail,
            unnest(ARRAY['COMPLETED', 'COMPLETED_LATE', 'FAILED', 'RETURNED', 'FAILED_IN_FLIGHT']) AS status
          WHERE status = 'COMPLETED' OR (status <> 'COMPLETED_LATE' AND n % 11 = length(status) % 11)`,
      [organizationId],
    );
    await sql(
      `INSERT INTO payment_durations (organization_id, day, payment_rail, bucket, payments)
          SELECT $1, (now() AT TIME ZONE 'UTC')::date - n, rail, 150 + n * 2, 3
          FROM generate_series(1, 25) AS n, unnest(ARRAY['ACH', 'RTP']) AS rail`,
      [organizationId],
    );
  }

  /** The overview with all its charts. */
  async function drawn({ page }: WatchedPage): Promise<void> {
    for (const name of Object.keys(barsOf))
      await page.getByRole('img', { name }).locator('.recharts-bar-rectangle').first().waitFor();
  }

  it(
    'leads to the overview, which shows the figures of a period as charts and tables',
    async () => {
      const open = await scenario.signedIn('viewer');
      const { page } = open;
      await page.waitForURL('**/dashboard/overview');
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(await page.getByRole('link', { name: 'Overview', exact: true }).count()).toBe(1);
      await page.getByRole('table', { name: 'Volume by day' }).waitFor();
      expect(
        await page.getByRole('table', { name: 'Volume by day' }).getByRole('row').count(),
      ).toBe(31);
      await page.getByRole('row', { name: /^ACH/ }).waitFor();
      await page.getByText('R01 · Insufficient funds').waitFor();
      await page.locator('.recharts-bar-rectangle').first().waitFor();
      for (const [name, bars] of Object.entries(barsOf)) {
        const chart = page.getByRole('img', { name });
        await chart.waitFor();
        const drawn = chart.locator('.recharts-bar-rectangle');
        await until(async () => (await drawn.count()) === bars, { timeoutMs: limitMs, what: name });
      }
      await open.expectSound();
      await open.screenshot('overview');
      await page.getByText('90 days').click();
      await page.waitForURL('**/dashboard/overview?days=90');
      await page.getByRole('row', { name: /^RTP/ }).waitFor();
      await page.reload();
      expect(await page.getByRole('radio', { name: '90 days' }).isChecked()).toBe(true);
      await page.getByRole('link', { name: /^In doubt/ }).click();
      await page.waitForURL('**/dashboard/payments?status=FAILED_IN_FLIGHT');
      await open.close();
      for (const look of ['dark', 'phone', 'darkPhone'] as const) {
        const other = await scenario.signedIn('viewer', '/dashboard/overview', look);
        await drawn(other);
        await other.expectSound();
        await other.screenshot(`overview-${look}`);
        await other.close();
      }
    },
    limitMs,
  );

  it(
    'loads less than 250 KB at first, without payments and with all charts',
    async () => {
      const { organizationId } = await pisJson<{ organizationId: string }>(
        ['organization', 'create', '--name', 'Without payments'],
        scenario.system.environment,
      );
      const without = await scenario.newUser('viewer', organizationId);
      /** Signed in, with nothing cached. */
      const bytesUntil = async (
        who: 'viewer' | DashboardUser,
        shown: (watched: WatchedPage) => Promise<void>,
      ) => {
        const watched = await scenario.session(who);
        const loaded = await watched.loaded();
        await watched.page.goto(`${scenario.origin}/dashboard/`);
        await shown(watched);
        await until(() => loaded.isComplete, { timeoutMs: limitMs, what: 'the last request' });
        watched.expectQuiet();
        await watched.close();
        return loaded.bytes;
      };
      const empty = await bytesUntil(without, ({ page }) =>
        page.getByText('No payments in this period').waitFor(),
      );
      expect(empty).toBeLessThan(firstLoadBytesMax);
      expect(await bytesUntil('viewer', drawn)).toBeLessThan(firstLoadBytesMax);
    },
    limitMs,
  );

  it(
    'makes no work while nothing happens',
    async () => {
      const open = await scenario.signedIn('viewer', '/dashboard/payments');
      await open.page.getByRole('row').nth(1).waitFor();
      const asked: string[] = [];
      open.page.on('request', (request) => asked.push(request.url()));
      const elsewhere = new URL(scenario.system.databaseUrl);
      const name = elsewhere.pathname.slice(1);
      // From another database of the server, so that this query is not counted.
      elsewhere.pathname = '/postgres';
      const statistics = new pg.Client({ connectionString: elsewhere.href });
      await statistics.connect();
      try {
        const transactions = async () => {
          const { rows } = await statistics.query<{ count: number; at: number }>(
            `SELECT (xact_commit + xact_rollback)::float8 AS count,
                  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at
                FROM pg_stat_database WHERE datname = $1`,
            [name],
          );
          const [row] = rows;
          if (row === undefined) throw new Error('PostgreSQL does not know the database');
          return row;
        };
        // The work of the payments before must have ended: the first quiet window counts.
        await until(
          async () => {
            const before = await transactions();
            asked.length = 0;
            const after = await until(
              async () => {
                const now = await transactions();
                return now.at - before.at >= idleWindowMs && now;
              },
              { timeoutMs: 6 * idleWindowMs, everyMs: 250 },
            );
            const perSecond = ((after.count - before.count) / (after.at - before.at)) * 1_000;
            return perSecond < transactionsPerSecondMax && asked.length === 0;
          },
          { timeoutMs: limitMs / 2 },
        );
      } finally {
        await statistics.end();
      }
      await open.close();
    },
    limitMs,
  );
});
