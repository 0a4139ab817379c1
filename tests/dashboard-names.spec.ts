/** The accessible names of the dashboard that its interface promises, where no journey uses them all. */
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, signInByForm, startDashboard } from './support/dashboard.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const screens = {
  Overview: '/overview',
  Payments: '/payments',
  Contacts: '/contacts',
  Originators: '/originators',
  Webhooks: '/webhooks',
  'API keys': '/api-keys',
  Users: '/users',
  Statements: '/statements',
  Exports: '/exports',
} as const;

describeInBrowser('The interface of the dashboard', () => {
  let scenario: DashboardScenario;
  let watched: WatchedPage;

  beforeAll(async () => {
    scenario = await startDashboard();
  }, limitMs);
  afterAll(() => scenario?.close());
  afterEach(() => watched?.close());

  it(
    'leads from the navigation to each screen, with one main landmark and no errors, and signs out',
    async () => {
      watched = await scenario.signedIn('admin');
      const { page } = watched;
      for (const [name, path] of Object.entries(screens)) {
        await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
        await page.waitForURL(`${scenario.origin}/dashboard${path}`);
        await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
        expect(await page.getByRole('main').count()).toBe(1);
      }
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL('**/dashboard/sign-in*');
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'names the fields and choices of a new payment, and puts its messages beside the wrong fields',
    async () => {
      watched = await scenario.signedIn('operator', '/dashboard/payments');
      const { page } = watched;
      const field = (name: string) => page.getByLabel(name, { exact: true });
      const choices = (name: string) => field(name).locator('option').allTextContents();
      await page.getByRole('button', { name: 'New payment', exact: true }).click();
      await field('Originator').waitFor();
      expect((await choices('Direction')).toSorted()).toEqual(['Request', 'Send']);
      expect(await choices('Recipient')).toContain('New recipient');
      await field('Recipient').selectOption({ label: 'New recipient' });
      expect((await choices('Recipient type')).toSorted()).toEqual(['Business', 'Individual']);
      await field('Note').fill('Invoice 17');

      const create = page.getByRole('button', { name: 'Create payment', exact: true });
      await field('Recipient type').selectOption({ label: 'Business' });
      await create.click();
      for (const name of ['Company name', 'Amount']) await expectRefused(name);
      await field('Recipient type').selectOption({ label: 'Individual' });
      await field('Amount').fill('999,999,999.99');
      await create.click();
      for (const name of ['First name', 'Last name']) await expectRefused(name);
      expect(await field('Amount').getAttribute('aria-invalid')).not.toBe('true');
      await field('First name').fill('Ada');
      await field('Last name').fill('Lovelace');
      // Only the server knows that this is too much.
      await create.click();
      await page.getByText('No bank rail of yours moves that much.', { exact: false }).waitFor();
      await expectRefused('Amount');
      await field('Amount').fill('1,234.56');
      await create.click();
      await page.waitForURL(/\/dashboard\/payments\/[0-9a-f-]{36}$/);
      await page.getByRole('heading', { name: '$1,234.56' }).waitFor();
      await watched.expectSound();
    },
    limitMs,
  );

  it(
    'locks a user out after five failed sign-ins, and says the same as of an unknown address',
    async () => {
      const user = await scenario.newUser('viewer');
      watched = await scenario.open('/dashboard/sign-in');
      const { page } = watched;
      const refusal = async (email: string, password: string) => {
        await page.goto(`${scenario.origin}/dashboard/sign-in`);
        await signInByForm(watched, { email, password });
        return page.getByRole('alert').textContent();
      };
      const unknown = await refusal('nobody@scenario.example', user.password);
      expect(unknown).toBeTruthy();
      for (let failures = 1; failures <= 5; failures += 1)
        expect(await refusal(user.email, 'something else')).toBe(unknown);
      expect(await refusal(user.email, user.password)).toBe(unknown);
      watched.expectQuiet();
    },
    limitMs,
  );

  /** Marked as wrong, with a message that assistive technology reads with the field. */
  async function expectRefused(name: string): Promise<void> {
    const field = watched.page.getByLabel(name, { exact: true });
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    const describedBy = (await field.getAttribute('aria-describedby')) ?? '';
    const ids = describedBy.split(' ').map((id) => `[id="${id}"]`);
    const messages = await watched.page.locator(ids.join(', ')).allTextContents();
    expect(messages.join('')).not.toBe('');
  }
});
