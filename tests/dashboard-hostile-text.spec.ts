/**
 * Text that others wrote is shown as text. Every field that takes text holds markup here: names, notes, addresses,
 * references, labels, reasons, names of saved views, addresses, the browser of a visitor, the answer of a webhook receiver.
 * Every screen that a link leads to is opened.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type HttpsReceiver, startHttpsReceiver, until } from '@pis/local-servers/testing';
import type { Response } from 'playwright-core';
import { Api } from './support/api.js';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, type DashboardUser, startDashboard } from './support/dashboard.js';
import { headed } from './support/payer.js';
import { pisJson } from './support/process.js';
import { linked } from './support/requested-link.js';
import type { Look, WatchedPage } from './support/watched-page.js';

const limitMs = 300_000;
const arrivalLimitMs = 90_000;
/** Of each kind of screen: one with a record, and one more. */
const pagesOfKindMax = 2;
const pagesMax = 50;

/** Runs where a browser takes it for markup, in an element, an attribute or a script. */
const hostile = (field: string) => `${field}'"><img src=x onerror=owned=1><script>owned=1</script>`;
/** What a screen shows of it. */
const shown = (field: string) => `${field}'">`;

/** Fields whose text a screen shows. */
const fields = {
  organization: 'orgName',
  originator: 'originatorName',
  business: 'businessName',
  first: 'firstName',
  last: 'lastName',
  holder: 'holderName',
  note: 'noteText',
  reference: 'referenceText',
  label: 'webhookLabel',
  reason: 'rejectionReason',
  view: 'viewName',
} as const;

/** Payments of more need an approval. Cents. */
const approvalAbove = 5_000;
/** Addresses that hold markup, and that somebody may be sent. */
const hostileAddresses = [
  `/dashboard/payments?externalPaymentId=${encodeURIComponent(hostile('searchedReference'))}`,
  hostileFilters('payments', ['status', 'direction', 'paymentRail', 'originatorId', 'contactId']),
  hostileFilters('payments', ['createdFrom', 'createdTo']),
  hostileFilters('payments/new', ['direction', 'contactId']),
  hostileFilters('overview', ['days']),
  hostileFilters('approvals', ['state']),
  hostileFilters('contacts', ['originatorId']),
  hostileFilters('contacts/new', ['originatorId']),
  hostileFilters('users', ['role', 'state']),
  hostileFilters('exports', ['status', 'from']),
  `/dashboard/${encodeURIComponent(hostile('unknownScreen'))}`,
];

/** The address of a screen whose filters hold markup instead of a choice, an ID or a day. */
function hostileFilters(screen: string, names: readonly string[]): string {
  const filters = new URLSearchParams(
    Object.fromEntries(names.map((name) => [name, hostile(name)])),
  );
  return `/dashboard/${screen}?${filters}`;
}

