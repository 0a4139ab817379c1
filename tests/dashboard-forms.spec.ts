/** Forms of the dashboard as people use them: with a keyboard, a screen reader, a phone, a double click, and a bad network. */
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const focused = '*:focus';

describeInBrowser('Forms of the dashboard', () => {
  let scenario: DashboardScenario;
  const opened: WatchedPage[] = [];

  beforeAll(async () => {
    scenario = await startDashboard();
  }, limitMs);
  afterAll(() => scenario?.close());
  afterEach(async () => {
    for (const watched of opened.splice(0)) await watched.close();
  });

  async function signedIn(...given: Parameters<DashboardScenario['signedIn']>): Promise<Page> {
    const watched = await scenario.signedIn(...given);
    opened.push(watched);
    return watched.page;
  }

  async function fillPayment(page: Page, amount = '12.34'): Promise<void> {
    await page.getByLabel('First name').fill('Ada');
    await page.getByLabel('Last name').fill('Moreno');
    await page.getByLabel('Amount').fill(amount);
  }

  it(
    'a double click creates one API key, and a screen reader is led to it',
    async () => {
      const page = await signedIn('admin', '/dashboard/api-keys');
      await page.getByRole('button', { name: 'New API key' }).click();
      const created: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST') created.push(request.url());
      });
      await page.getByRole('button', { name: 'Create key' }).dblclick();
      await page.locator(focused).getByText('pis_test_').waitFor();
      expect(created).toEqual([`${scenario.origin}/dashboard/api/api-keys`]);
    },
    limitMs,
  );

  it(
    'without a network a payment is refused at once, and is not made later',
    async () => {
      const page = await signedIn('operator', '/dashboard/payments');
      await page.getByRole('button', { name: 'New payment' }).first().click();
      await fillPayment(page, '98.76');
      await page.context().setOffline(true);
      await page.getByRole('button', { name: 'Create payment' }).click();
      await page.getByRole('alert').getByText('The server does not answer.').waitFor();
      await page.getByRole('button', { name: 'Back' }).click();
      await page.context().setOffline(false);
      await page.getByRole('heading', { name: 'Payments' }).waitFor();
      await page.locator('main:not(:has([aria-busy="true"]))').waitFor();
      const payments = await scenario.api.data<readonly { readonly paymentAmount: number }[]>(
        ...([200, 'GET', '/v1/payments/'] as const),
      );
      expect(payments.filter(({ paymentAmount }) => paymentAmount === 9_876)).toEqual([]);
    },
    limitMs,
  );

  it.each([
    ['payments/new', 'Create payment', 'First name'],
    ['webhooks/new', 'Create webhook', 'URL'],
    ['contacts/new', 'Save contact', 'First name'],
    ['account', 'Change password', 'Current password'],
  ])(
    'the first problem of a form takes the focus (%s)',
    async (screen, button, field) => {
      const page = await signedIn('admin', `/dashboard/${screen}`);
      await page.getByRole('button', { name: button }).click();
      await page.locator(focused).and(page.getByLabel(field)).waitFor();
    },
    limitMs,
  );

  it(
    'a payment is canceled by the keyboard, which then continues at the heading',
    async () => {
      const page = await signedIn('operator', '/dashboard/payments/new');
      await fillPayment(page);
      await page.getByRole('button', { name: 'Create payment' }).click();
      await page.getByRole('button', { name: 'Cancel payment' }).press('Enter');
      await page.getByRole('button', { name: 'Yes, cancel it' }).press('Enter');
      await page
        .locator(focused)
        .and(page.getByRole('heading', { level: 1 }))
        .waitFor();
      expect(await page.getByRole('button', { name: 'Cancel payment' }).count()).toBe(0);
    },
    limitMs,
  );

  it(
    'a session that ends in the middle of a form says so at the sign-in',
    async () => {
      const page = await signedIn('operator', '/dashboard/payments/new');
      await fillPayment(page);
      await page.context().clearCookies();
      // The page may notice by itself, and be gone.
      await page.evaluate(`document.querySelector('form.card')?.requestSubmit()`);
      await page.waitForURL('**/dashboard/sign-in*');
      await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    },
    limitMs,
  );

  it(
    'a view that the browser does not keep says so',
    async () => {
      const page = await signedIn('viewer', '/dashboard/payments?status=FAILED');
      await page.evaluate(`Storage.prototype.setItem = () => { throw new Error('full'); }`);
      await page.getByRole('button', { name: 'Save view' }).click();
      await page.getByLabel('Name').fill('Failed');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('This browser keeps no views.').waitFor();
    },
    limitMs,
  );

  it(
    'the navigation of a phone takes the focus only while it is open',
    async () => {
      const page = await signedIn('operator', '/dashboard/payments', 'phone');
      const open = page.getByRole('button', { name: 'Open the navigation' });
      const close = page.getByRole('button', { name: 'Close the navigation' });
      await page.getByRole('heading', { name: 'Payments' }).waitFor();
      await open.press('Tab');
      await page.locator('main *:focus').waitFor();
      await open.press('Enter');
      await page.locator(focused).and(close).waitFor();
      await page.keyboard.press('Escape');
      await page.locator(focused).and(open).waitFor();
      await close.waitFor({ state: 'hidden' });
    },
    limitMs,
  );
});
