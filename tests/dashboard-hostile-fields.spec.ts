/**
 * Hostile text in fields and addresses of the dashboard: what is typed, chosen or linked to is shown as text, or refused,
 * and never runs. Texts that are stored are in dashboard-hostile-text.spec.ts.
 */
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { expectText, hostileTexts } from './support/hostile-text.js';
import type { Look, WatchedPage } from './support/watched-page.js';

const limitMs = 480_000;
const nameLengthMax = 100;
/** Of a search. */
const searchLengthMax = 300;

const texts = Object.values(hostileTexts);
/** An API takes them. The first is a formula to a spreadsheet. */
const hostileEmails = [
  `=cmd|'-owned'!a0@hostile.example`,
  `${'w'.repeat(180)}@${'w'.repeat(60)}.example`,
];

describeInBrowser('Hostile text in fields of the dashboard', () => {
  let scenario: DashboardScenario;
  let watched: WatchedPage;

  beforeAll(async () => {
    scenario = await startDashboard({ settings: { PIS_RATE_LIMIT_PER_KEY: '0' } });
    const { originatorId } = scenario.system;
    for (const [kind, text] of Object.entries(hostileTexts))
      await scenario.api.data(201, 'POST', '/v1/contacts/', {
        ...{ originatorId, entityType: 'BUSINESS', email: `${kind}@hostile.example` },
        companyName: text.slice(0, nameLengthMax),
      });
  }, limitMs);
  afterAll(() => scenario?.close());
  afterEach(() => watched?.close());

  async function open(path: string, look?: Look): Promise<Page> {
    watched = await scenario.signedIn('admin', path, look);
    return watched.page;
  }
  const go = (page: Page, path: string) => page.goto(`${scenario.origin}${path}`);
  const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  /** Nothing ran, and the page is not wider than the screen. */
  async function expectHarmless(): Promise<void> {
    await expectText(watched);
    const [shown, whole] = await watched.value<readonly [number, number]>(
      '[document.documentElement.clientWidth, document.documentElement.scrollWidth]',
    );
    expect({ width: whole }).toEqual({ width: shown });
  }

  it.each(['desktop', 'phone'] as const)(
    'is searched for among contacts, by an address and by typing, and is found in their names: %s',
    async (look) => {
      const page = await open('/dashboard/contacts', look);
      for (const text of texts) {
        await go(page, `/dashboard/contacts?search=${encodeURIComponent(text)}`);
        expect(await field(page, 'Find a contact').inputValue()).toBe(text);
        const isTooLong = text.length > searchLengthMax;
        if (isTooLong) await page.getByText('This text is too long.').waitFor();
        const searched = text.slice(0, nameLengthMax);
        await field(page, 'Find a contact').fill(searched);
        const shown = searched.replaceAll(/[\u202e\u2066]/g, '');
        await page.getByRole('link', { name: shown, exact: true }).waitFor();
        await expectHarmless();
      }
    },
    limitMs,
  );

  it(
    'is refused as the e-mail address of a user, and an address of odd letters is text',
    async () => {
      const page = await open('/dashboard/users');
      await button(page, 'New user').click();
      for (const text of texts) {
        await field(page, 'Email').fill(text);
        const answer = page.waitForResponse((one) => one.request().method() === 'POST');
        await button(page, 'Create user').click();
        expect((await answer).status()).toBe(400);
        await page.getByText('Enter an e-mail address.').waitFor();
        await expectHarmless();
      }
      for (const email of hostileEmails) {
        await field(page, 'Email').fill(email);
        await button(page, 'Create user').click();
        await page.getByText(`Give ${email} this password.`).waitFor();
        await page.getByRole('row').filter({ hasText: email }).waitFor();
        await expectHarmless();
        await button(page, 'Done').click();
        await page.getByRole('row').filter({ hasText: email }).getByRole('button').click();
        await page.getByRole('dialog', { name: email }).waitFor();
        await expectHarmless();
        await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        await button(page, 'New user').click();
      }
    },
    limitMs,
  );

  it(
    'is refused in the fields of fees, beside them',
    async () => {
      const page = await open('/dashboard/fees');
      await button(page, 'Change fees').click();
      await button(page, 'Add a schedule').click();
      const added = page.getByRole('group', { name: /^Schedule / }).last();
      const fields = await added.getByRole('textbox').all();
      expect(fields).toHaveLength(6);
      for (const text of texts) {
        for (const one of fields) await one.fill(text);
        await button(page, 'Save fees').click();
        await added.getByText('Enter an amount in dollars').first().waitFor();
        await expectHarmless();
      }
    },
    limitMs,
  );

  it(
    'is refused in a file of fees, and the name of the file is text',
    async () => {
      const page = await open('/dashboard/fees');
      await button(page, 'Use a file').click();
      const choose = async (name: string, content: string) => {
        const choosing = page.waitForEvent('filechooser');
        await page.getByLabel('File of fee schedules').click();
        const buffer = Buffer.from(content);
        await (await choosing).setFiles({ name, mimeType: 'application/json', buffer });
        // Of its folder a browser gives no name.
        await page.getByText(name.split('/').at(-1) ?? '').waitFor();
      };
      for (const text of texts) {
        const name = `${text.slice(0, nameLengthMax).replaceAll('/', '')}.json`;
        await choose(name, text);
        await page.getByText('This file is not JSON.').waitFor();
        await expectHarmless();
        const schedule = {
          ...{ rail: text, direction: text, originatorId: text, from: text, [text]: text },
          ...{ discountFeeBasisPoints: text, flatFee: text, returnFee: text },
        };
        await choose(name, JSON.stringify({ schedules: [schedule], [text]: text }));
        await page.getByText('The file has 1 schedule.').waitFor();
        await button(page, 'Replace all fees').click();
        await page.getByText('Nothing was saved. Mend the file.').waitFor();
        await page.getByText('schedules.0.rail').waitFor();
        await expectHarmless();
      }
    },
    limitMs,
  );
});