describeInBrowser('Hostile text', () => {
  let receiver: HttpsReceiver;
  let scenario: DashboardScenario;
  let admin: DashboardUser;
  /** `/pay/<token>` */
  let payPath: string;
  /** `/dashboard/approvals/<id>` */
  let approvalPath: string;

  beforeAll(async () => {
    receiver = await startHttpsReceiver({
      respondWith: () => ({ status: 500, body: hostile('webhookAnswer') }),
    });
    scenario = await startDashboard({
      settings: {
        PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        PIS_WEBHOOK_CA_FILE: receiver.caFile,
      },
    });
    const { organizationId, originatorId, api } = await hostileOrganization();
    admin = await scenario.newUser('admin', organizationId);
    const approver = await scenario.newUser('approver', organizationId);
    await fill(api, originatorId);
    approvalPath = await rejectedApproval(originatorId, approver);
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    await receiver?.close();
  });

  async function hostileOrganization() {
    const { environment, apiUrl } = scenario.system;
    const { organizationId } = await pisJson<{ organizationId: string }>(
      ['organization', 'create', '--name', hostile(fields.organization)],
      environment,
    );
    const of = ['--organization', organizationId];
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-hostile-'));
    const file = path.join(folder, 'originator.json');
    writeFileSync(
      file,
      JSON.stringify({
        entityType: 'BUSINESS',
        companyName: hostile(fields.originator),
        email: 'treasury@hostile.example',
        legalAddress: address,
        bankAccount,
      }),
    );
    const { originatorId } = await pisJson<{ originatorId: string }>(
      ['originator', 'create', ...of, '--file', file],
      environment,
    );
    rmSync(folder, { recursive: true });
    const { apiKey } = await pisJson<{ apiKey: string }>(
      ['api-key', 'create', ...of, '--type', 'full_access'],
      environment,
    );
    return { organizationId, originatorId, api: new Api(apiUrl, apiKey) };
  }

  /** Contacts, payments, a link with a visitor, a session and a webhook endpoint that fails. */
  async function fill(api: Api, originatorId: string): Promise<void> {
    await until(
      async () => (await api.data<unknown[]>(200, 'GET', '/v1/originators/')).length > 0,
      { timeoutMs: arrivalLimitMs },
    );
    await api.data(201, 'POST', '/v1/webhooks', {
      url: `${receiver.url}/hook?q=${encodeURIComponent(hostile('webhookUrl'))}`,
      subscribedEvents: ['payment.*'],
      label: hostile(fields.label),
    });
    const common = { originatorId, legalAddress: address, bankAccount };
    const business = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
      ...common,
      entityType: 'BUSINESS',
      companyName: hostile(fields.business),
      email: 'business@hostile.example',
    });
    await api.data(201, 'POST', '/v1/contacts/', {
      ...common,
      entityType: 'INDIVIDUAL',
      firstName: hostile(fields.first),
      lastName: hostile(fields.last),
      email: 'person@hostile.example',
    });
    const texts = {
      paymentNote: hostile(fields.note),
      externalPaymentId: hostile(fields.reference),
    };
    const payment = { originatorId, contactId: business.contactId, paymentAmount: 1_000, ...texts };
    const key = { 'idempotency-key': hostile('idempotencyKey') };
    await api.data(201, 'POST', '/v1/payments/', { ...payment, direction: 'OUTBOUND' }, key);

    const client = await scenario.client(admin);
    const { url } = await linked(client, {
      originatorId,
      direction: 'INBOUND',
      recipient: { entityType: 'BUSINESS', companyName: hostile(fields.holder) },
      paymentAmount: 2_000,
      ...texts,
      idempotencyKey: randomUUID(),
    });
    payPath = new URL(url).pathname;
    // A visitor whose browser calls itself so, and a session of such a browser.
    const headers = { 'user-agent': hostile('userAgent') };
    await fetch(`${scenario.system.pagesUrl}${payPath}`, { headers });
    await fetch(`${scenario.origin}/dashboard/api/sign-in`, {
      method: 'POST',
      headers: {
        ...headers,
        origin: scenario.origin,
        'x-pis-dashboard': '1',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ email: admin.email, password: admin.password }),
    });
    await until(() => receiver.requests.length >= 2, { timeoutMs: arrivalLimitMs });
  }

  /** The path of a payment that an approver rejects. */
  async function rejectedApproval(originatorId: string, approver: DashboardUser): Promise<string> {
    const [asking, deciding] = await Promise.all([
      scenario.client(admin),
      scenario.client(approver),
    ]);
    await asking.data('PATCH', '/settings/approvals', { amountAbove: approvalAbove });
    const { approvalId } = await asking.data<{ approvalId: string }>('POST', '/payments', {
      originatorId,
      direction: 'INBOUND',
      recipient: {
        entityType: 'INDIVIDUAL',
        firstName: hostile(fields.first),
        lastName: hostile(fields.last),
      },
      paymentAmount: approvalAbove + 1,
      paymentNote: hostile(fields.note),
      idempotencyKey: randomUUID(),
    });
    await deciding.data('POST', `/approvals/${approvalId}/reject`, {
      reason: hostile(fields.reason),
    });
    return `/dashboard/approvals/${approvalId}`;
  }

  /** The filters of a list, under a name. It is kept in the browser. */
  async function saveView({ page }: WatchedPage): Promise<void> {
    await page.goto(`${scenario.origin}/dashboard/payments?status=QUEUED`);
    await page.getByRole('button', { name: 'Save view' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('textbox', { name: 'Name' }).fill(hostile(fields.view));
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('link', { name: shown(fields.view) }).waitFor();
  }

  /** Nothing of it became an element or ran. */
  async function expectText(watched: WatchedPage): Promise<void> {
    const found = await watched.value<unknown>(`({
      ran: typeof owned,
      elements: document.querySelectorAll('img[src="x"], [onerror], script:not([src])').length,
    })`);
    expect(found).toEqual({ ran: 'undefined', elements: 0 });
    watched.expectQuiet();
  }

  /** Personal data is in no cache. */
  function notStored(watched: WatchedPage): readonly string[] {
    const stored: string[] = [];
    watched.page.on('response', (response: Response) => {
      const { pathname } = new URL(response.url());
      if (response.url().startsWith('data:') || pathname.includes('/assets/')) return;
      const caching = response.headers()['cache-control'] ?? '';
      if (!caching.split(/,\s*/).includes('no-store')) stored.push(`${pathname}: ${caching}`);
    });
    return stored;
  }

  it.each(['desktop', 'dark'] as const)(
    'is text in every screen of the dashboard: %s',
    async (look) => {
      const watched = await scenario.signedIn(admin, '/dashboard/sign-in', look);
      const stored = notStored(watched);
      const texts = new Map<string, string>();
      await saveView(watched);
      const queue = [
        '/dashboard/',
        '/dashboard/payments/new',
        '/dashboard/payments',
        approvalPath,
        // Their texts have no color of their own.
        ...(look === 'desktop' ? hostileAddresses : []),
      ];
      const kinds = new Map<string, number>();
      const known = new Set(queue);
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        texts.set(next, await visited(watched, next));
        await expectText(watched);
        for (const link of await linksOf(watched)) {
          const kind = kindOf(link);
          const count = kinds.get(kind) ?? 0;
          if (known.has(link) || count >= pagesOfKindMax || known.size >= pagesMax) continue;
          kinds.set(kind, count + 1);
          known.add(link);
          queue.push(link);
        }
      }
      const all = [...texts.values()].join('\n');
      // The name of an unconfirmed account holder is on the page of the link alone.
      const { holder: _, ...ours } = fields;
      const missing = Object.values(ours).filter((field) => !all.includes(shown(field)));
      expect(missing).toEqual([]);
      expect([...kinds.keys()]).toContain('/dashboard/payments/:id');
      expect(stored).toEqual([]);
      await watched.close();
    },
    limitMs,
  );

  it.each(['phone', 'darkPhone'] as const satisfies readonly Look[])(
    'is text in the page of a link: %s',
    async (look) => {
      const watched = await scenario.open(payPath, look);
      const stored = notStored(watched);
      const { page } = watched;
      await headed(page, 'Payment details');
      const text = (await page.locator('body').textContent()) ?? '';
      for (const field of ['organization', 'originator', 'holder', 'note'] as const)
        expect(text).toContain(shown(fields[field]));
      for (const input of await page.locator('input[type=text]').all())
        await input.fill(hostile('typed'));
      await page.getByRole('button', { name: 'Submit bank details' }).click();
      await page.getByText('Check the form').waitFor();
      await expectText(watched);
      expect(stored).toEqual([]);
      await watched.close();
    },
    limitMs,
  );
});

