/** Webhooks in the dashboard, in a real browser, with a receiver over TLS. */
import { randomUUID } from 'node:crypto';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { payable } from './support/payable.js';
import { type Look, looks, type WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;
const arrivalLimitMs = 30_000;

describeInBrowser('Webhooks in the dashboard', () => {
  let receiver: HttpsReceiver;
  let scenario: DashboardScenario;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    receiver = await startHttpsReceiver();
    scenario = await startDashboard({
      settings: {
        PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        PIS_WEBHOOK_CA_FILE: receiver.caFile,
        PIS_RATE_LIMIT_PER_KEY: '0',
      },
    });
  }, limitMs);
  afterAll(async () => {
    await scenario?.close();
    await receiver?.close();
  });
  afterEach(() => watched?.close());

  async function open(
    path: string,
    role: 'viewer' | 'admin' = 'admin',
    look: Look = 'desktop',
  ): Promise<void> {
    watched = await scenario.signedIn(role, path, look);
    ({ page } = watched);
  }
  const click = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const label = (name: string) => page.getByLabel(name, { exact: true });
  const delivered = (secret: string) =>
    receiver.waitFor(({ body, headers }) => verify(body, headers, secret, new Date()), {
      timeoutMs: arrivalLimitMs,
    });

  it(
    'an administrator creates one, sees its secret once, and tests it',
    async () => {
      await open('/dashboard/webhooks');
      await page.getByText('No webhooks yet').waitFor();
      await watched.expectSound();
      await click('New webhook');
      await label('URL').fill('http://receiver.example/');
      await click('Create webhook');
      await page.locator('[aria-invalid="true"]').waitFor();
      await label('URL').fill(`${receiver.url}/${randomUUID()}`);
      await label('Label').fill('Bookkeeping');
      await watched.expectSound();
      await click('Create webhook');
      await page.getByRole('heading', { name: 'The webhook was created' }).waitFor();
      const secret = (await page.getByText(/^[0-9a-f]{64}$/).textContent()) ?? '';
      await watched.expectSound();
      await click('Done');
      await page.getByRole('heading', { name: 'Bookkeeping' }).waitFor();
      expect(await page.getByText(secret).count()).toBe(0);

      await click('Send a test');
      await label('Event').first().selectOption({ label: 'Payment: returned' });
      await click('Send');
      await page.getByRole('status').getByText('Accepted').waitFor();
      const request = await delivered(secret);
      expect(request.headers['x-webhook-event']).toBe('payment.returned');

      await click('Rotate the secret');
      await click('Yes, rotate it');
      const next = (await page.getByText(/^[0-9a-f]{64}$/).textContent()) ?? '';
      expect(next).not.toBe(secret);
      await watched.expectSound();
      await click('Done');
      await page.getByText('Old secret signs until').waitFor();
      await click('Edit');
      await label('Label').fill('Archive');
      await click('Save');
      await page.getByRole('heading', { name: 'Archive' }).waitFor();

      await click('Delete');
      await click('Yes, delete it');
      await page.getByText('No webhooks yet').waitFor();
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'a delivery is shown with its attempts, sent again, and replayed',
    async () => {
      const { id, secret } = await scenario.api.data<{ id: string; secret: string }>(
        ...([201, 'POST', '/v1/webhooks'] as const),
        { url: `${receiver.url}/${randomUUID()}`, subscribedEvents: ['payment.queued'] },
      );
      receiver.respondWith(() => ({ status: 500, body: 'the books are closed' }));
      const created = await scenario.api.createPayment(await payable(scenario.api), randomUUID());
      const { paymentId } = created.body.data as { paymentId: string };

      await open('/dashboard/webhooks');
      await page.getByText('Answered 500', { exact: false }).waitFor();
      await page.getByText('0% accepted (0 of 1)').waitFor();
      await watched.expectSound();
      await page.getByRole('link', { name: new URL(receiver.url).host }).click();
      await page.getByText('The last delivery failed').waitFor();
      await label('Status').selectOption({ label: 'Pending' });
      await page.waitForURL(`**/webhooks/${id}?state=pending`);
      await page.getByRole('cell', { name: 'Answered 500' }).waitFor();
      await watched.expectSound();
      await page.getByRole('cell').getByRole('link', { name: 'Queued' }).click();

      await page.getByText('Attempt 1').waitFor();
      await page.getByText(`"paymentId": "${paymentId}"`, { exact: false }).waitFor();
      await page.getByText('Answer, its first KiB').click();
      await page.getByText('the books are closed').waitFor();
      await page.getByText('Headers of the request').first().click();
      const sent = await delivered(secret);
      const signature = String(sent.headers['x-webhook-signature-256']);
      await page.getByText(signature).waitFor();
      await watched.expectSound();
      await page.goto(page.url());
      await page.getByText('Attempt 1').waitFor();

      receiver.respondWith(() => ({}));
      await click('Send again');
      await page.getByText('Attempt 2').waitFor();
      await page.getByText('Delivered', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Show the payment' }).click();
      await page.waitForURL(`**/payments/${paymentId}`);

      await page.goto(`${scenario.origin}/dashboard/webhooks/${id}`);
      await click('Replay events');
      await label('From').fill('2026-01-01T00:00');
      await watched.expectSound();
      await click('Start the replay');
      await page.getByText('1 event queued to be sent').waitFor();
      await page.getByText('Completed', { exact: true }).first().waitFor();
      await receiver.waitFor(({ headers }) => headers['x-webhook-replay'] === 'true', {
        timeoutMs: arrivalLimitMs,
      });
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'a viewer sees everything but what changes something, on a phone and in the dark, too',
    async () => {
      for (const look of Object.keys(looks) as Look[]) {
        await open('/dashboard/webhooks', 'viewer', look);
        await page.getByText('Working').waitFor();
        expect(await page.getByRole('button', { name: 'New webhook' }).count()).toBe(0);
        await watched.expectSound();
        await watched.screenshot(`webhooks-${look}`);
        await page.getByRole('link', { name: new URL(receiver.url).host }).click();
        await page.getByRole('cell').first().waitFor();
        for (const name of ['Edit', 'Delete', 'Rotate the secret', 'Send a test', 'Replay events'])
          expect(await page.getByRole('button', { name }).count()).toBe(0);
        await watched.expectSound();
        await watched.screenshot(`webhook-${look}`);
        await page.getByRole('cell').getByRole('link').first().click();
        await page.getByText('Attempt 2').waitFor();
        expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(0);
        await watched.expectSound();
        await watched.screenshot(`delivery-${look}`);
        await watched.close();
      }
    },
    limitMs,
  );
});
