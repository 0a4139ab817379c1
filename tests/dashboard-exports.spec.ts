/** The screen of exports in a real browser: asked for, followed, downloaded, canceled, removed. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import pg from 'pg';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { payable } from './support/payable.js';
import type { Look, WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const writtenLimitMs = 90_000;

describeInBrowser('Exports in the dashboard', () => {
  let scenario: DashboardScenario;
  let watched: WatchedPage;
  beforeAll(async () => {
    scenario = await startDashboard({ settings: { PIS_RATE_LIMIT_PER_KEY: '0' } });
    const payment = await payable(scenario.api);
    for (let count = 0; count < 3; count += 1)
      expect((await scenario.api.createPayment(payment, randomUUID())).status).toBe(201);
  }, limitMs);
  afterAll(() => scenario?.close());
  afterEach(() => watched?.close());

  const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const items = (page: Page) => page.getByRole('list', { name: 'Exports' }).getByRole('listitem');

  async function sql(text: string, values: readonly unknown[]): Promise<void> {
    const client = new pg.Client({ connectionString: scenario.system.databaseUrl });
    await client.connect();
    try {
      await client.query(text, [...values]);
    } finally {
      await client.end();
    }
  }

  it(
    'an operator asks for a file, sees it completed without a reload, and downloads it',
    async () => {
      watched = await scenario.signedIn('operator', '/dashboard/exports');
      const { page } = watched;
      await page.getByText('No exports yet').waitFor();
      await watched.expectSound();
      await button(page, 'New export').click();
      await field(page, 'Created from').fill('2026-02-01');
      await field(page, 'Created to').fill('2026-01-01');
      await button(page, 'Start export').click();
      await page.getByText('The end is before the start').waitFor();
      await watched.expectSound();
      await watched.screenshot('exports-form');
      await field(page, 'Created to').fill('');
      // Only movements have the formats of banks.
      await field(page, 'Content').selectOption({ label: 'Movements of money' });
      await field(page, 'Format').selectOption({ label: 'camt.053' });
      await field(page, 'Content').selectOption({ label: 'Payments' });
      expect(await field(page, 'Format').locator('option').allTextContents()).toEqual([
        ...['CSV', 'JSON Lines'],
      ]);
      expect(await field(page, 'Format').inputValue()).toBe('csv');
      await field(page, 'Created from').fill('2026-01-01');
      await button(page, 'Start export').click();
      const item = items(page).filter({ hasText: 'Payments as CSV' });
      await item.getByText('Completed', { exact: true }).waitFor({ timeout: writtenLimitMs });
      await item.getByText(/^3 records, \d+ KB, kept until /).waitFor();
      await item.getByText('Created since 2026-01-01').waitFor();
      const saved = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download Payments as CSV' }).click();
      const download = await saved;
      expect(download.suggestedFilename()).toBe('payments.csv');
      const file = readFileSync(await download.path(), 'utf8');
      expect(file.startsWith('paymentId,status,createdAt,')).toBe(true);
      expect(file.split('\r\n')).toHaveLength(3 + 2);
      const { email } = await scenario.user('operator');
      await item.getByText(`by ${email}.`).waitFor();
      await watched.expectSound();
    },
    limitMs,
  );

  it(
    'shows progress, cancels what is not complete, and says what was removed or failed',
    async () => {
      const { organizationId } = scenario.system;
      /** `columns`: SQL by name. */
      const exported = (kind: string, columns: Readonly<Record<string, string>>) =>
        sql(
          `INSERT INTO exports (id, organization_id, file_id, kind, format, until_at, through_position,
              requested_by, requested_at, ${Object.keys(columns).join(', ')})
            VALUES (gen_random_uuid(), $1, gen_random_uuid(), $2, 'jsonl', now(), '0', 'test', now(),
              ${Object.values(columns).join(', ')})`,
          [organizationId, kind],
        );
      // No process writes it: another one has the lease.
      await exported('deliveries', {
        ...{ status: "'running'", row_count: '1500', expected_rows: '3000', started_at: 'now()' },
        ...{ lease_id: 'gen_random_uuid()', leased_until: "now() + interval '1 hour'" },
      });
      const ended = { finished_at: 'now()' };
      await exported('fees', {
        ...{ ...ended, status: "'expired'", reason: "'the file was kept for its time'" },
      });
      await exported('movements', {
        ...{ ...ended, status: "'failed'", reason: "'the store did not answer'" },
      });
      watched = await scenario.signedIn('operator', '/dashboard/exports');
      const { page } = watched;
      const running = items(page).filter({ hasText: 'Webhook deliveries as JSON Lines' });
      await running.getByText('50 %, 1,500 records so far').waitFor();
      const progress = running.getByRole('progressbar', { name: 'Progress of the export' });
      expect(await progress.getAttribute('value')).toBe('0.5');
      await page.getByText('The file was removed: the file was kept for its time.').waitFor();
      await page.getByText('The export failed: the store did not answer.').waitFor();
      expect(await page.getByRole('link', { name: 'Download Fees as JSON Lines' }).count()).toBe(0);
      await sql(`UPDATE exports SET row_count = 2400 WHERE kind = 'deliveries'`, []);
      await running.getByText('80 %, 2,400 records so far').waitFor();
      for (const look of ['dark', 'phone'] as const satisfies readonly Look[]) {
        const other = await scenario.signedIn('viewer', '/dashboard/exports', look);
        await other.page.getByText('80 %').waitFor();
        for (const name of ['New export', 'Cancel export'])
          expect(await button(other.page, name).count()).toBe(0);
        await other.expectSound();
        await other.screenshot(`exports-${look}`);
        await other.close();
      }
      await watched.expectSound();
      await watched.screenshot('exports');
      await running.getByRole('button', { name: 'Cancel export' }).click();
      await running.getByText('Canceled', { exact: true }).waitFor();
      expect(await button(page, 'Cancel export').count()).toBe(0);
      watched.expectQuiet();
    },
    limitMs,
  );
});
