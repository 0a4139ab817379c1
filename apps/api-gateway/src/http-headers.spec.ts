import { jest } from '@jest/globals';
import type { Call, Gateway, Reply, Tenant } from './testing/gateway.js';
import { startGateway } from './testing/gateway.js';

const databaseUrl = 'postgres://nobody@127.0.0.1:1/none';
const running: Gateway[] = [];
// Requests are allowed again as time passes. No time passes here, however slow the machine is.
beforeEach(() => jest.spyOn(performance, 'now').mockReturnValue(0));
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(running.splice(0).map((gateway) => gateway.close()));
});

async function start(changes: NonNullable<Parameters<typeof startGateway>[0]['changes']> = {}) {
  const gateway = await startGateway({ databaseUrl, projects: false, changes });
  running.push(gateway);
  const tenant = await gateway.createTenant();
  return {
    gateway,
    tenant,
    app: gateway.app,
    call: (path: string, options: Call = {}) => gateway.call(path, { tenant, ...options }),
  };
}

const safe = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
};
const jsonPolicy = "default-src 'none'; frame-ancestors 'none'";

describe('every answer', () => {
  const requests: readonly (readonly [string, string, (tenant: Tenant) => Call])[] = [
    ['200', '/v1/webhooks', () => ({})],
    ['204 to HEAD', '/v1/webhooks', () => ({ method: 'HEAD' })],
    ['400', '/v1/webhooks/none', () => ({})],
    ['401', '/v1/webhooks', () => ({ key: null })],
    ['403', '/v1/contacts', ({ keys }) => ({ method: 'POST', key: keys.read_only })],
    ['404', '/nowhere', () => ({})],
    ['413', '/v1/contacts', () => ({ method: 'POST', body: 'x'.repeat(70_000) })],
    ['503', '/v1/payments', () => ({})],
    ['200 without a key', '/openapi.json', () => ({ key: null })],
  ];

  it.each(requests)('(%s) has headers that restrict browsers', async (_what, path, options) => {
    const { call, tenant } = await start();
    const { headers } = await call(path, options(tenant));
    expect(headers).toMatchObject({
      ...safe,
      'cache-control': 'no-store',
      'content-security-policy': jsonPolicy,
      'x-request-id': expect.any(String) as string,
    });
    for (const name of ['x-powered-by', 'server', 'strict-transport-security'])
      expect(headers).not.toHaveProperty(name);
  });

  it('requires HTTPS in the future if the API is reached by HTTPS', async () => {
    const { call } = await start({ PIS_PUBLIC_URL: 'https://pay.example' });
    for (const path of ['/v1/webhooks', '/nowhere', '/docs/scalar.js'])
      expect((await call(path, { method: 'HEAD' })).headers['strict-transport-security']).toBe(
        'max-age=63072000; includeSubDomains',
      );
  });

  it('includes the page of the reference, which has its own policy', async () => {
    const { app } = await start();
    const { headers } = await app.inject({ url: '/docs' });
    expect(headers).toMatchObject(safe);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self' /);
  });
});

