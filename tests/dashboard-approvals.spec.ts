/** Four eyes in the dashboard: a payment above an amount is requested by one user and approved by another. */
import { describeInBrowser } from './support/browser.js';
import { type Dashboard, type DashboardScenario, startDashboard } from './support/dashboard.js';
import type { Look, WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;

describeInBrowser('Approvals in the dashboard', () => {
  let scenario: DashboardScenario;
  let operator: Dashboard;
  let originatorId: string;
  const opened: WatchedPage[] = [];

  beforeAll(async () => {
    scenario = await startDashboard();
    operator = await scenario.client('operator');
    const originators = await operator.data<{ originatorId: string }[]>('GET', '/originators');
    originatorId = originators[0]?.originatorId ?? '';
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

  /** By the operator. */
  async function waiting(lastName: string): Promise<string> {
    const { approvalId } = await operator.data<{ approvalId: string }>('POST', '/payments', {
      ...{ originatorId, direction: 'INBOUND', paymentAmount: 123_456 },
      recipient: { entityType: 'INDIVIDUAL', firstName: 'Grace', lastName },
      ...{ paymentNote: 'Compilers', idempotencyKey: lastName },
    });
    return approvalId;
  }

  it(
    'an administrator sets the amount, an operator asks, an approver sees it come and approves it',
    async () => {
      const admin = await signedIn('admin', '/dashboard/approvals');
      await admin.page.getByText('No payment needs an approval.').waitFor();
      await admin.page.getByText('No approvals yet').waitFor();
      await admin.page.getByRole('button', { name: 'Change amount' }).click();
      const amount = admin.page.getByLabel('Approval above');
      await amount.fill('many');
      await admin.page.getByRole('button', { name: 'Save amount' }).click();
      await admin.page.locator('[aria-invalid="true"]').waitFor();
      await amount.fill('1,000.00');
      await admin.expectSound();
      await admin.page.getByRole('button', { name: 'Save amount' }).click();
      await admin.page.getByText('more than $1,000.00 needs the approval').waitFor();

      const approver = await signedIn('approver', '/dashboard/payments');
      await approver.page.getByRole('link', { name: 'Approvals', exact: true }).waitFor();

      const asking = await signedIn('operator', '/dashboard/payments/new');
      const { page } = asking;
      await page.getByLabel('First name').fill('Grace');
      await page.getByLabel('Last name').fill('Hopper');
      await page.getByLabel('Amount').fill('1,000.00');
      expect(await page.getByText('This payment needs an approval').count()).toBe(0);
      await page.getByLabel('Amount').fill('1,000.01');
      await page.getByText('This payment needs an approval').waitFor();
      await asking.expectSound();
      await page.getByRole('button', { name: 'Create payment' }).click();
      await page.waitForURL('**/dashboard/approvals/*');
      await page.getByText('Waits for a second person').waitFor();
      await page.getByRole('button', { name: 'Withdraw' }).waitFor();
      expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
      await asking.expectSound();

      const link = approver.page.getByRole('link', { name: 'Approvals 1 waiting for you' });
      await link.click();
      await approver.page.getByRole('link', { name: 'Grace Hopper' }).click();
      const { email } = await scenario.user('operator');
      await approver.page.getByText(`by ${email}`).waitFor();
      const account = approver.page.locator('dt:text-is("Account of the originator") + dd');
      expect(await account.textContent()).toMatch(/ \*+\d{4}$/);
      await approver.expectSound();
      await approver.page.getByRole('button', { name: 'Approve' }).click();
      await approver.page.getByText('A link that asks Grace Hopper for $1,000.01').waitFor();
      await approver.expectSound();
      await approver.page.getByRole('button', { name: 'Yes, approve it' }).click();
      await approver.page.getByText('The payment was created').waitFor();
      await approver.page.getByRole('link', { name: 'Approvals', exact: true }).waitFor();
      await approver.expectSound();

      // Who asked sees it without a click.
      await page.getByRole('link', { name: 'Open the payment' }).click();
      const second = await scenario.user('approver');
      await page.getByText(`Requested by ${email}, approved by ${second.email}`).waitFor();
      await page.getByText('Payment link').first().waitFor();
      await asking.expectSound();
      admin.expectQuiet();
    },
    limitMs,
  );

  it(
    'a request is rejected with a reason, and another one is withdrawn',
    async () => {
      const [rejected, withdrawn] = [await waiting('Rejected'), await waiting('Withdrawn')];
      const approver = await signedIn('approver', `/dashboard/approvals/${rejected}`);
      const { page } = approver;
      await page.getByRole('button', { name: 'Reject' }).click();
      await page.getByRole('button', { name: 'Yes, reject it' }).click();
      await page.locator('[aria-invalid="true"]').waitFor();
      await approver.expectSound();
      await page.getByLabel('Reason').fill('Not <b>our</b> invoice');
      await page.getByRole('button', { name: 'Yes, reject it' }).click();
      await page.getByText('Not <b>our</b> invoice').waitFor();
      await approver.expectSound();
      const asking = await signedIn('operator', `/dashboard/approvals/${withdrawn}`);
      await asking.page.getByRole('button', { name: 'Withdraw' }).click();
      await asking.page.getByRole('button', { name: 'Yes, withdraw it' }).click();
      await asking.page.getByText('Withdrawn', { exact: true }).first().waitFor();
      await asking.expectSound();
      await page.goto(`${scenario.origin}/dashboard/approvals?state=REJECTED`);
      await page.getByRole('link', { name: 'Grace Rejected' }).waitFor();
      expect(await page.getByRole('link', { name: 'Grace Withdrawn' }).count()).toBe(0);
      await page.getByLabel('State').selectOption({ label: 'Expired' });
      await page.waitForURL('**/approvals?state=EXPIRED');
      await page.getByText('No approvals match').waitFor();
      await approver.expectSound();
    },
    limitMs,
  );

  it(
    'a name that turns the direction of text does not turn the amount behind it',
    async () => {
      const approvalId = await waiting('Hopper\u202e\u2066');
      const approver = await signedIn('approver', `/dashboard/approvals/${approvalId}`);
      const { page } = approver;
      await page.getByText('Grace Hopper (individual)', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Approve' }).click();
      const text = 'A link that asks Grace Hopper for $1,234.56 is created at once.';
      await page.getByText(text, { exact: true }).waitFor();
      await approver.expectSound();
    },
    limitMs,
  );

  it.each<Look>(['desktop', 'dark', 'phone', 'darkPhone'])(
    'the screens fit and are accessible (%s), and a viewer can only look',
    async (look) => {
      const approvalId = await waiting(`Of ${look}`);
      const approver = await signedIn('approver', '/dashboard/approvals', look);
      await approver.page.getByRole('link', { name: `Grace Of ${look}` }).waitFor();
      await approver.expectSound();
      await approver.screenshot(`approvals-${look}`);
      await approver.page.getByRole('link', { name: `Grace Of ${look}` }).click();
      await approver.page.getByRole('button', { name: 'Approve' }).waitFor();
      await approver.expectSound();
      await approver.screenshot(`approval-${look}`);
      const viewer = await signedIn('viewer', `/dashboard/approvals/${approvalId}`, look);
      await viewer.page.getByText('Waits for a second person').waitFor();
      for (const name of ['Approve', 'Reject', 'Withdraw'])
        expect(await viewer.page.getByRole('button', { name }).count()).toBe(0);
      await viewer.page.goto(`${scenario.origin}/dashboard/approvals`);
      await viewer.page.getByText('needs the approval').waitFor();
      expect(await viewer.page.getByRole('button', { name: 'Change amount' }).count()).toBe(0);
      await viewer.expectSound();
    },
    limitMs,
  );

  it(
    'a failure is shown with a way to try again',
    async () => {
      const watched = await signedIn('viewer', '/dashboard/payments');
      const { page } = watched;
      await page.route('**/dashboard/api/approvals*', (route) =>
        route.fulfill({ status: 409, json: { error: { code: 'CONFLICT', message: 'not now' } } }),
      );
      await page.getByRole('link', { name: 'Approvals', exact: true }).click();
      const again = page.getByRole('button', { name: 'Try again' });
      await again.waitFor();
      await watched.expectSound();
      await page.unroute('**/dashboard/api/approvals*');
      await again.click();
      await page
        .getByRole('link', { name: /^Grace / })
        .first()
        .waitFor();
    },
    limitMs,
  );
});
