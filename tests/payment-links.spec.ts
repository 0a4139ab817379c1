/**
 * The journey of a payment link through the whole running system: a user requests money in the dashboard, a payer
 * submits bank details on a phone, the money moves, and everybody who should know is told.
 */
import { randomUUID } from 'node:crypto';
import { startHttpsReceiver, until } from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import type { Browser, Page } from 'playwright-core';
import { Api } from './support/api.js';
import { browserPath, openBrowser } from './support/browser.js';
import { type Collector, startCollector } from './support/collector.js';
import { Dashboard } from './support/dashboard.js';
import { tablePlaces } from './support/everywhere.js';
import { fillBankDetails, headed, phone, submitBankDetails } from './support/payer.js';
import { pis, pisJson } from './support/process.js';
import {
  allInOne,
  distributedOnPostgres,
  type StartSystem,
  type System,
} from './support/systems.js';
import { readTopics } from './support/topics.js';

const startLimitMs = 300_000;
const testLimitMs = 240_000;
const arrivalLimitMs = 90_000;
const password = 'correct horse battery staple';

const amount = 12_345;
/** Of the demo organization: 10 basis points of the amount, rounded down, and 25 cents. */
const demoFee = 37;
/** The simulated bank takes a transfer of this account, and confirms it only when it is told to. */
const heldAccount = '000123450502';

type Receiver = Awaited<ReturnType<typeof startHttpsReceiver>>;
type Role = 'viewer' | 'operator';

interface Created {
  readonly paymentId: string;
  readonly status: string;
  readonly url: string;
}

interface Payment {
  readonly paymentId: string;
  readonly status: string;
  readonly discountFee: number;
  readonly flatFee: number;
  readonly [field: string]: unknown;
}

interface PaymentPage {
  readonly payment: Payment;
  readonly timeline: readonly { readonly traceId: string | null }[];
  readonly link: {
    readonly state: string;
    readonly accesses: readonly {
      readonly kind: string;
      /** Accesses of one visitor within a short time are one entry. */
      readonly count: number;
      readonly outcome: string | null;
      readonly visitor: { readonly ip: string; readonly userAgent: string | null } | null;
    }[];
  };
}

interface WebhookEvent {
  readonly eventType: string;
  readonly data: Payment & { readonly previousStatus: string | null };
}

interface Books {
  readonly data: readonly Readonly<Record<string, unknown>>[];
}

const setups = browserPath === undefined ? describe.skip : describe;
setups('payment links, all in one (skipped where no Chromium is installed)', () =>
  journey(allInOne, { fee: demoFee, shown: ['$123.45', '$0.37', '$123.82'] }),
);
const canDistribute = browserPath !== undefined && Boolean(process.env['PIS_TEST_KAFKA_BROKERS']);
(canDistribute ? describe : describe.skip)('payment links, each app a process of its own', () =>
  journey(distributedOnPostgres, { fee: 0, shown: ['$123.45'] }),
);

interface Terms {
  /** What the payer pays on top of the amount, in cents. */
  readonly fee: number;
  /** The amounts on the page. */
  readonly shown: readonly string[];
}

