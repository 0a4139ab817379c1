/** Users and accounts in the dashboard: administrators manage users, and users manage their own account. */
import { totpCode, totpStepAt } from '@pis/users/testing';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, signInByForm, startDashboard } from './support/dashboard.js';
import type { Look, WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;

describeInBrowser('Users and accounts in the dashboard', () => {
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

  /** Accessible and quiet, but for the live updates of a session that has ended: Chromium reports that they break off. */
  async function expectQuietAfterEnd(watched: WatchedPage): Promise<void> {
    expect(await watched.accessibilityProblems()).toEqual([]);
    const others = watched.complaints.filter((text) => !text.includes('/dashboard/api/live'));
    watched.complaints.splice(0, watched.complaints.length, ...others);
    watched.expectQuiet();
  }

  const row = (page: Page, email: string) => page.getByRole('row').filter({ hasText: email });

  it(
    'an administrator creates a user, changes the role, sets a new password, disables and enables',
    async () => {
      const watched = await signedIn('admin', '/dashboard/');
      const { page } = watched;
      await page.getByRole('link', { name: 'Users', exact: true }).click();
      await page.waitForURL('**/dashboard/users');
      await page.getByRole('button', { name: 'New user' }).click();
      const email = 'grace@scenario.example';
      await page.getByLabel('Email', { exact: true }).fill('nobody');
      await page.getByRole('button', { name: 'Create user' }).click();
      const field = page.locator('[aria-invalid="true"]');
      await field.waitFor();
      await field.fill(email);
      await page.getByLabel('Role of the user').selectOption({ label: 'Operator' });
      await watched.expectSound();
      await page.getByRole('button', { name: 'Create user' }).click();
      const password = (await page.getByText(/^[\w-]{24}$/).textContent()) ?? '';
      await page.getByRole('button', { name: 'Done' }).click();
      expect(await page.getByText(password).count()).toBe(0);
      await row(page, email).getByText('Operator').last().waitFor();

      const grace = await signedIn({ userId: '', email, password }, '/dashboard/payments');
      await grace.page.getByRole('link', { name: 'Payments', exact: true }).waitFor();
      expect(await grace.page.getByRole('link', { name: 'Users', exact: true }).count()).toBe(0);

      await page.getByRole('button', { name: `Manage ${email}` }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('New role').selectOption({ label: 'Viewer' });
      await dialog.getByRole('button', { name: 'Change role' }).click();
      await row(page, email).getByText('Viewer').first().waitFor({ state: 'attached' });
      await watched.expectSound();
      await dialog.getByRole('button', { name: 'Disable user' }).click();
      await dialog.getByRole('button', { name: 'Yes, disable the user' }).click();
      await dialog.getByRole('button', { name: 'Enable user' }).waitFor();
      // The session of the disabled user ends at once.
      await grace.page.reload();
      await grace.page.waitForURL('**/dashboard/sign-in*');
      await dialog.getByRole('button', { name: 'Enable user' }).click();
      await dialog.getByRole('button', { name: 'New password' }).click();
      await dialog.getByRole('button', { name: 'Yes, set a new password' }).click();
      const another = (await dialog.getByText(/^[\w-]{24}$/).textContent()) ?? '';
      expect(another).not.toBe(password);
      await signInByForm(grace, { email, password: another });
      await grace.page.getByRole('link', { name: 'Payments', exact: true }).waitFor();
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'the filters of the list are in the address, and the own user is not managed',
    async () => {
      const { email } = await scenario.user('admin');
      const viewer = await scenario.newUser('viewer');
      const watched = await signedIn('admin', '/dashboard/users?role=viewer');
      const { page } = watched;
      await row(page, viewer.email).waitFor();
      expect(await row(page, email).count()).toBe(0);
      expect(await page.getByLabel('Role', { exact: true }).inputValue()).toBe('viewer');
      await page.getByLabel('Role', { exact: true }).selectOption({ label: 'Admin' });
      await page.waitForURL('**/users?role=admin');
      await row(page, email).getByRole('link', { name: 'You', exact: true }).waitFor();
      expect(await page.getByRole('button', { name: `Manage ${email}` }).count()).toBe(0);
      await page.goto(`${scenario.origin}/dashboard/users?state=locked`);
      await page.getByText('No users match').waitFor();
      await watched.expectSound();
    },
    limitMs,
  );

  it(
    'a user changes the password, turns one-time codes on and off, and ends another session',
    async () => {
      const user = await scenario.newUser('viewer');
      const elsewhere = await signedIn(user);
      const watched = await signedIn(user);
      const { page } = watched;
      await page.getByRole('link', { name: 'Your account' }).click();
      await page.getByText('This session').waitFor();
      await page.getByRole('button', { name: /^End session: / }).click();
      await page.getByRole('button', { name: /^End session: / }).waitFor({ state: 'detached' });
      await elsewhere.page.reload();
      await elsewhere.page.waitForURL('**/dashboard/sign-in*');

      const changed = 'another good password';
      await page.getByLabel('Current password').fill('something else');
      await page.getByLabel('New password', { exact: true }).fill(changed);
      await page.getByLabel('Repeat the new password').fill('something else again');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('The two new passwords differ.').waitFor();
      await page.getByLabel('Repeat the new password').fill(changed);
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('The password or the code is wrong.').waitFor();
      await watched.expectSound();
      await page.getByLabel('Current password').fill(user.password);
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('The password was changed.').waitFor();

      await page.getByLabel('Your password').fill(changed);
      await page.getByRole('button', { name: 'Turn on' }).click();
      await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
      await expectQuietAfterEnd(watched);
      const secret = (await page.getByText(/^[A-Z2-7]{32}$/).textContent()) ?? '';
      const step = totpStepAt(Date.now());
      await page.getByLabel('One-time code').fill(totpCode(secret, step));
      await page.getByRole('button', { name: 'Confirm' }).click();
      await page.getByRole('button', { name: 'Turn off' }).click();
      await page.getByLabel('Your password').fill(changed);
      const codes = page.getByLabel('One-time code');
      // The first one belongs to the form for the password.
      await codes.last().fill(totpCode(secret, step + 1));
      await page.getByRole('button', { name: 'Yes, turn them off' }).click();
      await page.getByRole('button', { name: 'Turn on' }).waitFor();
      await expectQuietAfterEnd(watched);
    },
    limitMs,
  );

  it(
    'an API key ends on the day that was chosen for it',
    async () => {
      const { page, ...watched } = await pageOf('/dashboard/api-keys');
      await page.getByRole('button', { name: 'New API key' }).click();
      await page.getByLabel('Expires', { exact: true }).selectOption({ label: 'On a date' });
      await page.getByLabel('Expiry date').fill('2020-01-31');
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByText('Enter a day in the future.').waitFor();
      await page.getByLabel('Expiry date').fill('2099-01-31');
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByText(/^pis_test_\S+$/).waitFor();
      await page.getByRole('cell', { name: /Jan 31, 2099/ }).waitFor();
      await watched.sound();
    },
    limitMs,
  );

  async function pageOf(path: string) {
    const watched = await signedIn('admin', path);
    return { page: watched.page, sound: () => watched.expectSound() };
  }

  it.each<Look>(['desktop', 'dark', 'phone'])(
    'is sound to look at (%s)',
    async (look) => {
      for (const [name, path] of [
        ['users', '/dashboard/users'],
        ['account', '/dashboard/account'],
        ['api-keys', '/dashboard/api-keys'],
      ] as const) {
        const watched = await signedIn('admin', path, look);
        await watched.page.getByRole('heading', { level: 1 }).waitFor();
        await watched.page.locator('[aria-busy="false"], .sessions').first().waitFor();
        await watched.expectSound();
        await watched.screenshot(`accounts-${name}-${look}`);
      }
    },
    limitMs,
  );
});
