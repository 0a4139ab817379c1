/** Long lists of payments in a real browser: scrolled, exported, filtered. */
import { readFileSync } from 'node:fs';
import { until } from '@pis/local-servers/testing';
import pg from 'pg';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';

const limitMs = 480_000;
const shown = { timeoutMs: 30_000 };
const scrollLimitMs = 240_000;
const slowBytesPerSecond = 16 * 1024;
/** Scrolls to the end of what is loaded, some times. The most rows that were in the page. */
const scrolledDown = `(async () => {
  let rowsMax = 0;
  for (let times = 0; times < 50; times += 1) {
    scrollTo(0, document.documentElement.scrollHeight);
    await new Promise((done) => requestAnimationFrame(() => done(null)));
    rowsMax = Math.max(rowsMax, document.querySelectorAll('tr').length);
  }
  return rowsMax;
})()`;

describeInBrowser('Long lists in the dashboard', () => {
  let scenario: DashboardScenario;
  beforeAll(async () => {
    scenario = await startDashboard({ settings: { PIS_RATE_LIMIT_PER_KEY: '0' } });
  }, limitMs);
  afterAll(() => scenario?.close());

  async function sql(text: string, values: readonly unknown[]): Promise<void> {
    const client = new pg.Client({ connectionString: scenario.system.databaseUrl });
    await client.connect();
    await client.query(text, [...values]);
    await client.end();
  }

  /** Rows of the list, a minute apart. The recipient of the oldest is Receiver 1. */
  const listed = (rail: 'SWIFT' | 'FEDWIRE', count: number) =>
    sql(
      `INSERT INTO payments (payment_id, organization_id, originator_id, status, direction, payment_rail,
            external_payment_id, created_at, revision, item)
          SELECT id, $1, $2::uuid, 'COMPLETED', 'OUTBOUND', $4, 'order-' || n, at, 0, json_build_object(
            'paymentId', id, 'status', 'COMPLETED', 'createdAt', at, 'completedAt', at, 'failedAt', NULL,
            'returnedAt', NULL, 'canceledAt', NULL, 'paymentAmount', n, 'discountFee', 0, 'flatFee', 0,
            'returnFee', 0, 'currencyCode', 'USD', 'paymentRail', $4::text, 'direction', 'OUTBOUND',
            'paymentNote', 'first line' || chr(10) || 'second', 'externalPaymentId', 'order-' || n,
            'failureCode', NULL, 'failureMessage', NULL,
            'originator', json_build_object('id', $2::uuid, 'firstName', NULL, 'lastName', NULL,
              'companyName', 'Long List LLC', 'entityType', 'BUSINESS'),
            'contact', json_build_object('id', $2::uuid, 'firstName', NULL, 'lastName', NULL,
              'companyName', 'Receiver ' || n, 'entityType', 'BUSINESS'))
          FROM (SELECT gen_random_uuid() AS id, n,
              timestamptz '2026-01-01T00:00:00Z' + n * interval '1 minute' AS at
            FROM generate_series(1, $3::integer) AS n) AS rows`,
      [scenario.system.organizationId, scenario.system.originatorId, count, rail],
    );

  describe('a long list', () => {
    const count = 3_000;
    beforeAll(() => listed('SWIFT', count));

    it(
      'is scrolled to its end by the keyboard, with only the rows in view in the page',
      async () => {
        const open = await scenario.signedIn('viewer', '/dashboard/payments?paymentRail=SWIFT');
        const { page } = open;
        await page.getByRole('link', { name: `Receiver ${count}`, exact: true }).waitFor();
        await until(
          async () => {
            await page.keyboard.press('End');
            return (
              (await page.getByRole('link', { name: 'Receiver 1', exact: true }).count()) === 1
            );
          },
          { timeoutMs: 120_000, everyMs: 50 },
        );
        expect(await page.getByRole('row').count()).toBeLessThan(80);
        expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(`${count + 1}`);
        const newest = page.getByRole('link', { name: `Receiver ${count}`, exact: true });
        // What End has asked for may still come, and moves the list.
        await until(
          async () => {
            await page.keyboard.press('Home');
            return (await newest.count()) === 1;
          },
          { timeoutMs: 120_000, everyMs: 50 },
        );
        open.expectQuiet();
        await open.close();
      },
      limitMs,
    );

    it(
      'is exported whole, with progress, and not saved if the download breaks off',
      async () => {
        const open = await scenario.signedIn('viewer', '/dashboard/payments?paymentRail=SWIFT');
        const { page } = open;
        await page.getByRole('link', { name: `Receiver ${count}`, exact: true }).waitFor();
        const saved = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Export CSV' }).click();
        const file = readFileSync(await (await saved).path(), 'utf8');
        await page.getByText('Exported 3,000 payments').waitFor();
        expect((await saved).suggestedFilename()).toMatch(/^payments-\d{4}-\d\d-\d\d\.csv$/);
        expect(file.split('\r\n')).toHaveLength(count + 2);
        expect(file.startsWith('paymentId,status,createdAt,')).toBe(true);

        // As if the connection were cut in the middle.
        await page.evaluate(`{
            const read = ReadableStreamDefaultReader.prototype.read;
            let reads = 0;
            ReadableStreamDefaultReader.prototype.read = function () {
              reads += 1;
              return reads > 1 ? Promise.reject(new TypeError('network error')) : read.call(this);
            };
          }`);
        await page.getByRole('button', { name: 'Export CSV' }).click();
        await page.getByText('The download broke off. Nothing was saved.').waitFor();
        await open.close();
      },
      limitMs,
    );

    it(
      'has all filters of the API, which are in the address, and views that are saved',
      async () => {
        const open = await scenario.signedIn('operator', '/dashboard/payments');
        const { page } = open;
        await page.getByRole('button', { name: 'More filters' }).click();
        await page.getByLabel('Rail', { exact: true }).selectOption('SWIFT');
        await page.getByLabel('External ID').fill('order-17');
        await page.getByLabel('Created from').fill('2026-01-01');
        await page.getByLabel('Created to').fill('2026-01-02');
        await page
          .getByLabel('Originator', { exact: true })
          .selectOption(scenario.system.originatorId);
        await page.getByRole('cell', { name: '$0.17', exact: true }).waitFor();
        await until(async () => (await page.getByRole('row').count()) === 2, shown);
        const filtered = page.url();
        expect(filtered).toContain('externalPaymentId=order-17');
        await page.getByRole('button', { name: 'Save view' }).click();
        await page.getByLabel('Name').fill('Order 17');
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await page.getByRole('link', { name: 'Order 17' }).waitFor();
        await open.expectSound();
        await open.screenshot('payments-filtered');

        await page.getByRole('button', { name: 'Clear filters' }).click();
        await until(async () => (await page.getByRole('row').count()) > 2, shown);
        await page.reload();
        await page.getByRole('link', { name: 'Order 17' }).click();
        await page.waitForURL(filtered);
        await until(async () => (await page.getByRole('row').count()) === 2, shown);
        await page.getByRole('button', { name: 'Delete the view Order 17' }).click();
        await until(
          async () => (await page.getByRole('link', { name: 'Order 17' }).count()) === 0,
          shown,
        );
        const phone = await scenario.signedIn(
          'viewer',
          new URL(filtered).pathname + new URL(filtered).search,
          'darkPhone',
        );
        await phone.page.getByRole('cell', { name: '$0.17', exact: true }).waitFor();
        await phone.expectSound();
        await phone.screenshot('payments-filtered-phone');
        await phone.close();
        open.expectQuiet();
        await open.close();
      },
      limitMs,
    );
  });

  describe('a list of 10,000 payments', () => {
    // A hundred pages of the API. More take longer and show nothing else.
    const count = 10_000;
    const path = '/dashboard/payments?paymentRail=FEDWIRE';
    beforeAll(() => listed('FEDWIRE', count), limitMs);

    it(
      'is scrolled to its end, with only the rows in view in the page',
      async () => {
        const open = await scenario.signedIn('viewer', path);
        const { page } = open;
        await page.getByRole('link', { name: `Receiver ${count}`, exact: true }).waitFor();
        const last = page.getByRole('link', { name: 'Receiver 1', exact: true });
        let rowsMax = 0;
        await until(
          async () => {
            rowsMax = Math.max(rowsMax, await open.value<number>(scrolledDown));
            return (await last.count()) === 1;
          },
          { timeoutMs: scrollLimitMs, everyMs: 0, what: 'the last payment' },
        );
        expect(rowsMax).toBeLessThan(80);
        expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(`${count + 1}`);
        // A place in the middle is shown at once: nothing is loaded again.
        const asked: string[] = [];
        page.on('request', (request) => asked.push(request.url()));
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)');
        await page.getByRole('link', { name: `Receiver ${count / 2}`, exact: true }).waitFor();
        await page.keyboard.press('Home');
        await page.getByRole('link', { name: `Receiver ${count}`, exact: true }).waitFor();
        expect(asked.filter((url) => url.includes('/payments'))).toEqual([]);
        open.expectQuiet();
        await open.close();
      },
      limitMs,
    );

    it(
      'is exported until the user cancels it, which saves nothing and makes room for the next',
      async () => {
        const open = await scenario.signedIn('viewer', path);
        const { page } = open;
        await page.getByRole('link', { name: `Receiver ${count}`, exact: true }).waitFor();
        const saved: string[] = [];
        page.on('download', (download) => saved.push(download.suggestedFilename()));
        // The file takes minutes, so that it cannot end before it is canceled.
        const network = await page.context().newCDPSession(page);
        await network.send('Network.enable');
        await network.send('Network.emulateNetworkConditions', {
          ...{ offline: false, latency: 0, uploadThroughput: -1 },
          downloadThroughput: slowBytesPerSecond,
        });
        await page.getByRole('button', { name: 'Export CSV' }).click();
        await page.getByText(/^Exporting: [1-9][\d,]* payments so far$/).waitFor();
        await page.getByRole('progressbar', { name: 'Export' }).waitFor();
        expect(await page.getByRole('button', { name: 'Export CSV' }).isDisabled()).toBe(true);
        await open.expectSound();
        await page.getByRole('button', { name: 'Cancel export' }).click();
        await page.getByRole('progressbar', { name: 'Export' }).waitFor({ state: 'detached' });
        expect(await page.getByText(/^Export(ing|ed)/).count()).toBe(0);
        expect(await page.getByRole('alert').count()).toBe(0);

        await network.detach();
        await page.goto(`${scenario.origin}${path}&externalPaymentId=order-17`);
        await page.getByRole('link', { name: 'Receiver 17', exact: true }).waitFor();
        const next = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Export CSV' }).click();
        await next;
        await page.getByText('Exported 1 payment').waitFor();
        expect(saved).toHaveLength(1);
        open.expectQuiet();
        await open.close();
      },
      limitMs,
    );
  });
});
