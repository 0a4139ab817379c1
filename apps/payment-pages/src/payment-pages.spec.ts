/** The pages of links as a browser without JavaScript gets them. */
import { describeLinkPages } from './testing/link-pages-suite.js';
import { token, type PagesServer, startPages } from './testing/pages-server.js';
import { linkLifetimeMs } from '@pis/domain';

let server: PagesServer;
beforeAll(async () => {
  server = await startPages();
});
afterAll(() => server.close());
beforeEach(() => server.links.add(token));

const goodForm = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
  achAccountNumberConfirmation: '000123456789',
  addressLine1: '12 St James Square',
  city: 'Sacramento',
  state: 'ca',
  postalCode: '95814',
  countryCode: 'US',
};

const get = (path: string, headers: Record<string, string> = {}) =>
  server.app.inject({ url: path, headers });
const pay = (headers?: Record<string, string>) => get(`/pay/${token}`, headers);

async function formToken(): Promise<string> {
  const { body } = await pay();
  return /name="formToken" value="([0-9a-f]{64})"/.exec(body)?.[1] ?? '';
}

async function post(
  changes: Partial<typeof goodForm> & { readonly formToken?: string } = {},
  {
    headers = {},
    path = `/pay/${token}`,
  }: { headers?: Record<string, string>; path?: string } = {},
) {
  const fields = { formToken: changes.formToken ?? (await formToken()), ...goodForm, ...changes };
  return server.app.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(fields).toString(),
  });
}

describe('The page of an open link', () => {
  it('shows a request with its fee and the total, and names originator, account holder and organization', async () => {
    const { statusCode, body } = await pay();
    expect(statusCode).toBe(200);
    for (const text of [
      '<h1>Payment details</h1>',
      'Analytical Engines',
      'Ada Lovelace',
      'Northwind Traders',
      'Invoice 1842',
      '$1,234.56',
      '$6.42',
      '$1,240.98',
    ])
      expect(body).toContain(text);
  });

  it('shows a payment to the account holder without a fee', async () => {
    server.links.add(token, { direction: 'OUTBOUND', payerFeeMinor: 0 });
    const { body } = await pay();
    expect(body).toContain('$1,234.56');
    expect(body).not.toContain('Processing fee');
    expect(body).not.toContain('Total<');
  });

  it('may be neither stored, indexed, framed nor named in a referrer, and loads nothing from elsewhere', async () => {
    const { headers, body } = await pay();
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-frame-options': 'DENY',
    });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(body).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script>|https?:\/\//);
  });

  it('transfers less than 50 KB with all its files, uncompressed', async () => {
    const { body } = await pay();
    const files = [...body.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(files).toHaveLength(3);
    const answers = await Promise.all(files.map((path) => get(`/pay/${path ?? ''}`)));
    for (const { statusCode, headers } of answers)
      expect([statusCode, headers['cache-control']]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ]);
    const bytes = answers.reduce((sum, { rawPayload }) => sum + rawPayload.length, body.length);
    expect(bytes).toBeLessThan(50_000);
  });

  it('comes in the language of the browser, or in the one that is chosen', async () => {
    const spanish = { 'accept-language': 'fr;q=0.9, es-MX;q=0.8, en;q=0.5' };
    expect((await pay(spanish)).body).toContain('<html lang="es">');
    expect((await pay(spanish)).body).toContain('<h1>Detalles del pago</h1>');
    expect((await pay({ 'accept-language': 'fr' })).body).toContain('<html lang="en">');
    expect((await get(`/pay/${token}?lang=en`, spanish)).body).toContain('<html lang="en">');
    expect((await get(`/pay/${token}?lang=es`)).body).toContain('<html lang="es">');
    expect((await get(`/pay/${'x'.repeat(43)}?lang=es`)).body).toContain('Página no encontrada');
  });

  it('says to the minute and with the time zone until when the link is valid', async () => {
    server.links.add(token, { expiresAt: '2100-12-29T00:30:00.000Z' });
    expect((await pay()).body).toContain('>Dec 29, 2100, 12:30 AM UTC</time>');
    const { body } = await get(`/pay/${token}?lang=es`);
    expect(body).toMatch(/>29 dic 2100, 12:30\sa\.m\. UTC<\/time>/);
  });

  it('records each open with address and user agent', async () => {
    server.links.accesses.length = 0;
    await pay({ 'user-agent': 'Phone/1' });
    expect(server.links.accesses).toEqual([
      { token, kind: 'open', outcome: null, visitor: { ip: '127.0.0.1', userAgent: 'Phone/1' } },
    ]);
  });

  it('shows text of others as text', async () => {
    const hostile = '<img src=x onerror=alert(1)>"\'&lt;';
    server.links.add(token, {
      organizationName: hostile,
      originatorName: hostile,
      holder: { entityType: 'BUSINESS', name: hostile },
      paymentNote: hostile,
    });
    const fields = { addressLine1: hostile, city: hostile, state: hostile, countryCode: hostile };
    const { body } = await post({ ...fields, achRoutingNumber: '1' });
    expect(body).not.toContain('<img');
    expect(body.match(/&lt;img src=x onerror=alert\(1\)&gt;/g)?.length).toBeGreaterThan(6);
  });

  it('lets no name turn the text behind it around, such as the amount that is debited', async () => {
    const turned = (name: string) => `${name}\u202e\u2066\u2069`;
    const names = {
      organizationName: turned('Northwind'),
      originatorName: turned('Engines'),
      holder: { entityType: 'BUSINESS', name: turned('Lovelace') },
      paymentNote: turned('Invoice'),
    } as const;
    server.links.add(token, names);
    const pages = [await pay(), await post({ achRoutingNumber: '1' })];
    server.links.change(token, { status: 'COMPLETED' });
    pages.push(await pay());
    server.advance(linkLifetimeMs);
    pages.push(await pay());
    expect(pages.map(({ statusCode }) => statusCode)).toEqual([200, 400, 200, 410]);
    for (const { body } of pages) expect(body).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    expect(pages[0]?.body).toContain('you authorize Engines to debit $1,240.98 once');
  });
});

