/** Contacts, originators and statements in the dashboard, as users of each role work with them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { logoBytesMax } from '@pis/domain';
import { pngOf } from '@pis/local-servers/testing';
import type { Page } from 'playwright-core';
import { describeInBrowser } from './support/browser.js';
import { type DashboardScenario, startDashboard } from './support/dashboard.js';
import { pis } from './support/process.js';
import { linked } from './support/requested-link.js';
import type { WatchedPage } from './support/watched-page.js';

const limitMs = 240_000;

/** 128 by 128 pixels, of which as many are noise as the limit allows. */
function largestLogo(): Buffer {
  const [side, noise] = [128, 16_000];
  const rows = Buffer.alloc((1 + side) * side);
  randomBytes(noise).copy(rows);
  for (let at = 0; at < rows.length; at += 1 + side) rows[at] = 0;
  return pngOf({ width: side, height: side, rows });
}

describeInBrowser('Parties in the dashboard', () => {
  let scenario: DashboardScenario;
  let open: WatchedPage[] = [];
  beforeAll(async () => {
    scenario = await startDashboard();
  }, limitMs);
  afterAll(() => scenario?.close());
  afterEach(async () => {
    await Promise.all(open.map((one) => one.close()));
    open = [];
  });

  async function signedIn(...[who, path, look]: Parameters<DashboardScenario['signedIn']>) {
    const watched = await scenario.signedIn(who, path, look);
    open.push(watched);
    return watched;
  }

  const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });

  /** A contact of the first originator. */
  async function newContact(firstName: string, changes: object = {}): Promise<string> {
    const operator = await scenario.client('operator');
    const [originator] = await operator.data<{ originatorId: string }[]>('GET', '/originators');
    const body = {
      ...{ originatorId: originator?.originatorId, entityType: 'INDIVIDUAL', firstName },
      ...{ lastName: 'Hopper', email: `${firstName.toLowerCase()}@navy.example` },
      bankAccount: {
        ...{ subType: 'CHECKING', achRoutingNumber: '021000021' },
        achAccountNumber: '000123456789',
      },
      ...changes,
    };
    return (await operator.data<{ contactId: string }>('POST', '/contacts', body)).contactId;
  }

  it(
    'an operator saves a contact, finds it, and changes it',
    async () => {
      const watched = await signedIn('operator', '/dashboard/contacts');
      const { page } = watched;
      await page.getByText('No contacts yet').waitFor();
      await watched.expectSound();
      await button(page, 'New contact').click();
      await button(page, 'Save contact').click();
      expect(await field(page, 'First name').getAttribute('aria-invalid')).toBe('true');
      await field(page, 'First name').fill('Ada');
      await field(page, 'Last name').fill('Lovelace');
      await field(page, 'Email').fill('ada@analytical.example');
      await field(page, 'Address line 1').fill('12 St James Square');
      await field(page, 'City').fill('New York');
      await field(page, 'State').fill('New York');
      await field(page, 'ZIP code').fill('10001');
      await field(page, 'Routing number').fill('021000021');
      await field(page, 'Account number').fill('000123456789');
      await field(page, 'Confirm account number').fill('000123456780');
      await button(page, 'Save contact').click();
      await page.getByText('The two account numbers differ.').waitFor();
      await field(page, 'Confirm account number').fill('000123456789');
      await button(page, 'Save contact').click();
      await page.getByText('Enter the two letters of the state, such as NY.').waitFor();
      expect(await field(page, 'State').getAttribute('aria-invalid')).toBe('true');
      await watched.expectSound();
      await watched.screenshot('contact-form');
      await field(page, 'State').fill('NY');
      await button(page, 'Save contact').click();

      await heading(page, 'Ada Lovelace').waitFor();
      await page.getByText('JPMorgan Chase Bank ********6789').waitFor();
      await page.getByText('Active', { exact: true }).waitFor();
      await watched.expectSound();
      await button(page, 'Change').click();
      await field(page, 'Phone number').fill('+12125550123');
      await field(page, 'Account on file').selectOption({ label: 'Remove it' });
      await button(page, 'Save changes').click();
      await page.getByText('+12125550123').waitFor();
      await page.getByText('No account on file.').waitFor();
      expect(await page.getByText('12 St James Square, New York, NY 10001, US').count()).toBe(1);

      await link(page, 'Contacts').click();
      await field(page, 'Find a contact').fill('LOVELACE');
      await page.waitForURL('**/contacts?search=LOVELACE');
      await link(page, 'Ada Lovelace').waitFor();
      await field(page, 'Find a contact').fill('nobody');
      await page.getByText('No contacts match').waitFor();
      await page.goto(`${scenario.origin}/dashboard/contacts?search=ada+lovelace`);
      await link(page, 'Ada Lovelace').waitFor();
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'a payment begins at a contact, and its form says whether a link is needed',
    async () => {
      const contactId = await newContact('Grace');
      const watched = await signedIn('operator', `/dashboard/contacts/${contactId}`);
      const { page } = watched;
      await button(page, 'Send money').click();
      await page.getByText('The payment starts at once, to the account on file.').waitFor();
      expect(await field(page, 'Recipient').inputValue()).toBe(contactId);
      expect(await field(page, 'Direction').inputValue()).toBe('OUTBOUND');
      await field(page, 'Recipient').selectOption({ label: 'New recipient' });
      await page.getByText('there is no active account on file').waitFor();
      await field(page, 'Recipient').selectOption({ label: 'Grace Hopper' });
      await field(page, 'Amount').fill('12.50');
      await watched.expectSound();
      await button(page, 'Create payment').click();
      await heading(page, '$12.50').waitFor();
      await page.goto(`${scenario.origin}/dashboard/contacts/${contactId}`);
      await page.getByRole('cell', { name: '$12.50' }).waitFor();
      await button(page, 'Request money').click();
      await page.getByText('enters the account to pay from').waitFor();
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'a recipient among hundreds is found by name',
    async () => {
      await newContact('Zebedee', { lastName: 'Rare' });
      const operator = await scenario.client('operator');
      const [originator] = await operator.data<{ originatorId: string }[]>('GET', '/originators');
      const create = (count: number) =>
        operator.data('POST', '/contacts', {
          ...{ originatorId: originator?.originatorId, entityType: 'BUSINESS' },
          ...{ companyName: `Company ${count}`, email: `office@c${count}.example` },
        });
      const all = Array.from({ length: 510 }, (_, count) => count);
      for (let start = 0; start < all.length; start += 10)
        await Promise.all(all.slice(start, start + 10).map(create));

      const watched = await signedIn('operator', '/dashboard/payments/new');
      const { page } = watched;
      await page.getByText('The newest 500 contacts are listed.').waitFor();
      const options = field(page, 'Recipient').getByRole('option');
      expect(await options.filter({ hasText: 'Zebedee' }).count()).toBe(0);
      await field(page, 'Find a contact').fill('zebedee');
      await page.getByText('1 found: choose above.').waitFor();
      await field(page, 'Recipient').selectOption({ label: 'Zebedee Rare' });
      await field(page, 'Find a contact').fill('company 77');
      await page.getByText('zebedee@navy.example').waitFor();
      expect(await options.filter({ hasText: 'Zebedee Rare' }).count()).toBe(1);
      // A long list of contacts scrolls, and loads its pages on the way.
      await page.goto(`${scenario.origin}/dashboard/contacts`);
      await link(page, 'Company 509').waitFor();
      const target = link(page, 'Zebedee Rare');
      const frame = 'new Promise((done) => requestAnimationFrame(() => done(null)))';
      while ((await target.count()) === 0) {
        await page.keyboard.press('End');
        await watched.value(frame);
      }
      expect(await page.getByRole('row').count()).toBeLessThan(100);
      watched.expectQuiet();
    },
    limitMs,
  );

  it(
    'an administrator changes an originator; a viewer only sees',
    async () => {
      const admin = await signedIn('admin', '/dashboard/originators');
      const { page } = admin;
      const first = page.getByRole('table', { name: 'Originators' }).getByRole('link').first();
      const name = await first.innerText();
      await admin.expectSound();
      await first.click();
      await heading(page, name).waitFor();
      await button(page, 'Change').click();
      await field(page, 'Phone number').fill('+12125550199');
      await button(page, 'Save changes').click();
      await page.getByText('+12125550199').waitFor();
      await admin.expectSound();

      const viewer = await signedIn('viewer', '/dashboard/contacts');
      const contactId = await newContact('Viewed');
      await viewer.page.goto(`${scenario.origin}/dashboard/contacts/${contactId}`);
      await heading(viewer.page, 'Viewed Hopper').waitFor();
      for (const action of ['Change', 'Send money', 'Request money'])
        expect(await button(viewer.page, action).count()).toBe(0);
      const operator = await signedIn('operator', '/dashboard/originators');
      await operator.page
        .getByRole('table', { name: 'Originators' })
        .getByRole('link')
        .first()
        .click();
      await operator.page.getByText('Contacts of this originator').waitFor();
      expect(await button(operator.page, 'Change').count()).toBe(0);
      viewer.expectQuiet();
    },
    limitMs,
  );

  it(
    'every screen is right on a phone and in the dark',
    async () => {
      const contactId = await newContact('Phone', {
        email: `a-very-long-name-of-somebody-who-has-one@${'long.'.repeat(20)}example`,
      });
      const screens = {
        contacts: ['/dashboard/contacts', 'Phone Hopper'],
        contact: [`/dashboard/contacts/${contactId}`, 'No payments yet.'],
        'new-contact': ['/dashboard/contacts/new', 'Confirm account number'],
        originators: ['/dashboard/originators', '********'],
        statements: ['/dashboard/statements', 'No statements yet'],
        'new-payment': [
          `/dashboard/payments/new?direction=OUTBOUND&contactId=${contactId}`,
          'starts at once',
        ],
      } as const;
      for (const look of ['darkPhone', 'desktop'] as const) {
        const watched = await signedIn('admin', '/dashboard/statements', look);
        const { page } = watched;
        await page.getByText('No statements yet').waitFor();
        for (const [name, [path, shown]] of Object.entries(screens)) {
          await page.goto(`${scenario.origin}${path}`);
          await page.getByText(shown).first().waitFor();
          await watched.screenshot(`${name}-${look}`);
          await watched.expectSound();
        }
      }
    },
    limitMs,
  );

  it(
    'the name and the logo that an operator sets are on link pages and in the dashboard',
    async () => {
      const folder = await mkdtemp(path.join(tmpdir(), 'pis-branding-'));
      const file = path.join(folder, 'logo.png');
      await writeFile(file, largestLogo());
      const { organizationId, environment } = scenario.system;
      const branding = (...args: string[]) =>
        pis(['organization', 'branding', ...args, '--id', organizationId, '--json'], environment);
      const set = await branding('set', '--name', 'Northwind & Sons', '--logo', file);
      expect(set.stderr).toBe('');
      await writeFile(file, 'GIF89a');
      const refused = await branding('set', '--name', 'Evil', '--logo', file);
      expect(refused).toMatchObject({ code: 1 });
      expect(refused.stderr).toContain('the logo is not accepted: it is no PNG file');
      const shown = await branding('show');
      expect(JSON.parse(shown.stdout)).toMatchObject({
        name: 'Northwind & Sons',
        logo: { width: 128, height: 128 },
      });
      await rm(folder, { recursive: true });

      const operator = await scenario.client('operator');
      const [originator] = await operator.data<{ originatorId: string }[]>('GET', '/originators');
      const { url } = await linked(operator, {
        ...{ originatorId: originator?.originatorId, direction: 'INBOUND' },
        recipient: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
        ...{ paymentAmount: 1_000, idempotencyKey: 'branding' },
      });
      const payer = await scenario.open(new URL(url).pathname, 'phone');
      open.push(payer);
      const logo = payer.page.getByRole('img', { name: 'Northwind & Sons' });
      await logo.waitFor();
      const picture = (await logo.getAttribute('src')) ?? '';
      const loaded = `document.querySelector('img').decode().then(() => document.querySelector('img').naturalWidth)`;
      expect(await payer.value(loaded)).toBe(128);
      await payer.expectSound();
      const bytes = await payer.value<number>(
        `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
            .reduce((sum, { transferSize }) => sum + transferSize, 0)`,
      );
      expect(bytes).toBeGreaterThan(logoBytesMax);
      expect(bytes).toBeLessThan(50_000);
      await payer.screenshot('payment-page-logo');
      const served = await fetch(new URL(picture, url));
      expect(served.status).toBe(200);
      expect(served.headers.get('content-type')).toBe('image/png');
      expect(served.headers.get('cache-control')).toContain('immutable');
      expect(served.headers.get('x-content-type-options')).toBe('nosniff');
      for (const unknown of [`${'0'.repeat(64)}.png`, '..%2f..%2fpay.css', 'logo.png'])
        expect((await fetch(new URL(`/pay/assets/logo/${unknown}`, url))).status).toBe(404);

      const board = await signedIn('viewer', '/dashboard/contacts');
      const navigation = board.page.getByRole('navigation', { name: 'Main' });
      await navigation.getByText('Northwind & Sons').waitFor();
      await navigation.locator('img[src^="data:image/png"]').waitFor();
      board.expectQuiet();

      await branding('set', '--name', 'Northwind', '--no-logo');
      expect(JSON.parse((await branding('show')).stdout)).toMatchObject({
        name: 'Northwind',
        logo: null,
      });
    },
    limitMs,
  );
});
