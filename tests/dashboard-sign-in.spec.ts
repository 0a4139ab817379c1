/** Signing in, in a real browser: with the form, and with an OpenID provider and back. */
import { until } from '@pis/local-servers/testing';
import type { Page } from 'playwright-core';
import {
  startTestProvider,
  type TestProvider,
} from '../apps/dashboard/src/testing/oidc-test-provider.js';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, signInByForm, startDashboard } from './support/dashboard.js';
import { type FrontProxy, startFrontProxy } from './support/front-proxy.js';
import { allInOne } from './support/systems.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const shownLimitMs = 60_000;
const focused = `[document.activeElement.tagName, document.activeElement.textContent].join(' ')`;

describeInBrowser('Signing in to the dashboard', () => {
  let provider: TestProvider;
  let proxy: FrontProxy;
  let scenario: DashboardScenario;
  let watched: WatchedPage;

  beforeAll(async () => {
    provider = await startTestProvider();
    proxy = await startFrontProxy();
    scenario = await startDashboard({
      settings: {
        PIS_PUBLIC_URL: proxy.url,
        PIS_OIDC_ISSUER: provider.issuer,
        PIS_OIDC_CLIENT_ID: provider.clientId,
        PIS_OIDC_CLIENT_SECRET: provider.clientSecret,
        PIS_OIDC_NAME: 'Example ID',
      },
      start: async (settings) => {
        const system = await allInOne(settings);
        proxy.passTo(system.dashboardUrl);
        return { ...system, dashboardUrl: proxy.url };
      },
    });
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    await proxy?.close();
    await provider?.close();
  });
  beforeEach(() => {
    provider.browserUser = null;
    provider.isDown = false;
  });
  afterEach(() => watched?.close());

  const button = (page: Page) => page.getByRole('button', { name: 'Sign in with Example ID' });

  it(
    'with the form puts the focus on the heading of the page',
    async () => {
      const user = await scenario.user('viewer');
      watched = await scenario.open('/dashboard/');
      const { page } = watched;
      await page.waitForURL('**/dashboard/sign-in*');
      await button(page).waitFor();
      await watched.expectSound();
      await signInByForm(watched, user);
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await until(async () => (await page.evaluate(focused)) === 'H1 Overview', {
        timeoutMs: shownLimitMs,
        what: 'the focus on the heading',
      });
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'with the provider leads from the button to the overview, as the user who has the address',
    async () => {
      const user = await scenario.user('operator');
      provider.browserUser = user.email;
      watched = await scenario.open('/dashboard/');
      const { page } = watched;
      await button(page).click();
      await page.waitForURL(`${proxy.url}/dashboard/overview`);
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await page.getByText(user.email).waitFor();
      // The provider has seen the browser, and nothing of it stays in the address.
      expect(watched.origins).toContain(provider.issuer);
      const cookies = await page.context().cookies();
      expect(cookies.filter(({ value }) => value !== '').map(({ name }) => name)).toEqual([
        'pis_session',
      ]);
      // The session is one like any other: it survives a reload, and ends here.
      await page.reload();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL('**/dashboard/sign-in*');
      expect(watched.complaints).toEqual([]);
    },
    limitMs,
  );

  it(
    'with the provider leads to where the address did',
    async () => {
      provider.browserUser = (await scenario.user('viewer')).email;
      watched = await scenario.open('/dashboard/payments?status=FAILED');
      const { page } = watched;
      await button(page).click();
      await page.waitForURL(`${proxy.url}/dashboard/payments?status=FAILED`);
      await page.getByText('No payments match').waitFor();
    },
    limitMs,
  );

  it(
    'as somebody without a user here is refused, and the password still works',
    async () => {
      provider.browserUser = 'stranger@elsewhere.example';
      watched = await scenario.open('/dashboard/');
      const { page } = watched;
      await button(page).click();
      await page.waitForURL('**/dashboard/sign-in?problem=refused');
      await page.getByRole('alert').getByText('The sign-in was refused.').waitFor();
      expect((await page.context().cookies()).map(({ name }) => name)).not.toContain('pis_session');
      expect(await watched.accessibilityProblems()).toEqual([]);
      await signInByForm(watched, await scenario.user('viewer'));
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    },
    limitMs,
  );

  it(
    'says so when the provider does not answer after its user came back',
    async () => {
      provider.browserUser = (await scenario.user('viewer')).email;
      watched = await scenario.open('/dashboard/');
      const { page } = watched;
      // Its page still answers, its token endpoint does not.
      await page.route(`${provider.issuer}/**`, (route) => {
        provider.isDown = true;
        return route.continue();
      });
      await button(page).click();
      await page.waitForURL('**/dashboard/sign-in?problem=unavailable');
      await page.getByRole('alert').getByText('The sign-in could not be finished.').waitFor();
    },
    limitMs,
  );
});