describe('what is left of the rate limit', () => {
  const names = [
    'ratelimit-policy',
    'ratelimit',
    'ratelimit-limit',
    'ratelimit-remaining',
    'ratelimit-reset',
  ];
  const shown = ({ headers }: Reply) => names.map((name) => headers[name]);

  it('is in every answer to a key, including refusals', async () => {
    const { call, tenant } = await start({ PIS_RATE_LIMIT_PER_KEY: 50 });
    const requests: readonly (readonly [string, Call])[] = [
      ['/v1/webhooks', {}],
      ['/v1/webhooks/none', {}],
      ['/v1/payments', {}],
      ['/v1/contacts', { method: 'POST', body: '{' }],
      ['/v1/webhooks', { method: 'HEAD' }],
    ];
    for (const [before, [path, options]] of requests.entries()) {
      const reply = await call(path, options);
      const [policy, limit, ...older] = shown(reply);
      const remaining = 99 - before;
      expect(policy).toBe('"default";q=100;w=2');
      expect(limit).toBe(`"default";r=${remaining};t=1`);
      expect(older).toEqual(['100', String(remaining), '1']);
    }
    const forbidden = { method: 'POST', key: tenant.keys.read_only } as const;
    expect(shown(await call('/v1/contacts', forbidden))[4]).toBe('1');
  });

  it('is zero in a 429, which has the time of the next request', async () => {
    const { call } = await start({ PIS_RATE_LIMIT_PER_KEY: 1 });
    for (let sent = 0; sent < 2; sent += 1) expect((await call('/v1/webhooks')).status).toBe(200);
    const reply = await call('/v1/webhooks');
    expect([reply.status, reply.body?.error?.code]).toEqual([429, 'RATE_LIMITED']);
    expect(reply.headers['retry-after']).toBe('1');
    expect(shown(reply)).toEqual(['"default";q=2;w=2', '"default";r=0;t=1', '2', '0', '1']);
  });

  it('covers all keys of an organization together, and no other organization', async () => {
    const { gateway, call, tenant } = await start({ PIS_RATE_LIMIT_PER_ORGANIZATION: 2 });
    const other = await gateway.createTenant();
    const keys = Object.values(tenant.keys);
    const statuses: number[] = [];
    let refused: Reply | undefined;
    for (let sent = 0; sent < 10 && refused === undefined; sent += 1) {
      const reply = await call('/v1/webhooks', { key: keys[sent % keys.length] ?? null });
      if (reply.status === 429) refused = reply;
      else statuses.push(reply.status);
    }
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(refused?.body?.error?.code).toBe('RATE_LIMITED');
    expect(refused?.headers['retry-after']).toBe('1');
    expect(refused && shown(refused)).toEqual([
      '"default";q=4;w=2',
      '"default";r=0;t=1',
      ...['4', '0', '1'],
    ]);
    const elsewhere = await gateway.call('/v1/webhooks', { tenant: other });
    expect([elsewhere.status, shown(elsewhere)[0]]).toEqual([200, '"default";q=4;w=2']);
  });

  it('of an organization has its own number where one is set, and 0 means none', async () => {
    const { gateway, call, tenant } = await start({ PIS_RATE_LIMIT_PER_ORGANIZATION: 1 });
    expect(shown(await call('/v1/webhooks'))[0]).toBe('"default";q=2;w=2');
    const statusesOf = async (perSecond: number) => {
      const rates = new Map([[tenant.organizationId, perSecond]]);
      const limited = await startGateway({
        ...{ databaseUrl, projects: false, store: gateway.store },
        changes: { PIS_RATE_LIMIT_PER_ORGANIZATION: 1, PIS_RATE_LIMIT_ORGANIZATIONS: rates },
      });
      running.push(limited);
      const replies: Reply[] = [];
      for (let sent = 0; sent < 30; sent += 1)
        replies.push(await limited.call('/v1/webhooks', { tenant }));
      return [new Set(replies.map(({ status }) => status)), shown(replies[0] as Reply)[0]];
    };
    expect(await statusesOf(50)).toEqual([new Set([200]), '"default";q=100;w=2']);
    expect(await statusesOf(0)).toEqual([new Set([200]), undefined]);
  });

  it('gives a request that the organization may not send back to its key', async () => {
    const { call } = await start({
      PIS_RATE_LIMIT_PER_KEY: 10,
      PIS_RATE_LIMIT_PER_ORGANIZATION: 1,
    });
    let refusals = 0;
    for (let sent = 0; sent < 60; sent += 1) {
      const { status, headers } = await call('/v1/webhooks');
      if (status !== 429) continue;
      refusals += 1;
      // Had the key paid for each refusal, it would be the one that refuses.
      expect(headers['ratelimit-limit']).toBe('2');
    }
    expect(refusals).toBe(58);
  });

  it('is missing without a key or a limit', async () => {
    const limited = await start({ PIS_RATE_LIMIT_PER_KEY: 50 });
    const unlimited = await start({ PIS_RATE_LIMIT_PER_KEY: 0 });
    const none = names.map(() => undefined);
    expect(shown(await limited.call('/v1/webhooks', { key: null }))).toEqual(none);
    expect(shown(await limited.call('/nowhere'))).toEqual(none);
    expect(shown(await limited.call('/openapi.json'))).toEqual(none);
    expect(shown(await unlimited.call('/v1/webhooks'))).toEqual(none);
  });
});

describe('failed authentications', () => {
  const codes = async (app: Gateway['app'], addresses: readonly string[]) => {
    const statuses = new Set<number>();
    for (const address of addresses) {
      const headers = { 'x-forwarded-for': address, authorization: 'Bearer nonsense' };
      statuses.add((await app.inject({ url: '/v1/webhooks', headers })).statusCode);
    }
    return [...statuses].sort();
  };
  const many = (name: (at: number) => string) => Array.from({ length: 20 }, (_, at) => name(at));

  it('count for the client that a trusted proxy names, and for its whole IPv6 network', async () => {
    const gateway = await startGateway({
      databaseUrl,
      projects: false,
      changes: { PIS_RATE_LIMIT_PER_KEY: 1 },
      http: { trustedProxies: ['127.0.0.0/8'] },
    });
    running.push(gateway);
    const { app } = gateway;
    expect(
      await codes(
        app,
        many((at) => `203.0.113.${at}`),
      ),
    ).toEqual([401]);
    expect(
      await codes(
        app,
        many((at) => `2001:db8:${at}::1`),
      ),
    ).toEqual([401]);
    expect(
      await codes(
        app,
        many((at) => `2001:db8::${at}`),
      ),
    ).toEqual([401, 429]);
    expect(
      await codes(
        app,
        many((at) => `${at}.2.3.4, 198.51.100.7`),
      ),
    ).toEqual([401, 429]);
    // Some proxies add the port, and chains of proxies add their addresses.
    for (const withPorts of [
      (at: number) => `198.51.100.8:${50_000 + at}`,
      (at: number) => `[2001:db8:77::${at}]:${50_000 + at}`,
      (at: number) => `198.51.100.9:${50_000 + at}, 127.0.0.2:${40_000 + at}`,
    ])
      expect(await codes(app, many(withPorts))).toEqual([401, 429]);
  });

  it('count for the peer if no proxy is trusted, whatever it sends', async () => {
    const { app } = await start({ PIS_RATE_LIMIT_PER_KEY: 1 });
    expect(
      await codes(
        app,
        many((at) => `203.0.113.${at}`),
      ),
    ).toEqual([401, 429]);
  });
});
