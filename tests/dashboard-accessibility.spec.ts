/** Every screen of the dashboard, in light and in dark colors: accessible, quiet, and no wider than the screen. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { until } from '@pis/local-servers/testing';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import type { Look } from './support/watched-page.js';

const limitMs = 480_000;
const demoLimitMs = 120_000;
const router = path.join(import.meta.dirname, '../apps/dashboard-web/src/router.tsx');
/** The screens without an ID in their addresses. A new one is checked without a change here. */
const screens = [...readFileSync(router, 'utf8').matchAll(/\bpath: '(\/[^'$]*)'/g)].map(
  ([, screen = '']) => screen,
);
/** Payments whose pages say the most. */
const statuses = ['AWAITING_CONFIRMATION', 'FAILED', 'FAILED_IN_FLIGHT'];

describeInBrowser('Every screen of the dashboard', () => {
  let scenario: DashboardScenario;
  let paths: readonly string[];

  beforeAll(async () => {
    scenario = await startDashboard({
      settings: { PIS_RATE_LIMIT_PER_KEY: '0', PIS_DEMO_PAYMENTS: 'true' },
    });
    const client = await scenario.client('admin');
    const payments = await until(
      async () => {
        const found = await Promise.all(
          statuses.map((status) =>
            client.data<{ paymentId: string }[]>('GET', `/payments?status=${status}&limit=1`),
          ),
        );
        const ids = found.flatMap(([first]) => first?.paymentId ?? []);
        return ids.length === statuses.length ? ids : null;
      },
      { timeoutMs: demoLimitMs, what: 'demo payments of these statuses' },
    );
    paths = [...screens, ...payments.map((id) => `/payments/${id}`)];
    expect(screens).toEqual(expect.arrayContaining(['/sign-in', '/payments', '/webhooks']));
  }, limitMs);
  afterAll(() => scenario?.close());

  it.each(['phone', 'dark'] as const)(
    'is sound (%s)',
    async (look: Look) => {
      const watched = await scenario.signedIn('admin', '/dashboard/', look);
      const { page } = watched;
      const unsound: string[] = [];
      for (const screen of paths) {
        await page.goto(`${scenario.origin}/dashboard${screen}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('main:not(:has([aria-busy="true"]))').waitFor();
        // All of them are looked at before the first is reported.
        await watched.expectSound().catch((error: unknown) => {
          unsound.push(`${screen}: ${String(error)}`);
        });
      }
      expect(unsound).toEqual([]);
      await watched.close();
    },
    limitMs,
  );
});