function journey(start: StartSystem, { fee, shown }: Terms): void {
  let receiver: Receiver;
  let collector: Collector;
  let system: System;
  let api: Api;
  let operator: Dashboard;
  let browser: Browser;
  let page: Page;
  let webhookSecret: string;
  /** Of all links of the run. */
  const tokens: string[] = [];
  /** Of the requests that the timeline of a payment names. */
  const traceIds: (string | null)[] = [];

  beforeAll(async () => {
    receiver = await startHttpsReceiver();
    collector = await startCollector();
    system = await start({
      ...collector.environment,
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      // On a busy machine a payment is not late after the sandbox's two seconds.
      PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(testLimitMs),
      LOG_LEVEL: 'debug',
    });
    api = new Api(system.apiUrl, system.apiKey);
    operator = await userOf(system.organizationId, 'operator');
    const endpoint = await api.data<{ secret: string }>(201, 'POST', '/v1/webhooks', {
      url: `${receiver.url}/hook`,
      subscribedEvents: ['payment.*'],
    });
    webhookSecret = endpoint.secret;
    browser = await openBrowser();
  }, startLimitMs);

  afterAll(async () => {
    await browser?.close();
    await system?.stop();
    await receiver?.close();
    await collector?.close();
  }, startLimitMs);

  beforeEach(async () => {
    page = await (await browser.newContext({ locale: 'en-US', ...phone })).newPage();
    page.setDefaultTimeout(arrivalLimitMs);
  });
  afterEach(() => page?.context().close());

  /** Created by staff, signed in as a person. */
  async function userOf(organizationId: string, role: Role): Promise<Dashboard> {
    const email = `${role}.${randomUUID()}@example.com`;
    const args = ['user', 'create', '--organization', organizationId, '--email', email];
    const { code, stderr } = await pis(
      [...args, '--role', role, '--json'],
      system.environment,
      `${password}\n`,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const user = new Dashboard(system.dashboardUrl);
    await user.signIn(email, password);
    return user;
  }

  async function requested(): Promise<Created> {
    const created = await operator.data<Omit<Created, 'url'>>('POST', '/payments', {
      originatorId: system.originatorId,
      direction: 'INBOUND',
      recipient: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
      paymentAmount: amount,
      paymentNote: 'Invoice 42',
      idempotencyKey: randomUUID(),
    });
    const { url } = await operator.data<{ url: string }>(
      'POST',
      `/payments/${created.paymentId}/link`,
    );
    expect(url).toMatch(/\/pay\/[\w-]{43}$/);
    tokens.push(url.slice(-43));
    return { ...created, url };
  }

  /** A proxy sends /pay/ to the pages. */
  const addressOf = ({ url }: Created) => system.pagesUrl + new URL(url).pathname;
  const read = (paymentId: string) => api.data<Payment>(200, 'GET', `/v1/payments/${paymentId}`);
  const pageOf = ({ paymentId }: Created, user = operator) =>
    user.data<PaymentPage>('GET', `/payments/${paymentId}`);

  const reaching = (paymentId: string, status: string) =>
    until(
      async () => {
        const payment = await read(paymentId);
        return payment.status === status ? payment : null;
      },
      { timeoutMs: arrivalLimitMs },
    );

  /** The verified webhooks of a payment by their types, once these have arrived. */
  async function told({ paymentId }: Created, types: readonly string[]) {
    const received = await until(
      () => {
        const mine = receiver.requests.filter(({ body }) => body.includes(paymentId));
        return types.every((type) => mine.some(({ body }) => body.includes(`"${type}"`)))
          ? mine
          : null;
      },
      { timeoutMs: arrivalLimitMs },
    );
    return new Map(
      received.map(({ headers, body }) => {
        expect(verify(body, headers, webhookSecret, new Date())).toBe(true);
        const event = JSON.parse(body) as WebhookEvent;
        return [event.eventType, event.data] as const;
      }),
    );
  }

  it(
    'a requested payment waits without a contact until its payer submits a bank account, and then completes',
    async () => {
      const created = await requested();
      const { paymentId } = created;
      expect(created.status).toBe('AWAITING_CONFIRMATION');
      const waiting = await read(paymentId);
      expect(waiting).toMatchObject({ status: 'AWAITING_CONFIRMATION', contact: null });
      const first = await told(created, ['payment.awaiting_confirmation']);
      expect([...first]).toEqual([
        ['payment.awaiting_confirmation', { ...waiting, previousStatus: null }],
      ]);

      await page.goto(addressOf(created));
      await headed(page, 'Payment details');
      for (const text of shown) await page.getByText(text, { exact: true }).first().waitFor();
      await fillBankDetails(page);
      await submitBankDetails(page);
      await headed(page, 'Payment status');
      const completed = await reaching(paymentId, 'COMPLETED');
      expect(completed).toMatchObject({
        paymentAmount: amount,
        direction: 'INBOUND',
        paymentRail: 'ACH',
        contact: { firstName: 'Ada', bankAccount: { achAccountNumber: '********6789' } },
      });
      expect(completed.discountFee + completed.flatFee).toBe(fee);
      await page.getByText('Completed', { exact: true }).waitFor();

      const events = await told(created, [
        'payment.queued',
        'payment.processing',
        'payment.completed',
      ]);
      expect([...events].map(([type, data]) => [type, data.previousStatus]).toSorted()).toEqual([
        ['payment.awaiting_confirmation', null],
        ['payment.completed', 'PROCESSING'],
        ['payment.processing', 'QUEUED'],
        ['payment.queued', 'AWAITING_CONFIRMATION'],
      ]);
      expect(events.get('payment.completed')).toEqual({
        ...completed,
        previousStatus: 'PROCESSING',
      });
      const { data: books } = await pisJson<Books>(['sandbox', 'books'], system.environment);
      expect(books).toEqual([
        expect.objectContaining({
          ...{ rail: 'ACH', direction: 'INBOUND', amount: amount + fee },
          ...{ accountLastFour: '6789', state: 'executed' },
        }),
      ]);
    },
    testLimitMs,
  );

  it(
    'the page of a used link follows the payment without a reload, and its visits are recorded',
    async () => {
      const created = await requested();
      await page.goto(addressOf(created));
      const accounts = { 'Account number': heldAccount, 'Confirm account number': heldAccount };
      await fillBankDetails(page, accounts);
      await submitBankDetails(page);
      await headed(page, 'Payment status');
      const loads: string[] = [];
      page.on('framenavigated', (frame) => loads.push(frame.url()));
      await page.getByText('Processing', { exact: true }).waitFor();
      await operator.data('POST', `/payments/${created.paymentId}/simulate`, {
        outcome: 'complete',
      });
      await page.getByText('Completed', { exact: true }).waitFor();
      expect(loads).toEqual([]);

      const { link, timeline } = await pageOf(created);
      traceIds.push(...timeline.map(({ traceId }) => traceId));
      expect(link.state).toBe('used');
      const visitor = {
        ip: '127.0.0.1',
        userAgent: expect.stringContaining('Chrome') as unknown,
      };
      const submits = link.accesses.filter(({ kind }) => kind === 'submit');
      expect(submits.map(({ count, outcome }) => ({ count, outcome }))).toEqual([
        { count: 1, outcome: 'QUEUED' },
      ]);
      // Before the submission and after it.
      const opens = link.accesses.filter(({ kind }) => kind === 'open');
      expect(opens.reduce((sum, { count }) => sum + count, 0)).toBe(2);
      for (const access of [...submits, ...opens]) expect(access.visitor).toEqual(visitor);
      const rest = link.accesses.filter(({ kind }) => kind !== 'submit' && kind !== 'open');
      expect(rest).toMatchObject([{ kind: 'show', count: 1, visitor: null }]);
    },
    testLimitMs,
  );

  it(
    'a canceled link is gone at once, also for a payer who has it open',
    async () => {
      const created = await requested();
      await page.goto(addressOf(created));
      await fillBankDetails(page);
      const path = `/payments/${created.paymentId}`;
      const canceled = await operator.data<Payment>('POST', `${path}/cancel`);
      expect(canceled).toMatchObject({ status: 'CANCELED', contact: null });
      expect((await fetch(addressOf(created))).status).toBe(404);
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === 'POST'),
        submitBankDetails(page),
      ]);
      expect(answer.status()).toBe(404);
      await headed(page, 'Page not found');
      expect((await operator.call('POST', `${path}/link`)).status).toBe(404);
      expect(await read(created.paymentId)).toEqual(canceled);
      const events = await told(created, ['payment.canceled']);
      expect(events.get('payment.canceled')).toEqual({
        ...canceled,
        previousStatus: 'AWAITING_CONFIRMATION',
      });
    },
    testLimitMs,
  );

  it(
    'only operators of the organization see the link',
    async () => {
      const created = await requested();
      const path = `/payments/${created.paymentId}`;
      const [token = ''] = tokens.slice(-1);
      const link = await operator.data<{ url: string }>('POST', `${path}/link`);
      expect(link.url).toBe(created.url);

      const viewer = await userOf(system.organizationId, 'viewer');
      expect((await viewer.call('POST', `${path}/link`)).status).toBe(403);
      expect((await viewer.call('POST', `${path}/cancel`)).status).toBe(403);
      const seen = await pageOf(created, viewer);
      expect(seen.payment.paymentId).toBe(created.paymentId);
      expect(JSON.stringify(seen)).not.toContain(token);

      const other = await pisJson<{ organizationId: string }>(
        ['organization', 'create', '--name', 'Other Inc'],
        system.environment,
      );
      const stranger = await userOf(other.organizationId, 'operator');
      expect((await stranger.call('GET', path)).status).toBe(404);
      for (const action of ['link', 'cancel'])
        expect((await stranger.call('POST', `${path}/${action}`)).status).toBe(404);
      expect((await read(created.paymentId)).status).toBe('AWAITING_CONFIRMATION');
    },
    testLimitMs,
  );

  it(
    'no token of a link is found in any table, topic, webhook, log line or trace of the run',
    async () => {
      const tables = [...(await tablePlaces(system.databaseUrl)).values()].join('\n');
      const topics = await readTopics(system.environment);
      // Its last log lines and spans come while it ends.
      await system.stop();
      const webhooks = JSON.stringify(receiver.requests);
      const texts = { tables, topics, webhooks, logs: system.logs(), traces: collector.text() };
      // These prove that the pages and the dashboard are in what is searched.
      expect(texts.logs).toContain('"/pay/');
      expect(texts.logs).toContain('shutting down');
      expect(texts.traces).toContain('"POST /pay/');
      expect(texts.webhooks).toContain('payment.awaiting_confirmation');
      // Requested, submitted, handed to the bank, completed.
      expect(traceIds).toHaveLength(4);
      for (const traceId of traceIds) {
        expect(traceId).toMatch(/^[0-9a-f]{32}$/);
        const found = texts.traces.includes(`"traceId":"${traceId}"`);
        expect({ traceId, found }).toEqual({ traceId, found: true });
      }
      const [creation, submission] = traceIds;
      expect(submission).not.toBe(creation);
      const postsOfPage = /"traceId":"([0-9a-f]{32})"[^{}]*"name":"POST \/pay\/:token"/g;
      const posts = [...texts.traces.matchAll(postsOfPage)].map(([, traceId]) => traceId);
      expect(posts).toContain(submission);
      expect(tokens).toHaveLength(4);
      for (const [place, text] of Object.entries(texts))
        for (const token of tokens)
          expect({ place, found: text.includes(token) }).toEqual({ place, found: false });
    },
    testLimitMs,
  );
}
