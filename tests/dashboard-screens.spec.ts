/** Screens as a user meets them: titles, focus, roles, addresses that lead nowhere, the keyboard, columns. */
import { until } from '@pis/local-servers/testing';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import type { Look } from './support/watched-page.js';

const limitMs = 240_000;
const demoLimitMs = 120_000;
const shownLimitMs = 30_000;

/** In the order of the navigation, for an administrator. */
const screens = [
  ...['Overview', 'Payments', 'Approvals', 'Contacts', 'Originators', 'Webhooks'],
  ...['API keys', 'Users', 'Fees', 'Statements', 'Exports'],
];

/** The focused element: its tag and its text. */
const focused = `[document.activeElement.tagName, document.activeElement.textContent].join(' ')`;

/** Cells of lists that show less than they hold, but for names and addresses, which may be of any length. */
const cutCells = `[...document.querySelectorAll('.list td, .list .mantine-Badge-label')]
  .filter((cell) => cell.matches('.mantine-Badge-label') || cell.querySelector('time, button, .mantine-Badge-root') || cell.matches('.amount'))
  .filter(({ clientWidth, scrollWidth }) => scrollWidth > clientWidth)
  .map(({ textContent }) => textContent)`;

describeInBrowser('The screens of the dashboard', () => {
  let scenario: DashboardScenario;

  beforeAll(async () => {
    scenario = await startDashboard({
      settings: { PIS_RATE_LIMIT_PER_KEY: '0', PIS_DEMO_PAYMENTS: 'true' },
    });
    const client = await scenario.client('admin');
    await until(
      async () => {
        const waiting = '/payments?status=AWAITING_CONFIRMATION&limit=1';
        return (await client.data<unknown[]>('GET', waiting)).length > 0;
      },
      { timeoutMs: demoLimitMs, what: 'the demo payments' },
    );
  }, limitMs);
  afterAll(() => scenario?.close());

  it(
    'have a title, and their heading takes the focus when the navigation leads to them',
    async () => {
      const watched = await scenario.signedIn('admin');
      const { page } = watched;
      await page.waitForURL('**/dashboard/overview*');
      const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
      await links.first().waitFor();
      const names = await links.allTextContents();
      expect(names.filter((name) => screens.includes(name))).toEqual(screens);
      for (const name of screens.toReversed()) {
        await page.getByRole('link', { name, exact: true }).click();
        await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
        await hasFocus(page, `H1 ${name}`);
        expect(await page.title()).toBe(`${name} · Dashboard`);
      }
      watched.expectQuiet();
      await watched.close();
    },
    limitMs,
  );

  it.each([
    ['viewer', '/users'],
    ['viewer', '/api-keys'],
    ['viewer', '/payments/new'],
    ['viewer', '/contacts/new'],
    ['approver', '/webhooks/new'],
  ] as const)(
    'tell %s that %s is for other roles, without a request that is refused',
    async (role, path) => {
      const watched = await scenario.signedIn(role, '/dashboard/account');
      const { page } = watched;
      await page.getByRole('heading', { name: 'Your account' }).waitFor();
      const refused: string[] = [];
      page.on('response', (answer) => {
        if (answer.status() >= 400) refused.push(answer.url());
      });
      await page.goto(`${scenario.origin}/dashboard${path}`);
      await page.getByRole('heading', { name: 'Your role cannot see this' }).waitFor();
      expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
      expect(await page.getByRole('main').getByRole('textbox').count()).toBe(0);
      await watched.expectSound();
      expect(refused).toEqual([]);
      await watched.close();
    },
    limitMs,
  );

  it(
    'lead from an unknown address to a page with the navigation, after the sign-in',
    async () => {
      const stranger = await scenario.open('/dashboard/no/such/screen');
      await stranger.page.waitForURL('**/dashboard/sign-in*');
      await stranger.close();
      const watched = await scenario.signedIn('viewer', '/dashboard/no/such/screen');
      await watched.page.getByRole('heading', { name: 'Not found' }).waitFor();
      await watched.page.getByRole('link', { name: 'Payments', exact: true }).waitFor();
      await watched.expectSound();
      await watched.page.goto(
        `${scenario.origin}/dashboard/payments/00000000-0000-4000-8000-000000000000`,
      );
      await watched.page.getByText('There is nothing here').waitFor();
      expect(await watched.page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
      await watched.close();
    },
    limitMs,
  );

  it(
    'say what is wrong with days that were filtered for, and in which time zone days are',
    async () => {
      const path = '/dashboard/payments?createdFrom=2026-12-05&createdTo=2026-12-01';
      const watched = await scenario.signedIn('viewer', path);
      const { page } = watched;
      await page.getByRole('alert').getByText('The end is before the start').waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
      await page.getByLabel('Created from (UTC)', { exact: true }).fill('2026-11-30');
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await page.getByLabel('Created to (UTC)', { exact: true }).waitFor();
      await watched.expectSound();
      await watched.close();
    },
    limitMs,
  );

  it(
    'let somebody request money with the keyboard alone, and name who has not confirmed',
    async () => {
      const watched = await scenario.signedIn('operator', '/dashboard/payments');
      const { page } = watched;
      await page.getByRole('cell').first().waitFor();
      await tabTo(page, 'New payment');
      await page.keyboard.press('Enter');
      await hasFocus(page, 'H1 New payment');
      await page.getByLabel('First name').waitFor();
      await tabTo(page, 'First name');
      await page.keyboard.type('Grace');
      await page.keyboard.press('Tab');
      await page.keyboard.type('Hopper');
      await tabTo(page, 'Amount');
      await page.keyboard.type('12.34');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: '$12.34' }).waitFor();
      await hasFocus(page, 'H1 $12.34');
      await page.getByText('Grace Hopper (individual), not confirmed').waitFor();
      await page.getByText('No webhook delivery is on record. Old ones are removed.').waitFor();
      for (const name of ['Status', 'Direction', 'Originator'])
        await page.getByRole('term').filter({ hasText: name }).first().waitFor();
      watched.expectQuiet();
      await watched.close();
    },
    limitMs,
  );

  it.each<Look>(['desktop', 'phone'])(
    'cut no time, status, amount or button (%s)',
    async (look) => {
      const watched = await scenario.signedIn('admin', '/dashboard/payments', look);
      const { page } = watched;
      const cut: string[] = [];
      for (const path of ['payments', 'contacts', 'originators', 'users', 'api-keys']) {
        await page.goto(`${scenario.origin}/dashboard/${path}`);
        await page.locator('.list td:visible').first().waitFor();
        const cells = await watched.value<string[]>(cutCells);
        cut.push(...cells.map((cell) => `${path}: ${cell}`));
        await watched.screenshot(`screens-${path}-${look}`);
      }
      expect(cut).toEqual([]);
      await watched.close();
    },
    limitMs,
  );
});

async function hasFocus(page: Page, element: string): Promise<void> {
  await until(async () => (await page.evaluate(focused)) === element, {
    timeoutMs: shownLimitMs,
    what: `the focus on ${element}`,
  });
}

const tabsMax = 60;

/** Presses Tab until a field or button of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < tabsMax; tabs += 1) {
    await page.keyboard.press('Tab');
    const names = await page.evaluate<string[]>(
      `[document.activeElement.textContent, ...[...(document.activeElement.labels ?? [])].map(({ textContent }) => textContent)]`,
    );
    if (names.includes(name)) return;
  }
  throw new Error(`no ${name} within ${tabsMax} tabs`);
}