describe('A submission', () => {
  it('is handed on without the confirmation, and leads to the status page', async () => {
    server.links.submissions.length = 0;
    const { statusCode, headers } = await post({
      achRoutingNumber: '021-000-021',
      achAccountNumber: ' 0001 2345 6789 ',
    });
    expect([statusCode, headers.location]).toEqual([303, `/pay/${token}`]);
    expect(server.links.submissions).toEqual([
      {
        subType: 'CHECKING',
        achRoutingNumber: '021000021',
        achAccountNumber: '000123456789',
        legalAddress: {
          addressLine1: '12 St James Square',
          city: 'Sacramento',
          state: 'CA',
          postalCode: '95814',
          countryCode: 'US',
        },
      },
    ]);
    const page = await pay();
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('<h1>Payment status</h1>');
    expect(page.body).toContain('Queued');
    expect(page.body).toContain('JPMorgan Chase Bank');
  });

  it('keeps the language that was chosen', async () => {
    const { headers } = await post({}, { path: `/pay/${token}?lang=es` });
    expect(headers.location).toBe(`/pay/${token}?lang=es`);
  });

  it('reports all problems at once, each beside its field, and shows no account number again', async () => {
    const { statusCode, body } = await post({
      subType: '',
      achRoutingNumber: '123456789',
      achAccountNumber: '98765432101234567',
      achAccountNumberConfirmation: '98765432101234568',
      addressLine1: '',
      state: 'California',
      postalCode: '9581',
    });
    expect(statusCode).toBe(400);
    const issues = [...body.matchAll(/id="([A-Za-z0-9]+)-error" data-issue="([^"]+)"/g)];
    expect(Object.fromEntries(issues.map(([, field, issue]) => [field, issue]))).toEqual({
      subType: 'validation_required',
      achRoutingNumber: 'validation_routing_number',
      achAccountNumberConfirmation: 'account_number_mismatch',
      addressLine1: 'validation_required',
      state: 'validation_state',
      postalCode: 'validation_postal_code',
    });
    expect(body.match(/aria-invalid="true"/g)).toHaveLength(6);
    expect(body).not.toContain('9876543210');
    expect(body).toContain('value="California"');
    expect(body).toContain('value="Sacramento"');
    expect(body).toContain('<title>Error: Payment details');
  });

  it('is recorded when it is refused: with a problem, without an equal confirmation, of a used or expired link', async () => {
    const outcomes = () =>
      server.links.accesses.flatMap(({ kind, outcome }) => (kind === 'submit' ? [outcome] : []));
    const value = await formToken();
    server.links.accesses.length = 0;
    await post({ formToken: value, postalCode: '' });
    await post({ formToken: value, achAccountNumberConfirmation: '4444' });
    await post({ formToken: value, achRoutingNumber: '999999992' });
    server.links.change(token, { status: 'QUEUED' });
    expect((await post({ formToken: value })).statusCode).toBe(409);
    server.links.change(token, { expiresAt: new Date().toISOString() });
    expect((await post({ formToken: value })).statusCode).toBe(410);
    const invalid = 'INVALID_REQUEST';
    expect(outcomes()).toEqual([invalid, invalid, invalid, 'ALREADY_SUBMITTED', 'LINK_EXPIRED']);
  });

  it('is refused for a routing number that no bank has, and shows the bank of one that is known', async () => {
    const unknown = await post({ achRoutingNumber: '999999992' });
    expect(unknown.statusCode).toBe(400);
    expect(unknown.body).toContain(
      'id="achRoutingNumber-error" data-issue="validation_routing_number"',
    );
    const known = await post({ postalCode: '' });
    expect(known.statusCode).toBe(400);
    expect(known.body).toMatch(/Bank: [A-Z]/);
  });

  it('is refused from another site, and without the value of the form', async () => {
    server.links.submissions.length = 0;
    server.links.accesses.length = 0;
    const answers = [
      await post({}, { headers: { 'sec-fetch-site': 'cross-site' } }),
      await post({}, { headers: { 'sec-fetch-site': 'same-site' } }),
      await post({}, { headers: { origin: 'https://evil.example' } }),
      await post({ formToken: '' }),
      await post({ formToken: 'a'.repeat(64) }),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([403, 403, 403, 403, 403]);
    expect(server.links.submissions).toEqual([]);
    const submits = server.links.accesses.filter(({ kind }) => kind === 'submit');
    expect(submits.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'FOREIGN_FORM'));
    const own = { 'sec-fetch-site': 'same-origin', origin: 'null' };
    expect((await post({}, { headers: own })).statusCode).toBe(303);
  });

  it('is refused with the value of another link', async () => {
    const other = 'A'.repeat(43);
    server.links.add(other);
    const { statusCode } = await post({}, { path: `/pay/${other}` });
    expect(statusCode).toBe(403);
  });

  it('must be a small form', async () => {
    expect((await post({ city: 'x'.repeat(20_000) })).statusCode).toBe(413);
    const json = await server.app.inject({
      method: 'POST',
      url: `/pay/${token}`,
      payload: goodForm,
    });
    expect(json.statusCode).toBe(415);
    expect(json.headers['content-type']).toContain('text/html');
  });

  it('is accepted once; the second one says so and changes nothing', async () => {
    const value = await formToken();
    server.links.submissions.length = 0;
    const answers = await Promise.all([
      post({ formToken: value }),
      post({ formToken: value, achAccountNumber: '4444', achAccountNumberConfirmation: '4444' }),
    ]);
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([303, 409]);
    expect(server.links.submissions).toHaveLength(1);
    const late = answers.find(({ statusCode }) => statusCode === 409);
    expect(late?.body).toContain('already submitted');
    expect(late?.body).toContain('<h1>Payment status</h1>');
  });
});

