/**
 * The journey of a request in two browsers: a user at a desk, and a payer with a phone. The dashboard follows the
 * payment without a reload, and webhooks tell a system about it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { linkLifetimeMs } from '@pis/domain';
import { type HttpsReceiver, startHttpsReceiver, until } from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, signInByForm, startDashboard } from './support/dashboard.js';
import { fillBankDetails, headed, submitBankDetails } from './support/payer.js';
import { root } from './support/process.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const arrivalLimitMs = 90_000;
const clockAhead = pathToFileURL(path.join(root, 'tests/support/clock-ahead.mjs')).href;

/** The simulated bank takes a transfer of this account, and confirms it only when it is told to. */
const heldAccount = '000123450502';

interface WebhookEvent {
  readonly eventType: string;
  readonly data: { readonly status: string; readonly previousStatus: string | null };
}

describeInBrowser('A request for money by a link', () => {
  let dataDir: string;
  let receiver: HttpsReceiver;
  let scenario: DashboardScenario;
  let secret: string;
  /** Open pages. All are closed after a test. */
  let opened: WatchedPage[];

  beforeAll(async () => {
    dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-journey-'));
    receiver = await startHttpsReceiver();
    scenario = await start({});
    const endpoint = { url: `${receiver.url}/hook`, subscribedEvents: ['payment.*'] };
    ({ secret } = await scenario.api.data<{ secret: string }>(
      ...([201, 'POST', '/v1/webhooks', endpoint] as const),
    ));
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    await receiver?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  beforeEach(() => {
    opened = [];
  });
  afterEach(() => Promise.all(opened.map((watched) => watched.close())));

  function start(more: Readonly<Record<string, string>>): Promise<DashboardScenario> {
    const settings = {
      PIS_DATA_DIR: dataDir,
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      // On a busy machine a payment is not late after the sandbox's two seconds.
      PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(limitMs),
      ...more,
    };
    return startDashboard({ settings });
  }

  async function keep(opening: Promise<WatchedPage>): Promise<WatchedPage> {
    const watched = await opening;
    opened.push(watched);
    return watched;
  }

  async function desk(): Promise<WatchedPage> {
    const watched = await keep(scenario.open('/dashboard/payments'));
    await watched.page.waitForURL('**/dashboard/sign-in*');
    await signInByForm(watched, await scenario.user('operator'));
    return watched;
  }

  /** Requests $250.00 and stays on the payment's page. */
  async function requested({ page }: WatchedPage, note: string) {
    await page.getByRole('button', { name: 'New payment' }).click();
    // The list that is left has a filter of the same name as the first field.
    await page.getByRole('heading', { name: 'New payment' }).waitFor();
    await page.getByLabel('Direction', { exact: true }).selectOption({ label: 'Request' });
    await page.getByLabel('Recipient', { exact: true }).selectOption({ label: 'New recipient' });
    await page.getByLabel('Recipient type').selectOption({ label: 'Business' });
    await page.getByLabel('Company name').fill('Analytical Engines Ltd');
    await page.getByLabel('Amount').fill('250.00');
    await page.getByLabel('Note').fill(note);
    await page.getByRole('button', { name: 'Create payment' }).click();
    await page.waitForURL(/\/dashboard\/payments\/[0-9a-f-]{36}$/);
    await page.getByRole('heading', { name: 'Payment link' }).waitFor();
    const url = (await page.getByText(/\/pay\/[\w-]{43}$/).textContent()) ?? '';
    await page.getByRole('img', { name: /^QR code/ }).waitFor();
    return { paymentId: page.url().slice(-36), payPath: new URL(url).pathname };
  }

  const phone = (payPath: string, locale = 'en-US') =>
    keep(scenario.open(payPath, 'phone', { locale }));

  /** Shown by the payment's page on its own, for example `Queued`. */
  const showing = (page: Page, text: string) =>
    page.getByText(text, { exact: true }).first().waitFor({ timeout: arrivalLimitMs });

  /** The webhooks of a payment with the given types, in the order of their arrival. Their signatures are checked. */
  async function told(paymentId: string, types: readonly string[]) {
    const received = await until(
      () => {
        const mine = receiver.requests.filter(({ body }) => body.includes(paymentId));
        return types.every((type) => mine.some(({ body }) => body.includes(`"${type}"`)))
          ? mine
          : null;
      },
      { timeoutMs: arrivalLimitMs },
    );
    return received.map(({ headers, body }) => {
      expect(verify(body, headers, secret, new Date())).toBe(true);
      expect(verify(`${body} `, headers, secret, new Date())).toBe(false);
      const { eventType, data } = JSON.parse(body) as WebhookEvent;
      return [eventType, data.previousStatus];
    });
  }

  it(
    'is confirmed on a phone, and the dashboard shows it queued and completed without a reload',
    async () => {
      const watched = await desk();
      const { page } = watched;
      const { paymentId, payPath } = await requested(watched, 'Invoice 1842');
      const loads: string[] = [];
      page.on('framenavigated', (frame) => loads.push(frame.url()));

      const payer = await phone(payPath);
      await headed(payer.page, 'Payment details');
      await payer.page.getByText('Analytical Engines Ltd').first().waitFor();
      await payer.page.getByText('Invoice 1842').waitFor();
      await payer.screenshot('journey-payer-details');
      const accounts = { 'Account number': heldAccount, 'Confirm account number': heldAccount };
      await fillBankDetails(payer.page, accounts);
      await submitBankDetails(payer.page);
      await headed(payer.page, 'Payment status');
      await payer.page.getByText('Processing', { exact: true }).waitFor();

      // QUEUED lasts some milliseconds. The timeline keeps it.
      const timeline = page.getByRole('listitem');
      await timeline.filter({ hasText: 'Queued' }).first().waitFor({ timeout: arrivalLimitMs });
      await showing(page, 'Processing');
      await showing(page, 'Used');
      const operator = await scenario.client('operator');
      await operator.data('POST', `/payments/${paymentId}/simulate`, { outcome: 'complete' });
      await showing(page, 'Completed');
      await payer.page.getByText('Completed', { exact: true }).waitFor();
      expect(loads).toEqual([]);
      await watched.screenshot('journey-dashboard-completed');

      const events = await told(paymentId, [
        'payment.awaiting_confirmation',
        'payment.queued',
        'payment.completed',
      ]);
      expect(events.toSorted()).toEqual([
        ['payment.awaiting_confirmation', null],
        ['payment.completed', 'PROCESSING'],
        ['payment.processing', 'QUEUED'],
        ['payment.queued', 'AWAITING_CONFIRMATION'],
      ]);
      await watched.expectSound();
      await payer.expectSound();
    },
    limitMs,
  );

  it(
    'is canceled in the dashboard while its payer fills in the form: the payer is told, and nothing is queued',
    async () => {
      const watched = await desk();
      const { page } = watched;
      const { paymentId, payPath } = await requested(watched, 'Invoice 1843');
      const payer = await phone(payPath);
      await fillBankDetails(payer.page);
      await page.getByRole('button', { name: 'Cancel payment' }).click();
      await page.getByRole('button', { name: 'Yes, cancel it' }).click();
      await showing(page, 'Canceled');
      await page.getByText(/\/pay\/[\w-]{43}$/).waitFor({ state: 'detached' });
      await submitBankDetails(payer.page);
      await headed(payer.page, 'Page not found');
      expect(await told(paymentId, ['payment.canceled'])).toContainEqual([
        'payment.canceled',
        'AWAITING_CONFIRMATION',
      ]);
      const { status } = await scenario.api.data<{ status: string }>(
        ...([200, 'GET', `/v1/payments/${paymentId}`] as const),
      );
      expect(status).toBe('CANCELED');
      watched.expectQuiet();
      payer.expectQuiet();
    },
    limitMs,
  );

  it(
    'is confirmed in Spanish',
    async () => {
      const watched = await desk();
      const { payPath } = await requested(watched, 'Factura 1844');
      const payer = await phone(payPath, 'es-MX');
      const { page } = payer;
      await headed(page, 'Detalles del pago');
      expect(await page.locator('html').getAttribute('lang')).toBe('es');
      await page.getByRole('button', { name: 'Enviar datos bancarios' }).click();
      await page.getByText('Revise el formulario').waitFor();
      const texts = {
        'Número de ruta': '021000021',
        'Número de cuenta': '000123456789',
        'Confirme el número de cuenta': '000123456789',
        'Dirección, línea 1': 'Avenida Principal 12',
        Ciudad: 'Sacramento',
        Estado: 'CA',
        'Código postal': '95814',
      };
      await page.getByLabel('Tipo de cuenta').selectOption('Cuenta corriente');
      for (const [label, text] of Object.entries(texts))
        await page.getByLabel(label, { exact: true }).fill(text);
      await page.getByLabel('País').selectOption('Estados Unidos');
      await page.getByRole('button', { name: 'Enviar datos bancarios' }).click();
      await headed(page, 'Estado del pago');
      await page.getByText('Completado', { exact: true }).waitFor({ timeout: arrivalLimitMs });
      await showing(watched.page, 'Completed');
      await payer.screenshot('journey-payer-spanish');
      await payer.expectSound();
    },
    limitMs,
  );

  it(
    'expires after 30 days, also for a payer who has it open: nothing is queued and nobody is told',
    async () => {
      const watched = await desk();
      const { paymentId, payPath } = await requested(watched, 'Invoice 1845');
      await watched.close();
      const payer = await phone(payPath);
      await fillBankDetails(payer.page);
      const before = await told(paymentId, ['payment.awaiting_confirmation']);

      // The same data and port, with a clock that is 30 days ahead.
      const { port } = new URL(scenario.origin);
      await scenario.system.stop();
      const later = await start({
        PORT: port,
        NODE_OPTIONS: `--import ${clockAhead}`,
        CLOCK_AHEAD_MS: String(linkLifetimeMs),
      });
      try {
        await submitBankDetails(payer.page);
        await headed(payer.page, 'This link has expired');
        const text = await payer.page.getByRole('main').textContent();
        expect(text).not.toContain('250.00');
        expect(text).not.toContain('Analytical Engines');
        const [answer] = await Promise.all([
          payer.page.waitForResponse((response) => response.url().endsWith(payPath)),
          payer.page.goto(`${later.origin}${payPath}`),
        ]);
        expect(answer.status()).toBe(410);
        await headed(payer.page, 'This link has expired');

        const desk = await keep(later.signedIn('operator', `/dashboard/payments/${paymentId}`));
        await showing(desk.page, 'Expired');
        await showing(desk.page, 'Awaiting confirmation');
        await desk.expectSound();
        await desk.page.getByRole('link', { name: 'Back to the list' }).click();
        await showing(desk.page, 'Link expired');
        await desk.expectSound();
        await desk.page.getByRole('link', { name: 'Overview', exact: true }).click();
        await desk.page.getByText(/\. \d+ links? expired$/).waitFor();
        await desk.expectSound();
        expect(await told(paymentId, ['payment.awaiting_confirmation'])).toEqual(before);
      } finally {
        await later.close();
      }
    },
    limitMs,
  );
});
