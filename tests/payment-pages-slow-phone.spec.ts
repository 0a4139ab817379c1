/**
 * The page of a link on a phone that is slow: a CPU six times slower than this machine's, and a script that comes late or
 * never. No test measures time: `npm run bench -- pages` does.
 */
import type { Browser, Page, Route } from 'playwright-core';
import {
  type PagesServer,
  startPages,
  token,
} from '../apps/payment-pages/src/testing/pages-server.js';
import { describeInBrowser, openBrowser } from './support/browser.js';
import { fillBankDetails, headed, phone, submitBankDetails } from './support/payer.js';
import { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const cpuSlowdown = 6;

describeInBrowser('The page of a link on a slow phone', () => {
  let server: PagesServer;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  /** Requests for scripts. Nobody answers them. */
  let held: Route[];

  beforeAll(async () => {
    browser = await openBrowser();
  }, limitMs);
  afterAll(() => browser?.close());
  beforeEach(async () => {
    held = [];
    server = await startPages();
    server.links.add(token);
    watched = await WatchedPage.open(browser, { ...phone, origin: server.url });
    ({ page } = watched);
    const session = await page.context().newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: cpuSlowdown });
    await page.route('**/*.js', (route) => void held.push(route));
    // The load of the page does not end without the script.
    await page.goto(`${server.url}/pay/${token}`, { waitUntil: 'commit' });
  }, limitMs);
  afterEach(async () => {
    await watched?.close();
    await server?.close();
  });

  it(
    'can be read, filled in and submitted while its script has not arrived',
    async () => {
      await headed(page, 'Payment details');
      await fillBankDetails(page);
      await submitBankDetails(page);
      await headed(page, 'Payment status');
      await page.getByText('Queued', { exact: true }).waitFor();
      expect(server.links.submissions).toHaveLength(1);
      expect(held.length).toBeGreaterThan(0);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'keeps what was typed before its script arrived, and then compares the account numbers',
    async () => {
      await headed(page, 'Payment details');
      await fillBankDetails(page, { 'Confirm account number': '1' });
      const late = page.getByText('The two account numbers differ.');
      expect(await late.count()).toBe(0);
      await Promise.all(held.map((route) => route.continue()));
      await page.waitForLoadState('load');
      expect(await page.getByLabel('City').inputValue()).toBe('Sacramento');
      await page.getByLabel('Confirm account number', { exact: true }).focus();
      await page.getByLabel('City').focus();
      await late.waitFor();
      watched.expectQuiet();
    },
    limitMs,
  );
});
