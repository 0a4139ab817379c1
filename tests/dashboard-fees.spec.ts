/** Fees in the dashboard: everybody sees what payments cost, administrators set it. */
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import type { Look, WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;

describeInBrowser('Fees in the dashboard', () => {
  let scenario: DashboardScenario;
  const opened: WatchedPage[] = [];

  beforeAll(async () => {
    scenario = await startDashboard();
  }, limitMs);
  afterAll(() => scenario?.close());
  afterEach(async () => {
    for (const watched of opened.splice(0)) await watched.close();
  });

  async function signedIn(...given: Parameters<DashboardScenario['signedIn']>) {
    const watched = await scenario.signedIn(...given);
    opened.push(watched);
    return watched;
  }

  it(
    'an administrator sets a schedule in the form, and a file replaces them all',
    async () => {
      const admin = await signedIn('admin', '/dashboard/fees');
      const { page } = admin;
      await page.getByRole('button', { name: 'Change fees' }).click();
      await page.getByRole('button', { name: 'Add a schedule' }).click();
      const schedule = page.getByRole('group', { name: 'Schedule 2' });
      await schedule.getByLabel('Rail').selectOption('RTP');
      await schedule.getByLabel('Share of the amount').fill('0.25');
      await schedule.getByLabel('At most').fill('many');
      await schedule.getByLabel('Per payment').fill('1.5');
      await schedule.getByLabel('From').fill('2099-13-01');
      await page.getByRole('button', { name: 'Save fees' }).click();
      await page.getByText('Enter an amount in dollars').waitFor();
      await admin.expectSound();
      await schedule.getByLabel('At least').fill('9');
      await schedule.getByLabel('At most').fill('8');
      await page.getByRole('button', { name: 'Save fees' }).click();
      // Both are found by the server.
      await page.getByText('Enter a date.').waitFor();
      await schedule.getByLabel('From').fill('2099-01-01');
      await page.getByRole('button', { name: 'Save fees' }).click();
      await page.getByText('The most must not be less than the least.').waitFor();
      await admin.expectSound();
      await schedule.getByLabel('At most').fill('10');
      await page.getByRole('button', { name: 'Save fees' }).click();
      const row = page.getByRole('row').filter({ hasText: 'RTP' });
      await row.getByText('0.25 %, at least $9.00, at most $10.00').waitFor();
      await row.getByText('To come, from 2099-01-01 (UTC)').waitFor();
      await row.getByText('$1.50').waitFor();
      await admin.expectSound();

      await page.getByRole('button', { name: 'Use a file' }).click();
      const choose = async (content: unknown) => {
        const choosing = page.waitForEvent('filechooser');
        await page.getByLabel('File of fee schedules').click();
        const buffer = Buffer.from(JSON.stringify(content));
        await (
          await choosing
        ).setFiles({ name: 'fees.json', mimeType: 'application/json', buffer });
      };
      await choose({ schedules: [{ discountFeeBasisPoints: 30, flatFee: -1, returnFee: 0 }] });
      await page.getByText('The file has 1 schedule.').waitFor();
      await page.getByRole('button', { name: 'Replace all fees' }).click();
      await page.getByText('schedules.0.flatFee').waitFor();
      await admin.expectSound();
      await choose({ schedules: [{ discountFeeBasisPoints: 30, flatFee: 7, returnFee: 0 }] });
      await page.getByRole('button', { name: 'Replace all fees' }).click();
      await page.getByText('0.3 %').waitFor();
      expect(await page.getByRole('row').filter({ hasText: 'RTP' }).count()).toBe(0);
      await admin.expectSound();
    },
    limitMs,
  );

  it(
    'of two administrators who change them, the second is told',
    async () => {
      const { page } = await signedIn('admin', '/dashboard/fees');
      await page.getByRole('button', { name: 'Change fees' }).click();
      const other = await scenario.client('admin');
      const { schedules } = await other.data<{ schedules: object[] }>('GET', '/settings/fees');
      const theirs = [{ discountFeeBasisPoints: 0, flatFee: 99, returnFee: 0 }];
      await other.data('POST', '/settings/fees', { schedules: theirs, shown: schedules });
      await page.getByRole('group', { name: 'Schedule 1' }).getByLabel('Per payment').fill('5');
      await page.getByRole('button', { name: 'Save fees' }).click();
      await page.getByText('Somebody else has changed the fees.').waitFor();
      expect(await other.data('GET', '/settings/fees')).toEqual({ schedules: theirs });
    },
    limitMs,
  );

  it.each<Look>(['desktop', 'dark', 'phone', 'darkPhone'])(
    'the screen fits and is accessible (%s), and a viewer can only look',
    async (look) => {
      const admin = await signedIn('admin', '/dashboard/fees', look);
      await admin.page.getByRole('button', { name: 'Change fees' }).click();
      await admin.page.getByRole('button', { name: 'Save fees' }).waitFor();
      await admin.expectSound();
      await admin.screenshot(`fees-form-${look}`);
      const viewer = await signedIn('viewer', '/dashboard/fees', look);
      await viewer.page.getByRole('cell').first().waitFor();
      for (const name of ['Change fees', 'Use a file'])
        expect(await viewer.page.getByRole('button', { name }).count()).toBe(0);
      await viewer.expectSound();
      await viewer.screenshot(`fees-${look}`);
    },
    limitMs,
  );
});
