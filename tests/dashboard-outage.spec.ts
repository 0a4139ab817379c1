/** A server that does not answer for a while, and what a user has in the browser meanwhile. */
import { until } from '@pis/local-servers/testing';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';

const limitMs = 240_000;
const shown = { timeoutMs: 30_000 };
const calls = '**/dashboard/api/**';

/** As when another tab was shown: live updates end, and begin again. */
async function look(page: Page): Promise<void> {
  const show = (state: 'hidden' | 'visible') =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${String(state === 'hidden')}, configurable: true });
      Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`);
  await show('hidden');
  await show('visible');
}

describeInBrowser('The dashboard while the server does not answer', () => {
  let scenario: DashboardScenario;
  beforeAll(async () => {
    scenario = await startDashboard({ settings: { PIS_DEMO_PAYMENTS: 'false' } });
  }, limitMs);
  afterAll(() => scenario?.close());

  it(
    'keeps the form of a payment, so that sending it again after an outage pays once',
    async () => {
      const { page } = await scenario.signedIn('operator', '/dashboard/payments/new');
      await page.getByLabel('Direction', { exact: true }).selectOption({ label: 'Request' });
      await page.getByLabel('Recipient', { exact: true }).selectOption({ label: 'New recipient' });
      await page.getByLabel('Recipient type').selectOption({ label: 'Business' });
      await page.getByLabel('Company name').fill('Analytical Engines Ltd');
      await page.getByLabel('Amount').fill('250.00');

      // The server creates the payment. Its answer is lost, and so are all others.
      let hasCreated = false;
      let unanswered = 0;
      await page.route(calls, async (route) => {
        if (route.request().method() === 'POST') {
          await route.fetch();
          hasCreated = true;
        } else if (route.request().url().endsWith('/session')) unanswered += 1;
        await route.fulfill({ status: 503, body: '' });
      });
      await page.getByRole('button', { name: 'Create payment' }).click();
      await until(() => hasCreated, shown);
      await look(page);
      // It goes on asking after it has given up once, which takes fewer.
      await until(() => unanswered >= 10, shown);
      expect(await page.getByLabel('Company name').inputValue()).toBe('Analytical Engines Ltd');

      await page.unroute(calls);
      await page.getByRole('button', { name: 'Create payment' }).click();
      await page.waitForURL(/\/payments\/[0-9a-f-]{36}$/);
      const { body } = await scenario.api.call('GET', '/v1/payments/');
      expect(body.data).toHaveLength(1);
    },
    limitMs,
  );
});
