/** Attacks on the dashboard and the pages of links from other sites, in a real browser. */
import { randomBytes, randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import type { Request, Response } from 'playwright-core';
import pg from 'pg';
import type { Declared } from '../apps/dashboard/src/operation.js';
import { operations } from '../apps/dashboard/src/operations.js';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, signInByForm, startDashboard } from './support/dashboard.js';
import {
  attack,
  type ForeignSite,
  followLink,
  startForeignSite,
  submitForm,
} from './support/foreign-site.js';
import { headed } from './support/payer.js';
import { type RequestedLink, requestedLink } from './support/requested-link.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const shownLimitMs = 30_000;
const cookieName = 'pis_session';

/** A request that an attacker's page sends. */
interface Attack {
  readonly url: string;
  readonly method: string;
  readonly body: string;
}

describeInBrowser('Attacks on the dashboard', () => {
  let scenario: DashboardScenario;
  let foreign: ForeignSite;
  let link: RequestedLink;
  /** Pages of a test. */
  let opened: WatchedPage[];

  beforeAll(async () => {
    scenario = await startDashboard();
    foreign = await startForeignSite();
    link = await requested();
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    await foreign?.close();
  });
  beforeEach(() => {
    opened = [];
  });
  afterEach(() => Promise.all(opened.map((watched) => watched.close())));

  const requested = () => requestedLink(scenario);

  const payPath = () => new URL(link.url).pathname;

  async function keep(opening: Promise<WatchedPage>): Promise<WatchedPage> {
    const watched = await opening;
    opened.push(watched);
    return watched;
  }

  const sessionOf = async ({ page }: WatchedPage) => {
    const cookies = await page.context().cookies();
    return cookies.find(({ name }) => name === cookieName);
  };

  /** The status of an operation with a session's cookie, without a browser. */
  const statusWith = async (token: string, path = '/me') => {
    const headers = { cookie: `${cookieName}=${token}` };
    return (await fetch(`${scenario.origin}/dashboard/api${path}`, { headers })).status;
  };

  /** How many events the log has, without signed checkpoints, and how many sessions there are. */
  async function recorded(): Promise<unknown> {
    const client = new pg.Client({ connectionString: scenario.system.databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query(
        `SELECT (SELECT count(*) FROM events WHERE stream_id <> 'audit-checkpoints') AS events,
           (SELECT count(*) FROM user_sessions) AS sessions`,
      );
      return rows[0] as unknown;
    } finally {
      await client.end();
    }
  }

  describe('a page of another origin', () => {
    /** Every operation that changes something, with the IDs of real records. */
    async function attacks(): Promise<readonly Attack[]> {
      const { userId } = await scenario.newUser('viewer');
      const admin = await scenario.user('admin');
      const ids: Readonly<Record<string, string>> = {
        paymentId: link.paymentId,
        originatorId: scenario.system.originatorId,
        userId,
      };
      const bodies: Readonly<Record<string, unknown>> = {
        signIn: { email: admin.email, password: admin.password },
        createPayment: {
          originatorId: scenario.system.originatorId,
          direction: 'INBOUND',
          recipient: { entityType: 'INDIVIDUAL', firstName: 'Mallory', lastName: 'Doe' },
          paymentAmount: 1,
          idempotencyKey: randomUUID(),
        },
        changeUserRole: { role: 'admin' },
        createUser: { email: 'mallory@example.com', role: 'admin' },
        createApiKey: { type: 'full_access' },
        changePassword: { password: admin.password, newPassword: 'correct horse battery 2' },
      };
      return Object.entries<Declared>(operations)
        .filter(([, { method }]) => method !== 'GET')
        .map(([name, { method, path }]) => ({
          method,
          url: `${scenario.origin}/dashboard/api${path.replaceAll(
            /:(\w+)/g,
            (_, id: string) => ids[id] ?? randomUUID(),
          )}`,
          body: JSON.stringify(bodies[name] ?? {}),
        }));
    }

    it.each(['another site', 'another origin of the same site'])(
      'changes nothing in the name of a signed-in administrator: %s',
      async (which) => {
        const { page } = await keep(scenario.signedIn('admin'));
        await page.getByRole('link', { name: 'Payments', exact: true }).waitFor();
        const all = await attacks();
        expect(all.length).toBeGreaterThan(20);
        const before = await recorded();
        // Before requests are noted: the page that is left may be reading, and has no answers any more.
        await page.goto(which === 'another site' ? foreign.url : foreign.neighborUrl);
        // The browser hides some answers, and asks first before it sends some requests.
        const isAttack = (request: Request) =>
          request.url().startsWith(`${scenario.origin}/`) && request.method() !== 'OPTIONS';
        const sent: Request[] = [];
        const answers: Response[] = [];
        page.on('request', (request) => {
          if (isAttack(request)) sent.push(request);
        });
        page.on('response', (response) => {
          if (isAttack(response.request())) answers.push(response);
        });
        await page.evaluate(`(${attack})(${JSON.stringify(all)})`);
        const posts = all.filter(({ method }) => method === 'POST');
        expect(sent.length).toBeGreaterThanOrEqual(posts.length * 2);
        await until(() => answers.length >= posts.length, {
          timeoutMs: shownLimitMs,
          what: 'the answers to the attacks',
        });
        const statuses = answers.map((answer) => answer.status());
        expect(statuses.filter((status) => status < 400)).toEqual([]);
        const headers = await Promise.all(answers.map((answer) => answer.request().allHeaders()));
        const withCookie = headers.filter(({ cookie = '' }) => cookie.includes(cookieName));
        // A neighbor has the cookie sent along: there the check of the origin alone refuses.
        expect(withCookie.length > 0).toBe(which !== 'another site');
        expect(await recorded()).toEqual(before);
      },
      limitMs,
    );

    it.each(['another site', 'another origin of the same site'])(
      'cannot submit bank details for a payer: %s',
      async (which) => {
        const { page } = await keep(scenario.open(payPath(), 'phone'));
        await headed(page, 'Payment details');
        const formToken = await page.locator('input[name=formToken]').inputValue();
        const address = which === 'another site' ? foreign.url : foreign.neighborUrl;
        const fields = {
          subType: 'CHECKING',
          achRoutingNumber: '021000021',
          achAccountNumber: '000123456789',
          achAccountNumberConfirmation: '000123456789',
          addressLine1: '12 St James Square',
          city: 'Sacramento',
          state: 'CA',
          postalCode: '95814',
          countryCode: 'US',
        };
        // With the value that a stranger has, and even with the right one.
        for (const token of ['', 'x'.repeat(43), formToken]) {
          await page.goto(address);
          const [answer] = await Promise.all([
            page.waitForResponse((response) => response.request().method() === 'POST'),
            page.evaluate(
              `(${submitForm})(${JSON.stringify({
                action: `${scenario.origin}${payPath()}`,
                fields: { ...fields, formToken: token },
              })})`,
            ),
          ]);
          expect(answer.status()).toBe(403);
          await page.waitForURL(answer.url());
        }
        const { status } = await scenario.api.data<{ status: string }>(
          ...([200, 'GET', `/v1/payments/${link.paymentId}`] as const),
        );
        expect(status).toBe('AWAITING_CONFIRMATION');
      },
      limitMs,
    );

    it(
      'cannot frame the sign-in page, the dashboard or a link',
      async () => {
        const watched = await keep(scenario.signedIn('admin'));
        const { page, complaints } = watched;
        await page.getByRole('link', { name: 'Payments', exact: true }).waitFor();
        for (const address of [foreign.url, foreign.neighborUrl])
          for (const path of ['/dashboard/sign-in', '/dashboard/payments', payPath()]) {
            await page.goto(address);
            complaints.length = 0;
            const src = JSON.stringify(`${scenario.origin}${path}`);
            await page.evaluate(
              `document.body.append(Object.assign(document.createElement('iframe'), { src: ${src} }))`,
            );
            await until(() => complaints.some((text) => text.includes('frame-ancestors')), {
              timeoutMs: shownLimitMs,
              what: `the refusal to frame ${path}: ${complaints.join(', ')}`,
            });
            const [, frame] = page.frames();
            expect(await frame?.getByRole('heading').count()).toBe(0);
          }
      },
      limitMs,
    );

    it(
      'does not learn the address of a link or of the dashboard from a page that leads to it',
      async () => {
        for (const watched of [
          await keep(scenario.open(payPath())),
          await keep(scenario.signedIn('operator', `/dashboard/payments/${link.paymentId}`)),
        ]) {
          const { page } = watched;
          await page.getByRole('heading').first().waitFor();
          const mark = `/left/${randomUUID()}`;
          const given = JSON.stringify({ href: `${foreign.url}${mark}` });
          await page.evaluate(`(${followLink})(${given})`);
          await page.getByRole('heading', { name: 'Somebody else' }).waitFor();
          const left = foreign.requests.filter((request) => request.path === mark);
          expect(left.map(({ headers }) => headers.referer)).toEqual([undefined]);
        }
        expect(JSON.stringify(foreign.requests)).not.toContain(payPath().slice('/pay/'.length));
      },
      limitMs,
    );
  });

  describe('a session', () => {
    it(
      'is never one that was there before the sign-in, and ends with the sign-out',
      async () => {
        const victim = await scenario.user('admin');
        const invented = randomBytes(32).toString('base64url');
        const watched = await keep(scenario.open('/dashboard/sign-in'));
        const { page } = watched;
        const { hostname: domain } = new URL(scenario.origin);
        const plant = (value: string) =>
          page.context().addCookies([{ name: cookieName, value, domain, path: '/dashboard' }]);
        await plant(invented);
        await signInByForm(watched, victim);
        await page.getByText(victim.email).first().waitFor();
        const own = (await sessionOf(watched))?.value ?? '';
        expect(own).not.toBe(invented);
        expect(await statusWith(invented)).toBe(401);
        expect(await statusWith(own, '/users')).toBe(200);

        // The session of an attacker, planted in the victim's browser, stays the attacker's.
        const attacker = await keep(scenario.signedIn('viewer'));
        const planted = (await sessionOf(attacker))?.value ?? '';
        await plant(planted);
        const { email, password } = victim;
        const answer = await page
          .context()
          .request.post(`${scenario.origin}/dashboard/api/sign-in`, {
            headers: { origin: scenario.origin, 'x-pis-dashboard': '1' },
            data: { email, password },
          });
        expect(answer.status()).toBe(200);
        const second = (await sessionOf(watched))?.value ?? '';
        expect([own, planted]).not.toContain(second);
        expect(await statusWith(second, '/users')).toBe(200);
        expect(await statusWith(planted)).toBe(401);
        // Another host of the domain can add a cookie of the same name. Then neither counts.
        for (const two of [`x; ${cookieName}=${second}`, `${second}; ${cookieName}=x`])
          expect(await statusWith(two)).toBe(401);

        await page.goto(`${scenario.origin}/dashboard/payments`);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.waitForURL('**/dashboard/sign-in*');
        expect(await statusWith(second)).toBe(401);
      },
      limitMs,
    );

    it(
      'is out of reach of scripts, and stays on this site',
      async () => {
        const watched = await keep(scenario.signedIn('viewer'));
        await watched.page.getByRole('link', { name: 'Payments', exact: true }).waitFor();
        const cookie = await sessionOf(watched);
        expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', expires: -1 });
        const readable = await watched.value<string>(
          'document.cookie + JSON.stringify([{ ...localStorage }, { ...sessionStorage }])',
        );
        expect(readable).not.toContain(cookie?.value);
        expect(await watched.value('document.cookie')).toBe('');
      },
      limitMs,
    );

    it.each([
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example/',
      '/\t/evil.example/',
      '\\\\evil.example',
      'javascript:document.title="owned"',
      '/../../evil',
      '/sign-in?next=//evil.example',
    ])(
      'begins in the dashboard, wherever the address led: %s',
      async (next) => {
        const watched = await keep(
          scenario.open(`/dashboard/sign-in?next=${encodeURIComponent(next)}`),
        );
        await signInByForm(watched, await scenario.user('viewer'));
        await watched.page.waitForURL(({ pathname }) => !pathname.endsWith('/sign-in'));
        await watched.page.getByRole('heading', { level: 1 }).first().waitFor();
        expect(watched.page.url()).toMatch(new RegExp(`^${scenario.origin}/dashboard/`));
        expect(await watched.page.title()).not.toBe('owned');
        watched.expectQuiet();
      },
      limitMs,
    );
  });
});
