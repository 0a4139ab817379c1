/** Buttons that change what others rely on: each outcome of the sandbox, and the end of an API key. */
import type { SimulateRequest } from '@pis/contracts';
import { until } from '@pis/local-servers/testing';
import type { Page } from 'playwright-core';
import { Api } from './support/api.js';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { heldPayment } from './support/held-payment.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 300_000;
/** A revoked key is refused everywhere within 5 s. This machine may be busy. */
const refusedLimitMs = 60_000;

/** An outcome without a button here does not compile. */
const buttons = {
  complete: 'Complete',
  return: 'Return',
  fail: 'Fail',
  time_out: 'Time out',
  late_confirm: 'Confirm late',
} as const satisfies Record<SimulateRequest['outcome'], string>;

interface Step {
  readonly outcome: SimulateRequest['outcome'];
  readonly reason?: string;
  /** Both as the page says it. */
  readonly status: string;
  readonly text: string;
}

const bankConfirmed = 'The bank confirmed it.';
const ways: Readonly<Record<string, readonly Step[]>> = {
  'a return with a reason': [
    { outcome: 'complete', status: 'Completed', text: bankConfirmed },
    {
      outcome: 'return',
      reason: 'R02',
      status: 'Returned',
      text: 'Returned: R02, Account closed',
    },
  ],
  'a return without a reason': [
    { outcome: 'complete', status: 'Completed', text: bankConfirmed },
    { outcome: 'return', reason: '', status: 'Returned', text: 'The bank sent the money back.' },
  ],
  'a failure': [
    {
      outcome: 'fail',
      status: 'Failed',
      text: 'It did not take place. No money moved.',
    },
  ],
  'a late confirmation': [
    { outcome: 'time_out', status: 'Failed in flight', text: 'The outcome is not known yet' },
    { outcome: 'late_confirm', status: 'Completed', text: bankConfirmed },
  ],
};

describeInBrowser('The controls of the dashboard', () => {
  let scenario: DashboardScenario;
  let opened: WatchedPage[];

  beforeAll(async () => {
    scenario = await startDashboard({
      settings: {
        PIS_RATE_LIMIT_PER_KEY: '0',
        // On a busy machine a payment is not late after the sandbox's two seconds.
        PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(limitMs),
      },
    });
  }, limitMs);
  afterAll(() => scenario?.close());
  beforeEach(() => {
    opened = [];
  });
  afterEach(() => Promise.all(opened.map((watched) => watched.close())));

  async function open(who: 'admin' | 'operator' | 'viewer', path: string): Promise<Page> {
    const watched = await scenario.signedIn(who, path);
    opened.push(watched);
    // Gone when the page is loaded again.
    await watched.value('globalThis.stays = true');
    return watched.page;
  }

  async function expectNoReload(): Promise<void> {
    for (const watched of opened) {
      expect(await watched.value('globalThis.stays')).toBe(true);
      watched.expectQuiet();
    }
  }

  it('lead through every outcome of the sandbox', () => {
    const clicked = Object.values(ways).flatMap((steps) => steps.map(({ outcome }) => outcome));
    expect(new Set(clicked)).toEqual(new Set(Object.keys(buttons)));
  });

  it.each(Object.keys(ways))(
    'simulate %s, which others see on an open page and an open list without a reload',
    async (way) => {
      const name = `Waits for ${way}`;
      const paymentId = await heldPayment(scenario.api, name);
      const path = `/dashboard/payments/${paymentId}`;
      const own = await open('operator', path);
      const other = await open('viewer', path);
      const list = await open('viewer', '/dashboard/payments');
      const row = list.getByRole('row').filter({ hasText: name });
      await row.getByText('Processing').waitFor();
      await other.getByRole('heading', { name: 'Timeline' }).waitFor();
      expect(await other.getByRole('heading', { name: 'Simulate' }).count()).toBe(0);

      for (const { outcome, reason, status, text } of ways[way] ?? []) {
        if (reason !== undefined) await own.getByLabel('Return reason').selectOption(reason);
        await own.getByRole('button', { name: buttons[outcome], exact: true }).click();
        for (const page of [own, other]) {
          await statusFact(page, status).waitFor();
          await page.getByText(text).first().waitFor();
        }
        await row.getByText(status, { exact: true }).waitFor();
      }
      await expectNoReload();
    },
    limitMs,
  );

  it(
    'offer nothing for a payment that has ended',
    async () => {
      const page = await open(
        'operator',
        `/dashboard/payments/${await heldPayment(scenario.api, 'Ends')}`,
      );
      await page.getByRole('button', { name: buttons.fail, exact: true }).click();
      await statusFact(page, 'Failed').waitFor();
      await page.getByRole('heading', { name: 'Simulate' }).waitFor({ state: 'detached' });
      await expectNoReload();
    },
    limitMs,
  );

  it(
    'revoke an API key after a question, and the API refuses the key',
    async () => {
      const page = await open('admin', '/dashboard/api-keys');
      await page.getByRole('button', { name: 'New API key' }).click();
      await page.getByLabel('Type').selectOption({ label: 'Webhook admin' });
      await page.getByRole('button', { name: 'Create key' }).click();
      const apiKey = (await page.getByText(/^pis_test_\S+$/).textContent()) ?? '';
      await page.getByRole('button', { name: 'Done' }).click();
      const api = new Api(scenario.system.apiUrl, apiKey);
      const answer = async () => (await api.call('GET', '/v1/webhooks')).status;
      expect(await answer()).toBe(200);

      const row = page.getByRole('row').filter({ hasText: 'Webhook admin' });
      await row.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('button', { name: 'Not now' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await row.getByText('Revoked').count()).toBe(0);
      expect(await answer()).toBe(200);

      await row.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('button', { name: 'Yes, revoke it' }).click();
      await row.getByText('Revoked').waitFor();
      expect(await row.getByRole('button').count()).toBe(0);
      await until(async () => (await answer()) === 401, { timeoutMs: refusedLimitMs });
      // The key that the system began with still works.
      await scenario.api.data(200, 'GET', '/v1/originators/');
      await expectNoReload();
    },
    limitMs,
  );
});

/** The status among the details. The timeline has the earlier ones too. */
function statusFact(page: Page, status: string) {
  return page.getByRole('definition').filter({ hasText: new RegExp(`^${status}$`) });
}