const address = {
  addressLine1: hostile('addressLine'),
  city: hostile('cityName'),
  state: 'CA',
  postalCode: '95814',
  countryCode: 'US',
};
const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '100020003000',
};

/** Opens a screen and waits until it has its data. Returns all its text. */
async function visited({ page }: WatchedPage, address: string): Promise<string> {
  const pending = new Set<unknown>();
  const begun = (request: { url(): string }) => {
    // The stream of live updates stays open.
    if (!request.url().endsWith('/live')) pending.add(request);
  };
  const ended = (request: unknown) => pending.delete(request);
  page.on('request', begun).on('requestfinished', ended).on('requestfailed', ended);
  await page.goto(new URL(address, page.url()).href);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await until(() => pending.size === 0, { timeoutMs: arrivalLimitMs });
  // What came last is shown in the next frame.
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))',
  );
  page.off('request', begun).off('requestfinished', ended).off('requestfailed', ended);
  return (await page.locator('body').textContent()) ?? '';
}

/** The screens that links of a page lead to. */
async function linksOf(watched: WatchedPage): Promise<readonly string[]> {
  return watched.value(`[...document.querySelectorAll('a[href^="/dashboard/"]:not([download])')]
    .map((link) => link.getAttribute('href'))`);
}

/** `/dashboard/payments/:id` */
function kindOf(link: string): string {
  return link.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, ':id');
}
