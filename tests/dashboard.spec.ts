/** The dashboard in a real browser, as a user of an organization works with it. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { totpCode, totpStepAt } from '@pis/users/testing';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, signInByForm, startDashboard } from './support/dashboard.js';
import { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const built = path.join(import.meta.dirname, '../apps/dashboard-web/dist');
const firstLoadBytesMax = 250 * 1024;

it('loads less than 250 KB at first', () => {
  const page = readFileSync(path.join(built, 'index.html'), 'utf8');
  const names = [...page.matchAll(/\/dashboard\/(assets\/[^"]+)"/g)].map(([, name = '']) => name);
  expect(names.some((name) => name.endsWith('.js'))).toBe(true);
  const encoded = new Set(readdirSync(path.join(built, 'assets')).map((name) => `assets/${name}`));
  const sizes = names.map((name) => {
    expect(encoded).toContain(`${name}.gz`);
    expect(encoded).toContain(`${name}.br`);
    return readFileSync(path.join(built, `${name}.gz`)).length;
  });
  expect(sizes.reduce((sum, size) => sum + size, page.length)).toBeLessThan(firstLoadBytesMax);
});

describeInBrowser('The dashboard', () => {
  let scenario: DashboardScenario;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    scenario = await startDashboard();
  }, limitMs);
  afterAll(() => scenario?.close());
  afterEach(() => watched?.close());

  async function open(path: string): Promise<void> {
    watched = await scenario.open(path);
    ({ page } = watched);
  }

  async function signIn(): Promise<void> {
    watched = await scenario.signedIn('admin');
    ({ page } = watched);
  }

  async function signOut(): Promise<void> {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('**/dashboard/sign-in*');
  }

  it(
    'leads whoever is not signed in to the sign-in page, without an error in the console',
    async () => {
      const { origin } = scenario;
      watched = await WatchedPage.open(await scenario.browser(), { origin, mayRefuse: false });
      await watched.page.goto(`${origin}/dashboard/`);
      await watched.page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
      await watched.expectSound();
    },
    limitMs,
  );

  it(
    'refuses a wrong password beside its fields, and then signs in to where the address led',
    async () => {
      const { email, password } = await scenario.user('admin');
      await open('/dashboard/payments?status=FAILED');
      await page.waitForURL('**/dashboard/sign-in*');
      await signInByForm(watched, { email, password: 'something else' });
      await page.getByRole('alert').waitFor();
      const field = page.getByLabel('Password', { exact: true });
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      await field.fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL('**/dashboard/payments?status=FAILED');
      expect(await page.getByLabel('Status', { exact: true }).inputValue()).toBe('FAILED');
      expect(await page.getByRole('main').count()).toBe(1);
      await signOut();
      await page.goto(`${scenario.origin}/dashboard/payments`);
      await page.waitForURL('**/dashboard/sign-in*');
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'requests money by a link, finds the payment by its filters, and cancels it',
    async () => {
      await signIn();
      await page.getByRole('link', { name: 'Payments', exact: true }).click();
      await page.getByRole('button', { name: 'New payment' }).click();
      // The list that is left has a filter of the same name as the first field.
      await page.getByRole('heading', { name: 'New payment' }).waitFor();
      await page.getByLabel('Direction', { exact: true }).selectOption({ label: 'Request' });
      await page.getByLabel('Recipient', { exact: true }).selectOption({ label: 'New recipient' });
      await page.getByLabel('Recipient type').selectOption({ label: 'Individual' });
      await page.getByLabel('First name').fill('Ada');
      await page.getByLabel('Amount').fill('1,234.56');
      await page.getByRole('button', { name: 'Create payment' }).click();
      const last = page.getByLabel('Last name');
      expect(await last.getAttribute('aria-invalid')).toBe('true');
      await last.fill('Lovelace');
      await page.getByLabel('Note').fill('Invoice 17');
      await page.getByRole('button', { name: 'Create payment' }).click();
      await page.waitForURL(/\/dashboard\/payments\/[0-9a-f-]{36}$/);
      const address = page.url();
      await page.getByRole('heading', { name: '$1,234.56' }).waitFor();
      await page.getByRole('heading', { name: 'Payment link' }).waitFor();
      const url = await page.getByText(/\/pay\/[\w-]{43}$/).textContent();
      expect(url).toMatch(/^https?:\/\/.+\/pay\/[\w-]{43}$/);

      await page.getByRole('link', { name: 'Payments', exact: true }).click();
      await page.getByLabel('Status', { exact: true }).selectOption('AWAITING_CONFIRMATION');
      await page.getByLabel('Direction', { exact: true }).selectOption({ label: 'Request' });
      await page.waitForURL('**/payments?status=AWAITING_CONFIRMATION&direction=INBOUND');
      await page.getByRole('cell', { name: '$1,234.56' }).waitFor();

      await page.goto(address);
      await page.getByRole('button', { name: 'Cancel payment' }).click();
      await page.getByRole('button', { name: 'Yes, cancel it' }).click();
      await page.getByText('Canceled', { exact: true }).first().waitFor();
      expect(await page.getByRole('button', { name: 'Cancel payment' }).count()).toBe(0);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'shows a new API key once, and the key works',
    async () => {
      await signIn();
      await page.getByRole('link', { name: 'API keys', exact: true }).click();
      await page.getByRole('button', { name: 'New API key' }).click();
      await page.getByLabel('Type', { exact: true }).selectOption({ label: 'Read only' });
      await page.getByRole('button', { name: 'Create key' }).click();
      const key = (await page.getByText(/^pis_test_\S+$/).textContent()) ?? '';
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(`${scenario.origin}/v1/originators/`, { headers });
      expect(answer.status).toBe(200);
      await page.reload();
      await page.getByRole('button', { name: 'Revoke' }).first().waitFor();
      expect(await page.getByText(key).count()).toBe(0);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'asks for the one-time code of a user who has turned codes on',
    async () => {
      const user = await scenario.newUser('viewer');
      const { password } = user;
      watched = await scenario.signedIn(user);
      ({ page } = watched);
      const { secret } = await call<{ secret: string }>('/me/one-time-codes', { password });
      const now = Date.now();
      await call('/me/one-time-codes/confirm', { code: totpCode(secret, totpStepAt(now)) });
      await signOut();
      await signInByForm(watched, user);
      const code = page.getByLabel('One-time code');
      // A code is accepted once. The next one counts already.
      await code.fill(totpCode(secret, totpStepAt(now) + 1));
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('link', { name: 'Payments', exact: true }).waitFor();
      watched.expectQuiet();
    },
    limitMs,
  );

  /** A call of the API with the session of the page. */
  function call<Data>(operation: string, body: unknown): Promise<Data> {
    return page.evaluate(
      async ([url, text]) => {
        const headers = { 'x-pis-dashboard': '1', 'content-type': 'application/json' };
        const answer = await fetch(url, { method: 'POST', headers, body: text });
        const { data } = (await answer.json()) as { data: never };
        if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
        return data;
      },
      [`/dashboard/api${operation}`, JSON.stringify(body)] as const,
    );
  }
});
