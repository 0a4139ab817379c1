/** What each role sees in the dashboard. What a role may not do is not shown, and the server refuses it anyway. */
import type { UserRole } from '@pis/domain';
import { until } from '@pis/local-servers/testing';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { requestedLink } from './support/requested-link.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const shownLimitMs = 30_000;

/** The link in the navigation, and the path of its screen. */
const adminScreens = { Users: '/users', 'API keys': '/api-keys' } as const;
const adminOperations = ['/users', '/api-keys'];

describeInBrowser('The roles of the dashboard', () => {
  let scenario: DashboardScenario;
  let opened: WatchedPage[];

  beforeAll(async () => {
    scenario = await startDashboard();
  }, limitMs);
  afterAll(() => scenario?.close());
  beforeEach(() => {
    opened = [];
  });
  afterEach(() => Promise.all(opened.map((watched) => watched.close())));

  const requested = () => requestedLink(scenario);

  async function signedIn(role: UserRole, path: string): Promise<WatchedPage> {
    const watched = await scenario.signedIn(role, path);
    opened.push(watched);
    return watched;
  }

  it.each(['viewer', 'operator', 'approver', 'admin'] as const)(
    'shows %s what the role may do',
    async (role) => {
      const { paymentId, url } = await requested();
      const mayPay = role !== 'viewer';
      const isAdmin = role === 'admin';
      const watched = await signedIn(role, '/dashboard/payments');
      const { page } = watched;
      await page.getByRole('heading', { name: 'Payments', level: 1 }).waitFor();
      expect(await page.getByRole('button', { name: 'New payment' }).count()).toBe(Number(mayPay));
      for (const name of Object.keys(adminScreens))
        expect(await page.getByRole('link', { name, exact: true }).count()).toBe(Number(isAdmin));

      await page.goto(`${scenario.origin}/dashboard/payments/${paymentId}`);
      await page.getByRole('heading', { name: 'Payment link' }).waitFor();
      if (mayPay) await page.getByText(url, { exact: true }).waitFor();
      else expect(await page.getByText('/pay/').count()).toBe(0);
      const cancel = page.getByRole('button', { name: 'Cancel payment' });
      expect(await cancel.count()).toBe(Number(mayPay));

      const client = await scenario.client(role);
      for (const path of adminOperations)
        expect((await client.call('GET', path)).status).toBe(isAdmin ? 200 : 403);
      const canceled = await client.call('POST', `/payments/${paymentId}/cancel`);
      expect(canceled.status).toBe(mayPay ? 200 : 403);
      watched.expectQuiet();
    },
    limitMs,
  );

  it.each(['viewer', 'operator', 'approver'] as const)(
    'shows %s nothing of the screens for administrators, whatever the address',
    async (role) => {
      const admin = await scenario.user('admin');
      const watched = await signedIn(role, '/dashboard/payments');
      const { page } = watched;
      for (const path of Object.values(adminScreens)) {
        await page.goto(`${scenario.origin}/dashboard${path}`);
        await page.getByRole('heading', { name: 'Your role cannot see this' }).waitFor();
        expect(await page.getByRole('button', { name: /^New / }).count()).toBe(0);
        expect(await page.getByText(admin.email).count()).toBe(0);
      }
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'never sends the token of a link to a viewer: not in a page, an answer or a live update',
    async () => {
      const { paymentId, url } = await requested();
      const token = url.slice(-43);
      const watched = await signedIn('viewer', '/dashboard/payments');
      const { page } = watched;
      const answers: Promise<string>[] = [];
      page.on('response', (response) => {
        // The stream of live updates does not end. It is read below.
        if (!response.url().endsWith('/live')) answers.push(response.text().catch(String));
      });
      for (const path of ['', '/payments', `/payments/${paymentId}`, '/contacts', '/webhooks']) {
        await page.goto(`${scenario.origin}/dashboard${path}`);
        await page.getByRole('heading', { level: 1 }).first().waitFor();
      }
      await page.goto(`${scenario.origin}/dashboard/payments/${paymentId}`);
      await page.getByRole('heading', { name: 'Payment link' }).waitFor();
      const told = page.evaluate<string>(`new Promise((done) => {
        const source = new EventSource('/dashboard/api/live');
        source.addEventListener('refresh', () => { document.title = 'listening'; });
        source.addEventListener('payments', ({ data }) => { source.close(); done(data); });
      })`);
      await until(async () => (await page.title()) === 'listening', { timeoutMs: shownLimitMs });
      const operator = await scenario.client('operator');
      await operator.data('POST', `/payments/${paymentId}/cancel`);
      const update = await told;
      expect(update).toContain(paymentId);
      const texts = [update, await page.content(), ...(await Promise.all(answers))];
      expect(texts.join('\n')).toContain('AWAITING_CONFIRMATION');
      for (const text of texts) expect(text).not.toContain(token);
    },
    limitMs,
  );
});
