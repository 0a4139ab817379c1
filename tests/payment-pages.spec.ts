/** The pages of payment links in a real browser, with and without JavaScript. payment-pages-views.spec.ts has every view. */
import type { Browser, Page, Route } from 'playwright-core';
import { linkLifetimeMs } from '@pis/domain';
import {
  type PagesServer,
  startPages,
  token,
} from '../apps/payment-pages/src/testing/pages-server.js';
import { describeInBrowser, openBrowser } from './support/browser.js';
import { fillBankDetails, headed, phone, submitBankDetails } from './support/payer.js';
import { WatchedPage, type WatchedPageOptions } from './support/watched-page.js';

const limitMs = 240_000;
/** The largest, in CSS pixels, that WCAG 2.2 AA asks of a target. */
const targetMin = 24;
/** What the browser tells about a file that it loaded. */
interface Loaded {
  readonly name: string;
  readonly transferSize: number;
  readonly renderBlockingStatus?: 'blocking' | 'non-blocking';
}

describeInBrowser('The pages of payment links', () => {
  let server: PagesServer;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    [server, browser] = await Promise.all([startPages(), openBrowser()]);
  }, limitMs);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  beforeEach(() => server.links.add(token));
  afterEach(() => watched?.close());

  async function open(options: Partial<WatchedPageOptions> = {}) {
    watched = await WatchedPage.open(browser, { ...options, origin: server.url });
    ({ page } = watched);
    await page.goto(`${server.url}/pay/${token}`);
  }

  const inPage = <Value>(expression: string) => watched.value<Value>(expression);

  const heading = (name: string) => headed(page, name);
  const fill = (changes?: Readonly<Record<string, string>>) => fillBankDetails(page, changes);
  const submit = () => submitBankDetails(page);

  it(
    'takes bank details on a phone, and follows the payment without a reload',
    async () => {
      await open(phone);
      await heading('Payment details');
      const loads: string[] = [];
      await fill();
      await page.getByText('Bank: ').waitFor();
      await submit();
      await heading('Payment status');
      page.on('framenavigated', (frame) => loads.push(frame.url()));
      for (const [status, name] of [
        ['PROCESSING', 'Processing'],
        ['COMPLETED', 'Completed'],
      ] as const) {
        server.links.change(token, { status });
        await page.getByText(name, { exact: true }).waitFor();
      }
      expect(loads).toEqual([]);
      watched.expectQuiet();
    },
    limitMs,
  );

  it.each([
    ['expires', () => server.advance(linkLifetimeMs), 'This link has expired'],
    ['is canceled', () => server.links.change(token, { status: 'CANCELED' }), 'Page not found'],
  ] as const)(
    'takes amount and status off a page that is open when its link %s',
    async (_what, end, title) => {
      await open(phone);
      await fill();
      await submit();
      await heading('Payment status');
      await page.getByText('$1,240.98').waitFor();
      // A reload that keeps to a fragment would load nothing.
      await page.evaluate("location.hash = 'content'");
      end();
      await heading(title);
      expect(await page.locator('body').textContent()).not.toContain('1,2');
    },
    limitMs,
  );

  it(
    'works without JavaScript: problems beside the fields, submission, status by a link',
    async () => {
      await open({ ...phone, javaScriptEnabled: false });
      await fill({ 'ZIP code': '9', 'Confirm account number': '000123456780' });
      await submit();
      await page.getByText('Check the form').waitFor();
      const confirmation = page.getByLabel('Confirm account number', { exact: true });
      expect(await confirmation.getAttribute('aria-invalid')).toBe('true');
      expect(await confirmation.inputValue()).toBe('');
      expect(await page.getByLabel('Account number', { exact: true }).inputValue()).toBe('');
      expect(await page.getByLabel('City').inputValue()).toBe('Sacramento');
      await page.getByText(/^Bank: /).waitFor();
      await fill();
      await submit();
      await heading('Payment status');
      await page.getByText('Queued', { exact: true }).waitFor();
      server.links.change(token, { status: 'COMPLETED' });
      await page.getByRole('link', { name: 'Check again' }).click();
      await page.getByText('Completed', { exact: true }).waitFor();
    },
    limitMs,
  );

  it(
    'can be used with the keyboard alone, and shows where it is',
    async () => {
      await open();
      const press = (...keys: readonly string[]) =>
        keys.reduce(
          (before, key) => before.then(() => page.keyboard.press(key)),
          Promise.resolve(),
        );
      const type = async (text: string) => {
        await press('Tab');
        const outline = await inPage('getComputedStyle(document.activeElement).outlineStyle');
        expect(outline).toBe('solid');
        await page.keyboard.type(text);
      };
      await press('Tab');
      expect(await inPage('document.activeElement.textContent')).toBe('Skip to content');
      await press('Enter');
      for (const text of ['Checking', '021000021', '000123456789', '000123456789'])
        await type(text);
      for (const text of ['12 St James Square', 'Sacramento', 'CA', '95814', 'United States'])
        await type(text);
      await press('Tab', 'Enter');
      await heading('Payment status');
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'sends a form once, however often the button is clicked, and says at once that the account numbers differ',
    async () => {
      server.links.submissions.length = 0;
      await open();
      await fill({ 'Confirm account number': '1' });
      await page.getByLabel('City').focus();
      await page.getByText('The two account numbers differ.').waitFor();
      await fill();
      await page.getByRole('button', { name: 'Submit bank details' }).dblclick();
      await heading('Payment status');
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(server.links.submissions).toHaveLength(1);
    },
    limitMs,
  );

  it(
    'a field that is still empty keeps its problem while a payer goes through the form',
    async () => {
      await open();
      await submit();
      const field = page.getByLabel('Confirm account number');
      await field.focus();
      await page.getByLabel('City').focus();
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      expect(await page.locator('#achAccountNumberConfirmation-error').textContent()).not.toBe('');
    },
    limitMs,
  );

  it(
    'submits a pasted account number whole, whatever white space came with it',
    async () => {
      server.links.submissions.length = 0;
      await open();
      await fill();
      for (const label of ['Account number', 'Confirm account number']) {
        await page.getByLabel(label, { exact: true }).fill('');
        await page.keyboard.insertText(`${' '.repeat(30)}1234567890123456`);
      }
      await submit();
      await heading('Payment status');
      expect(server.links.submissions).toMatchObject([{ achAccountNumber: '1234567890123456' }]);
    },
    limitMs,
  );

  it(
    'lets a payer who stopped a submission without an answer send the form again',
    async () => {
      await open();
      await page.clock.install();
      await page.reload();
      await fill();
      const held: Route[] = [];
      const sent = page.waitForRequest((request) => request.method() === 'POST');
      await page.route('**/pay/*', (route) => void held.push(route), { times: 1 });
      const button = page.locator('button[type=submit]');
      await button.click({ noWaitAfter: true });
      await sent;
      const session = await page.context().newCDPSession(page);
      await session.send('Page.stopLoading');
      expect(await button.getAttribute('aria-disabled')).toBe('true');
      await page.clock.fastForward(15_000);
      await page.getByRole('button', { name: 'Submit bank details' }).click();
      await heading('Payment status');
    },
    limitMs,
  );

  it(
    'runs nothing that others wrote into it, and no other site can frame it or post to it',
    async () => {
      const hostile =
        '<script>document.title="owned"</script><img src=x onerror="document.title=1">';
      server.links.add(token, {
        organizationName: hostile,
        originatorName: hostile,
        holder: { entityType: 'BUSINESS', name: hostile },
        paymentNote: hostile,
      });
      await open();
      await fill({
        City: hostile,
        State: hostile,
        'Address line 1': `" autofocus onfocus="${hostile}`,
      });
      await submit();
      await page.getByText('Check the form').waitFor();
      expect(await page.title()).toContain('Payment details');
      expect(await page.locator('img').count()).toBe(0);
      expect(watched.complaints.filter((text) => !text.includes('400'))).toEqual([]);

      const html = `<iframe src="${server.url}/pay/${token}"></iframe>
          <form method="post" action="${server.url}/pay/${token}"><button>Win</button></form>`;
      await page.goto('about:blank');
      await page.setContent(html);
      const frame = page.frames().find((one) => one !== page.mainFrame());
      expect(await frame?.getByRole('heading').count()).toBe(0);
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === 'POST'),
        page.getByRole('button', { name: 'Win' }).click(),
      ]);
      expect(answer.status()).toBe(403);
    },
    limitMs,
  );

  it(
    'is ready for a slow phone: under 50 KB with all files, one stylesheet, no script that blocks the page',
    async () => {
      await open(phone);
      await heading('Payment details');
      const loaded = await inPage<readonly Loaded[]>(
        `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
          .map(({ name, initiatorType, transferSize, renderBlockingStatus }) =>
            ({ name, initiatorType, transferSize, renderBlockingStatus }))`,
      );
      const bytes = loaded.reduce((sum, { transferSize }) => sum + transferSize, 0);
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThan(50_000);
      const blocking = loaded.filter((one) => one.renderBlockingStatus === 'blocking');
      expect(blocking.map(({ name }) => name.endsWith('.css'))).toEqual([true]);
      expect(await page.locator('link[rel=stylesheet]').count()).toBe(1);
      for (const script of await page.locator('script').all()) {
        expect(await script.getAttribute('type')).toBe('module');
        expect(await script.textContent()).toBe('');
      }
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'has large enough targets, expires by the clock, and changes its language',
    async () => {
      await open(phone);
      for (const target of await page
        .locator('input:not([type=hidden]), select, button, nav a')
        .all()) {
        const box = await target.boundingBox();
        expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(targetMin);
      }
      await page.getByRole('link', { name: 'Español' }).click();
      await heading('Detalles del pago');
      server.advance(linkLifetimeMs);
      await page.reload();
      await heading('Este enlace ha caducado');
      await page.getByRole('link', { name: 'English' }).click();
      await heading('This link has expired');
    },
    limitMs,
  );
});