describe('A link of an account holder whose name no bank can get', () => {
  const holder = { entityType: 'INDIVIDUAL', name: '小龙 李' } as const;

  it('says so when it is opened, in place of the form', async () => {
    server.links.add(token, { holder });
    const { statusCode, body } = await pay();
    expect(statusCode).toBe(200);
    for (const text of ['<h1>Payment details</h1>', '小龙 李', '$1,240.98', 'no letter or digit'])
      expect(body).toContain(text);
    expect(body).toContain('Ask Analytical Engines for a new link');
    expect(body).not.toContain('<form');
    expect((await get(`/pay/${token}?lang=es`)).body).toContain('Pida un enlace nuevo');
  });

  it('takes no submission of a form that was open before', async () => {
    const opened = await formToken();
    server.links.add(token, { holder });
    server.links.submissions.length = 0;
    server.links.accesses.length = 0;
    const { statusCode, body } = await post({ formToken: opened });
    expect(statusCode).toBe(409);
    expect(body).toContain('no letter or digit');
    expect(server.links.submissions).toEqual([]);
    expect(server.links.accesses).toMatchObject([{ kind: 'submit', outcome: 'INVALID_REQUEST' }]);
  });
});

describe('An expired link', () => {
  it('shows who created it and the direction, nothing else, and refuses submissions', async () => {
    const value = await formToken();
    server.advance(linkLifetimeMs);
    const answers = [await pay(), await post({ formToken: value })];
    for (const { statusCode, body } of answers) {
      expect(statusCode).toBe(410);
      expect(body).toContain('<h1>This link has expired</h1>');
      expect(body).toContain('Analytical Engines created this link to request a payment.');
      for (const secret of ['Ada Lovelace', '1,234', 'Invoice 1842'])
        expect(body).not.toContain(secret);
    }
    server.links.add(token, { status: 'COMPLETED', expiresAt: new Date().toISOString() });
    expect((await pay()).statusCode).toBe(410);
    expect((await get(`/pay/${token}/status`)).statusCode).toBe(410);
  });
});

