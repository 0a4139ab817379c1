/** What a bank says about a contact's account, from its notification to the user's answer, in a real browser. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { until } from '@pis/local-servers/testing';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const notifiedLimitMs = 120_000;
const scenarios = `
scenarios:
  - name: the account has a new number
    match: { accountEndsWith: '0621' }
    outcome: accept
    correction: { code: C01, corrected: '1918171614' }
  - name: the receiver has another name
    match: { accountEndsWith: '0622' }
    outcome: accept
    correction: { code: C04, corrected: 'ADA KING' }
`;

describeInBrowser('A notification of change in the dashboard', () => {
  let folder: string;
  let scenario: DashboardScenario;
  let watched: WatchedPage;

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'pis-corrections-'));
    const file = path.join(folder, 'scenarios.yaml');
    writeFileSync(file, scenarios);
    scenario = await startDashboard({
      settings: { PIS_BANK_SCENARIOS_FILE: file, PIS_RATE_LIMIT_PER_KEY: '0' },
    });
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => watched?.close());

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });

  /** The page of a contact whose bank has answered a debit with a notification of change. */
  async function notified(ending: '0621' | '0622'): Promise<Page> {
    const { api, system } = scenario;
    const { originatorId } = system;
    const { contactId } = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
      ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
      email: `${randomUUID()}@example.com`,
      bankAccount: {
        ...{ subType: 'CHECKING', achRoutingNumber: '110000000' },
        achAccountNumber: `45678901${ending}`,
      },
    });
    const payment = { originatorId, contactId, paymentAmount: 1_000, direction: 'INBOUND' };
    expect((await api.createPayment(payment, randomUUID())).status).toBe(201);
    const operator = await scenario.client('operator');
    await until(
      async () =>
        (await operator.data<{ correction: object | null }>('GET', `/contacts/${contactId}`))
          .correction !== null,
      { timeoutMs: notifiedLimitMs, everyMs: 250, what: 'the notification of change' },
    );
    watched = await scenario.signedIn('operator', `/dashboard/contacts/${contactId}`);
    const { page } = watched;
    await page.getByText('The bank sent a notification of change').waitFor();
    await page.getByText('Not active', { exact: true }).waitFor();
    return page;
  }

  /** The account is active, and nothing asks for an answer any more. */
  async function expectAnswered(page: Page): Promise<void> {
    await page.getByText('Active', { exact: true }).waitFor();
    for (const name of ['Use the corrected account', 'Enter the account', 'Dismiss'])
      expect(await button(page, name).count()).toBe(0);
    await watched.expectSound();
  }

  it(
    'is taken over: the account on file is the one that the bank named',
    async () => {
      const page = await notified('0621');
      await page.getByText('C01: Incorrect account number.').waitFor();
      await page.getByText('******1614', { exact: true }).waitFor();
      await watched.expectSound();
      await watched.screenshot('contact-correction');
      await button(page, 'Use the corrected account').click();
      await page.getByText(/\*{6}1614$/).waitFor();
      await expectAnswered(page);
      expect(await page.getByText('notification of change').count()).toBe(0);
    },
    limitMs,
  );

  it(
    'is answered with another account',
    async () => {
      const page = await notified('0621');
      await button(page, 'Enter the account').click();
      await page.getByRole('heading', { level: 1 }).waitFor();
      await field(page, 'Account on file').selectOption({ label: 'Replace it' });
      await field(page, 'Routing number').fill('021000021');
      await field(page, 'Account number').fill('000987654321');
      await field(page, 'Confirm account number').fill('000987654321');
      await button(page, 'Save changes').click();
      await page.getByText(/\*{8}4321$/).waitFor();
      await expectAnswered(page);
      expect(await page.getByText('notification of change').count()).toBe(0);
    },
    limitMs,
  );

  it(
    'is dismissed where it names no account, and stays on the page',
    async () => {
      const page = await notified('0622');
      await page.getByText('ADA KING').waitFor();
      expect(await button(page, 'Use the corrected account').count()).toBe(0);
      await watched.expectSound();
      await button(page, 'Dismiss').click();
      await page.getByText('Dismissed notification of change').waitFor();
      await page.getByText('ADA KING').waitFor();
      await expectAnswered(page);
    },
    limitMs,
  );
});
