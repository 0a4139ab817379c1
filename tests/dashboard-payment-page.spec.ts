/** The page of a payment in the dashboard, in a real browser. */
import { randomUUID } from 'node:crypto';
import { type HttpsReceiver, startHttpsReceiver, until } from '@pis/local-servers/testing';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { payable } from './support/payable.js';
import { fillBankDetails, submitBankDetails } from './support/payer.js';
import { requestedLink } from './support/requested-link.js';
import { type Look, looks, type WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const statusLimitMs = 60_000;
/** Returned with R07; stays PROCESSING; rejected by the bank. */
const accounts = {
  ...{ returned: '000123450107', processing: '000123450502', failed: '000123450201' },
} as const;

describeInBrowser('The page of a payment', () => {
  let receiver: HttpsReceiver;
  let scenario: DashboardScenario;
  let watched: WatchedPage;
  let page: Page;
  let paymentId: string;

  beforeAll(async () => {
    receiver = await startHttpsReceiver();
    scenario = await startDashboard({
      settings: {
        PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        PIS_WEBHOOK_CA_FILE: receiver.caFile,
        PIS_RATE_LIMIT_PER_KEY: '0',
      },
    });
    const hook = { url: receiver.url, subscribedEvents: ['payment.*'] };
    await scenario.api.data(201, 'POST', '/v1/webhooks', hook);
    paymentId = await created(accounts.returned);
    await status(paymentId, 'RETURNED');
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    await receiver?.close();
  });
  afterEach(() => watched?.close());

  /** An ACH debit. @returns its ID */
  async function created(achAccountNumber: string): Promise<string> {
    const { api } = scenario;
    const { originatorId } = await payable(api);
    const contact = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
      ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Grace', lastName: 'Hopper' },
      email: `${randomUUID()}@example.com`,
      bankAccount: { subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber },
    });
    const { contactId } = contact;
    const payment = { originatorId, contactId, paymentAmount: 123_456, direction: 'INBOUND' };
    const { body } = await api.createPayment(payment, randomUUID());
    return (body.data as { paymentId: string }).paymentId;
  }

  const status = (id: string, wanted: string) =>
    until(
      async () => {
        const read = await scenario.api.data<{ status: string }>(200, 'GET', `/v1/payments/${id}`);
        return read.status === wanted;
      },
      { timeoutMs: statusLimitMs, what: wanted },
    );

  async function open(id: string, role: 'viewer' | 'operator', look: Look = 'desktop') {
    const permissions = ['clipboard-read', 'clipboard-write'];
    const path = `/dashboard/payments/${id}`;
    watched = await scenario.signedIn(role, path, look, { permissions });
    ({ page } = watched);
    await page.getByRole('heading', { name: '$1,234.56' }).waitFor();
  }
  const click = (name: string) => page.getByRole('button', { name, exact: true }).click();

  it(
    'tells what happened, who did it, which rail was chosen, and why it was returned',
    async () => {
      await open(paymentId, 'viewer');
      await page.getByText('Returned: R07, Authorization revoked by the customer').waitFor();
      await page.getByText('The bank sent the money back.').waitFor();
      await page.getByText('by API key', { exact: false }).first().waitFor();
      await page.getByText('by the system (rail executor)', { exact: false }).first().waitFor();
      expect(await page.locator('.timeline time').first().getAttribute('data-utc')).toMatch(
        /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/,
      );
      await page.getByText('Why not another rail').click();
      await page.getByText('RTP collects no money', { exact: false }).waitFor();

      const fact = (name: string) =>
        page.locator('.fact').filter({ has: page.getByText(name, { exact: true }) });
      await fact('Received').getByText('$1,234.56').waitFor();
      await fact('Taken back by the bank').getByText('$1,234.56').waitFor();
      await fact('Reference of the return').waitFor();

      await click('Copy the trace number');
      await click('Copied the trace number');
      expect(await watched.value('navigator.clipboard.readText()')).toMatch(/^\d{15}$/);
      await page.getByRole('cell', { name: 'To the bank' }).first().waitFor();
      await page.getByRole('cell', { name: 'From the bank' }).first().waitFor();
      expect(await page.getByRole('heading', { name: 'Simulate' }).count()).toBe(0);

      await page.locator('.told summary').first().click();
      await page.getByText('Attempt 1').waitFor();
      await page.getByText(`"paymentId": "${paymentId}"`, { exact: false }).waitFor();
      await watched.expectSound();
      await page.getByRole('link', { name: 'Show the delivery' }).click();
      await page.getByRole('link', { name: 'Show the payment' }).click();
      await page.waitForURL(`**/payments/${paymentId}`);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'expects no settlement of a payment that failed',
    async () => {
      const id = await created(accounts.failed);
      await status(id, 'FAILED');
      await open(id, 'viewer');
      await page.getByText('Chosen rail').waitFor();
      expect(await page.getByText('Expected settlement').count()).toBe(0);
      expect(await page.getByText('Cutoff at the bank').count()).toBe(0);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'lets an operator say in the sandbox what the bank does next',
    async () => {
      const id = await created(accounts.processing);
      await status(id, 'PROCESSING');
      await open(id, 'operator');
      for (const name of ['Complete', 'Fail'])
        await page.getByRole('button', { name, exact: true }).waitFor();
      expect(await page.getByRole('button', { name: 'Confirm late' }).count()).toBe(0);
      await page.getByText('Expected settlement').waitFor();
      await watched.expectSound();
      await click('Time out');
      await page.getByText('The outcome is not known yet').waitFor();
      await watched.expectSound();
      await click('Confirm late');
      await page.getByLabel('Return reason').selectOption('R01');
      await watched.expectSound();
      await click('Return');
      await page.getByText('Returned: R01, Insufficient funds').waitFor();
      await page.getByText('The same payment may succeed later.', { exact: false }).waitFor();
      expect(await page.getByRole('heading', { name: 'Simulate' }).count()).toBe(0);
      await watched.expectSound();
    },
    limitMs,
  );

  it(
    'records one showing of the link for each visit, and none for a live update',
    async () => {
      const client = await scenario.client('operator');
      const showings = async (id: string) => {
        const { link } = await client.data<{ link: { accesses: { kind: string }[] } }>(
          'GET',
          `/payments/${id}`,
        );
        return link.accesses.filter(({ kind }) => kind === 'show').length;
      };
      watched = await scenario.signedIn('operator', '/dashboard/payments/new');
      ({ page } = watched);
      let asked = 0;
      page.on('request', (request) => {
        if (request.method() === 'POST' && request.url().endsWith('/link')) asked += 1;
      });
      await page.getByLabel('First name').fill('Ada');
      await page.getByLabel('Last name').fill('Lovelace');
      await page.getByLabel('Amount').fill('1,234.56');
      await click('Create payment');
      await page.waitForURL(/\/dashboard\/payments\/[0-9a-f-]{36}$/);
      const id = page.url().slice(-36);
      const shown = page.getByText(/\/pay\/[\w-]{43}$/);
      await shown.waitFor();
      await page.getByText('Awaiting confirmation').first().waitFor();
      expect([asked, await showings(id)]).toEqual([1, 1]);

      const url = (await shown.textContent()) ?? '';
      const payer = await scenario.open(new URL(url).pathname, 'phone');
      await fillBankDetails(payer.page);
      await submitBankDetails(payer.page);
      await page.getByText('Completed', { exact: true }).first().waitFor();
      await payer.close();
      await shown.waitFor();
      expect([asked, await showings(id)]).toEqual([1, 1]);

      await page.getByRole('link', { name: 'Back to the list' }).click();
      await page.getByRole('heading', { name: 'Payments', level: 1 }).waitFor();
      await page.goBack();
      await shown.waitFor();
      expect([asked, await showings(id)]).toEqual([2, 2]);
      await page.reload();
      await shown.waitFor();
      expect([asked, await showings(id)]).toEqual([3, 3]);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'shows who opened a link, with address and browser, on a phone, too, and says to viewers that it is hidden from them',
    async () => {
      const { url, paymentId: id } = await requestedLink(scenario);
      const payer = await scenario.open(new URL(url).pathname, 'phone');
      await payer.close();
      for (const look of ['desktop', 'phone'] as const) {
        watched = await scenario.signedIn('operator', `/dashboard/payments/${id}`, look);
        const visit = watched.page.getByRole('row', { name: /^Opened/ });
        await visit.getByText('127.0.0.1', { exact: true }).waitFor();
        await visit.getByText(/Mozilla\/5\.0 .*Chrome/).waitFor();
        await watched.expectSound();
        await watched.close();
      }
      watched = await scenario.signedIn('viewer', `/dashboard/payments/${id}`, 'phone');
      const hidden = watched.page.getByRole('row', { name: /^Opened/ });
      await hidden.getByText('Not shown to your role').waitFor();
      expect(await hidden.getByText('127.0.0.1').count()).toBe(0);
      await watched.expectSound();
    },
    limitMs,
  );

  it(
    'shows on an open page who opens the link, though no event tells of it',
    async () => {
      const { url, paymentId: id } = await requestedLink(scenario);
      watched = await scenario.session('operator');
      ({ page } = watched);
      let reads = 0;
      page.on('response', (one) => {
        if (one.url().endsWith(`/dashboard/api/payments/${id}`)) reads += 1;
      });
      /** A minute passes, and what was due in it is read. */
      const minute = async () => {
        const before = reads;
        await page.clock.fastForward('01:00');
        await until(() => reads > before, { timeoutMs: statusLimitMs, what: 'another read' });
      };
      await page.clock.install();
      await page.goto(`${scenario.origin}/dashboard/payments/${id}`);
      await page.getByText(url, { exact: true }).waitFor();
      await page.evaluate('globalThis.stays = true');
      // Past what is read because live updates have begun.
      await until(() => reads >= 2, { timeoutMs: statusLimitMs, what: 'the first live update' });
      await minute();
      await page.clock.fastForward('01:00');
      const payer = await scenario.open(new URL(url).pathname, 'phone');
      await payer.close();
      await minute();
      await page.getByRole('row', { name: /^Opened/ }).waitFor();
      expect(await watched.value('globalThis.stays')).toBe(true);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'claims no fee and no open link of a payment that was canceled',
    async () => {
      const operator = await scenario.client('operator');
      const { paymentId: id } = await operator.data<{ paymentId: string }>('POST', '/payments', {
        ...{ originatorId: scenario.system.originatorId, direction: 'INBOUND' },
        recipient: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
        ...{ paymentAmount: 12_345, idempotencyKey: randomUUID() },
      });
      await operator.data('POST', `/payments/${id}/cancel`);
      watched = await scenario.signedIn('viewer', `/dashboard/payments/${id}`);
      ({ page } = watched);
      const fact = page.locator('.fact').filter({ has: page.getByText('Fees', { exact: true }) });
      await fact.getByText('None: no money moved', { exact: true }).waitFor();
      const link = page.locator('.card').filter({ has: page.getByText('Payment link') });
      await link.getByText('Nobody opened it.', { exact: true }).waitFor();
      expect(await link.getByText(/Expires|The payer pays/).count()).toBe(0);
      await page.goto(`${scenario.origin}/dashboard/payments?status=CANCELED`);
      await page.getByRole('link', { name: 'Not confirmed', exact: true }).waitFor();
      await watched.expectSound();
    },
    limitMs,
  );

  it(
    'says how much came back where banks on the way kept a part',
    async () => {
      watched = await scenario.session('viewer');
      ({ page } = watched);
      // The simulated bank returns the whole amount.
      await page.route(`**/dashboard/api/payments/${paymentId}`, async (route) => {
        const response = await route.fetch();
        const { data, ...rest } = (await response.json()) as { data: object };
        const returned = { amount: 120_000, kept: 3_456 };
        await route.fulfill({ response, json: { ...rest, data: { ...data, returned } } });
      });
      await page.goto(`${scenario.origin}/dashboard/payments/${paymentId}`);
      const fact = page.locator('.fact').filter({ has: page.getByText('Came back') });
      await fact.getByText('$1,200.00. Banks on the way kept $34.56.').waitFor();
      await watched.expectSound();
      // A live update may be on its way through it.
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    },
    limitMs,
  );

  it(
    'is right on a phone and in the dark',
    async () => {
      for (const look of Object.keys(looks) as Look[]) {
        await open(paymentId, 'viewer', look);
        await page.getByText('Returned: R07', { exact: false }).waitFor();
        await page.locator('.told summary').first().click();
        await page.getByText('Attempt 1').waitFor();
        await watched.expectSound();
        await watched.screenshot(`payment-${look}`);
        await watched.close();
      }
    },
    limitMs,
  );
});
