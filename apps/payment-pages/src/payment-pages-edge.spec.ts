/** What the pages answer under load and in an outage, and what their logs say. */
import { Writable } from 'node:stream';
import { jest } from '@jest/globals';
import { Controller, Post } from '@nestjs/common';
import { StoreUnavailable } from '@pis/event-store';
import { createLogger, PublicRoute } from '@pis/service-kit';
import { type PagesServer, startPages, token } from './testing/pages-server.js';

let server: PagesServer;
afterEach(() => server.close());

const get = (path: string, address = '203.0.113.1') =>
  server.app.inject({ url: path, headers: { 'x-forwarded-for': address } });

describe('The limits', () => {
  // Requests are allowed again as time passes. No time passes here, however slow the machine is.
  beforeEach(() => jest.spyOn(performance, 'now').mockReturnValue(0));
  afterEach(() => jest.restoreAllMocks());

  const other = 'D'.repeat(43);
  const limited = async (perSecond: number) => {
    server = await startPages({
      changes: { PIS_RATE_LIMIT_PER_KEY: perSecond },
      http: { trustedProxies: ['127.0.0.1/32'] },
    });
    server.links.add(token);
    server.links.add(other);
  };

  it('are those of an API key, for each link whatever the address is', async () => {
    await limited(1);
    const statuses = [];
    for (const last of [1, 2, 3]) {
      const { statusCode } = await get(`/pay/${token}`, `203.0.113.${last}`);
      statuses.push(statusCode);
    }
    expect(statuses).toEqual([200, 200, 429]);
    expect((await get(`/pay/${other}`, '203.0.113.9')).statusCode).toBe(200);
  });

  it('hold for each address whatever the link is, also for links that are not there', async () => {
    await limited(1);
    expect((await get(`/pay/${'X'.repeat(43)}`)).statusCode).toBe(404);
    expect((await get(`/pay/${'Y'.repeat(43)}`)).statusCode).toBe(404);
    const refused = await get(`/pay/${token}`);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    expect(refused.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(refused.body).toContain('<h1>Too many requests</h1>');
    expect(refused.headers['content-security-policy']).toContain("style-src 'self'");
    expect((await get(`/pay/${token}`, '203.0.113.2')).statusCode).toBe(200);
  });

  it('are a tenth of it for each address', async () => {
    // 2 per second for an address, 20 for a link, and twice that at once.
    await limited(20);
    const requests = Array.from({ length: 30 }, () => get(`/pay/${token}`));
    const statuses = (await Promise.all(requests)).map(({ statusCode }) => statusCode);
    expect(statuses.slice(0, 4)).toEqual([200, 200, 200, 200]);
    expect(new Set(statuses.slice(4))).toEqual(new Set([429]));
    expect((await get(`/pay/${token}`, '203.0.113.2')).statusCode).toBe(200);
  });

  it('hold for submissions, the status and the names of banks too', async () => {
    await limited(1);
    await get(`/pay/${token}`);
    await get(`/pay/${token}`, '203.0.113.2');
    for (const path of ['/status', '/bank?routingNumber=021000021'])
      expect((await get(`/pay/${token}${path}`, '203.0.113.3')).statusCode).toBe(429);
    const { statusCode } = await server.app.inject({
      method: 'POST',
      url: `/pay/${token}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'subType=CHECKING',
    });
    expect(statusCode).toBe(429);
  });

  it('hold for pictures that are looked up, for each address', async () => {
    await limited(1);
    const logo = (digit: string) => `/pay/assets/logo/${digit.repeat(64)}.png`;
    const isLimited = async (digit: string, address?: string) =>
      (await get(logo(digit), address)).statusCode === 429;
    const limits = [await isLimited('a'), await isLimited('b'), await isLimited('c')];
    expect(limits).toEqual([false, false, true]);
    expect(await isLimited('a', '203.0.113.2')).toBe(false);
  });

  it('are off with 0', async () => {
    await limited(0);
    for (let request = 0; request < 20; request += 1)
      expect((await get(`/pay/${token}`)).statusCode).toBe(200);
  });
});

describe('Without its stores', () => {
  it('answers 503 with a page, and asks to try again', async () => {
    server = await startPages();
    server.links.add(token);
    server.links.outage = new StoreUnavailable('away');
    const { statusCode, headers, body } = await get(`/pay/${token}`);
    expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
    expect(body).toContain('<h1>Temporarily unavailable</h1>');
  });

  it('answers within the time limit if a store does not', async () => {
    server = await startPages({ changes: { PIS_REQUEST_TIMEOUT_MS: 100 } });
    server.links.find = () => new Promise(() => undefined);
    expect((await get(`/pay/${token}`)).statusCode).toBe(503);
  });
});

describe('A form that the service does not take', () => {
  const submitted = async (language = 'en') => {
    const { statusCode, body } = await server.app.inject({
      method: 'POST',
      url: `/pay/${token}?lang=${language}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'subType=CHECKING',
    });
    return { statusCode, body };
  };

  it('is said not to be saved where that is certain', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(0);
    server = await startPages({ changes: { PIS_RATE_LIMIT_PER_KEY: 1 } });
    const answers = [await submitted(), await submitted('es'), await submitted()];
    jest.restoreAllMocks();
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 429]);
    for (const { body } of answers) expect(body).toMatch(/Nothing was saved|No se guardó nada/);
    expect((await get(`/pay/${'X'.repeat(43)}`)).body).not.toContain('saved');
  });

  it.each([
    [503, new StoreUnavailable('away')],
    [500, new Error('broken')],
  ])('may be saved after a %i: the page says how to find out', async (status, outage) => {
    server = await startPages();
    server.links.add(token);
    server.links.outage = outage;
    expect(await submitted()).toMatchObject({
      statusCode: status,
      body: expect.stringContaining('It is not certain whether your bank details were saved.'),
    });
    expect((await submitted('es')).body).toContain('No es seguro que');
    expect((await get(`/pay/${token}`)).body).not.toContain('not certain');
  });
});

describe('The logs', () => {
  it('have the route and never the token, also of an error', async () => {
    const lines: string[] = [];
    const to = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(chunk.toString('utf8'));
        done();
      },
    });
    server = await startPages({ logger: createLogger('test', 'trace', to) });
    server.links.add(token);
    for (const path of ['', '/', '?lang=es', '/status', '/bank?routingNumber=021000021'])
      await get(`/pay/${token}${path}`);
    server.links.outage = new Error('broken');
    expect((await get(`/pay/${token}`)).statusCode).toBe(500);
    await get(`/pay/${token}/nothing`);
    const log = lines.join('');
    expect(log).toContain('"path":"/pay/:token"');
    expect(log).toContain('"path":"/pay/:token/bank"');
    expect(log).not.toContain(token);
    expect(log).not.toContain('021000021');
  });
});

describe('Beside other apps in one process', () => {
  @Controller('other')
  class Other {
    @Post()
    @PublicRoute('bank')
    take(): string {
      return 'taken';
    }
  }

  it('takes forms for the pages alone', async () => {
    server = await startPages({ controllers: [Other] });
    const { statusCode } = await server.app.inject({
      method: 'POST',
      url: '/other',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'a=b',
    });
    expect(statusCode).toBe(415);
  });
});