describe('A link that is not there', () => {
  const unknown = 'B'.repeat(43);
  const canceled = 'C'.repeat(43);

  it('is answered alike whether it never existed or was canceled, by the same steps', async () => {
    server.links.add(canceled, { status: 'CANCELED' });
    const answerOf = async (path: string, method: 'GET' | 'POST' = 'GET') => {
      server.links.lookups.length = 0;
      server.links.accesses.length = 0;
      const value = await server.app.inject({
        method,
        url: path,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        ...(method === 'POST' ? { payload: 'subType=CHECKING' } : {}),
      });
      const { date: _date, 'x-request-id': _requestId, ...headers } = value.headers;
      const { statusCode, body } = value;
      const { lookups, accesses } = server.links;
      return { statusCode, headers, body, lookups: lookups.length, accesses: [...accesses] };
    };
    for (const rest of ['', '?lang=es', '/status', '/bank?routingNumber=021000021']) {
      const answer = await answerOf(`/pay/${canceled}${rest}`);
      expect(answer).toMatchObject({ statusCode: 404, lookups: 1, accesses: [] });
      expect(await answerOf(`/pay/${unknown}${rest}`)).toEqual(answer);
    }
    const posted = await answerOf(`/pay/${canceled}`, 'POST');
    expect(posted).toMatchObject({ statusCode: 404, lookups: 1 });
    expect(await answerOf(`/pay/${unknown}`, 'POST')).toEqual(posted);
    for (const path of ['/pay/short', '/pay', `/pay/${unknown}x`]) {
      const { statusCode, body } = await answerOf(path);
      expect({ statusCode, isPage: body.startsWith('<!doctype html>') }).toEqual({
        statusCode: 404,
        isPage: true,
      });
    }
  });
});

describe('The name of a bank', () => {
  const ask = (number: string, headers = {}) =>
    get(`/pay/${token}/bank?routingNumber=${number}`, headers);

  it('is given to whoever holds an open link, and to nobody else', async () => {
    expect((await ask('021000021')).json()).toEqual({ bankName: expect.any(String) as string });
    expect((await ask('999999992')).json()).toEqual({ bankName: null });
    expect((await ask('abc')).json()).toEqual({ bankName: null });
    expect((await ask('021000021', { 'sec-fetch-site': 'cross-site' })).statusCode).toBe(403);
    server.links.change(token, { status: 'QUEUED' });
    expect((await ask('021000021')).statusCode).toBe(404);
  });
});

describe('The status part', () => {
  it('is the live part of the status page alone', async () => {
    server.links.change(token, { status: 'COMPLETED' });
    const { statusCode, body } = await get(`/pay/${token}/status?lang=es`);
    expect(statusCode).toBe(200);
    expect(body).toMatch(/^<div class="status good" data-status="COMPLETED"/);
    expect(body).toContain('Completado');
  });

  it('is not there before the link is used', async () => {
    expect((await get(`/pay/${token}/status`)).statusCode).toBe(409);
  });
});

let last = 0;
describeLinkPages('links in memory', () => {
  const { links } = server;
  const add = async (changes: Parameters<typeof links.add>[1] = {}) => {
    last += 1;
    const added = String(last).padStart(43, 'S');
    links.add(added, changes);
    return added;
  };
  return {
    links,
    open: () => add(),
    expired: () => add({ expiresAt: new Date(0).toISOString() }),
    canceled: () => add({ status: 'CANCELED' }),
    accesses: async (of) =>
      links.accesses
        .filter((access) => access.token === of)
        .map(({ kind, outcome, visitor }) => ({ kind, outcome, count: 1, visitor })),
  };
});
