import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { randomUUID } from 'node:crypto';
import { createApiKey, digestOfApiKey, revokeApiKey, unrefused } from '@pis/commands';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import { type Logger } from '@pis/service-kit';
import {
  by,
  type Call,
  contactBody,
  type Gateway,
  type Reply,
  startGateway,
  type Tenant,
} from './testing/gateway.js';

const timeoutMs = 20_000;

let database: TestDatabase;
let gateway: Gateway;
let tenant: Tenant;
const logged: unknown[] = [];
const record = (...entry: unknown[]) => void logged.push(entry);
const logger = { info: record, warn: record, error: record, debug: record } as unknown as Logger;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGateway({ databaseUrl: database.url, logger });
  tenant = await gateway.createTenant();
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const call = (path: string, options: Call = {}) => gateway.call(path, { tenant, ...options });
const codeOf = (reply: Reply) => `${reply.status} ${reply.body?.error?.code ?? ''}`.trim();
const json = { 'content-type': 'application/json' };

describe('routes', () => {
  it.each([
    ['GET', '/nowhere'],
    ['GET', '/v1'],
    ['POST', '/v1/nowhere'],
    ['PUT', '/v1/payments/'],
    ['DELETE', '/v1/payments'],
    ['OPTIONS', '/v1/payments/'],
  ] as const)(
    '%s %s is not found, with or without a key, whatever the body',
    async (method, path) => {
      const headers = { 'content-type': 'text/plain' };
      for (const key of [null, tenant.keys.full_access]) {
        const reply = await call(path, {
          method,
          key,
          ...(method === 'POST' ? { body: 'x', headers } : {}),
        });
        expect(codeOf(reply)).toBe('404 NOT_FOUND');
        expect(reply.body?.error?.message).toEqual(expect.any(String));
      }
    },
  );

  it.each(['/v1/payments', '/v1/originators', '/v1/contacts', '/v1/webhooks', '/v1/statements'])(
    '%s is the same with and without a trailing slash',
    async (path) => {
      expect((await call(path)).status).toBe(200);
      expect((await call(`${path}/`)).status).toBe(200);
      expect((await call(path, { method: 'HEAD' })).body).toBeNull();
    },
  );
});

describe('keys', () => {
  const post = (options: Call) => call('/v1/payments/', { method: 'POST', ...options });

  it('are checked before the body', async () => {
    for (const key of [
      null,
      'nonsense',
      `pis_test_${'x'.repeat(43)}`,
      `pis_live_${'x'.repeat(43)}`,
    ]) {
      const reply = await post({ key, body: '{', headers: { 'content-type': 'text/plain' } });
      expect(codeOf(reply)).toBe('401 UNAUTHORIZED');
      expect(reply.headers['www-authenticate']).toBe('Bearer');
    }
    const overlong = 'x'.repeat(70_000);
    expect(codeOf(await post({ key: null, body: overlong }))).toBe('401 UNAUTHORIZED');
    expect(codeOf(await post({ key: tenant.keys.read_only, body: overlong }))).toBe(
      '403 FORBIDDEN',
    );
  });

  it('of a type without access are refused, even for records that do not exist', async () => {
    const { read_only: reader, webhook_admin: admin } = tenant.keys;
    const id = randomUUID();
    const cases: readonly [string, string, Call['method'], number][] = [
      [reader, '/v1/payments/', 'GET', 200],
      [reader, '/v1/payments/', 'POST', 403],
      [reader, '/v1/contacts/', 'POST', 403],
      [reader, `/v1/contacts/${id}`, 'PATCH', 403],
      [reader, '/v1/webhooks', 'GET', 200],
      [reader, '/v1/webhooks', 'POST', 403],
      [reader, `/v1/webhooks/${id}`, 'DELETE', 403],
      [admin, '/v1/webhooks', 'GET', 200],
      [admin, `/v1/webhooks/${id}`, 'DELETE', 404],
      [admin, '/v1/originators/', 'GET', 403],
      [admin, `/v1/payments/${id}`, 'GET', 403],
      [admin, '/v1/contacts/', 'POST', 403],
    ];
    for (const [key, path, method = 'GET', status] of cases)
      expect([path, method, (await call(path, { key, method })).status]).toEqual([
        path,
        method,
        status,
      ]);
  });

  it('that are revoked or of another environment are refused', async () => {
    const options = { organizationId: tenant.organizationId, type: 'full_access' } as const;
    const context = { store: gateway.store, by };
    const sandbox = unrefused(await createApiKey(context, { ...options, environment: 'sandbox' }));
    const live = unrefused(await createApiKey(context, { ...options, environment: 'production' }));
    unrefused(await revokeApiKey(context, { digest: digestOfApiKey(sandbox.apiKey) }));
    for (const { apiKey } of [sandbox, live])
      expect(codeOf(await call('/v1/originators/', { key: apiKey }))).toBe('401 UNAUTHORIZED');
  });
});

describe('keys that exceed their limit', () => {
  it('get 429 with Retry-After before any other check, while others are served', async () => {
    const own = await startGateway({
      databaseUrl: database.url,
      projects: false,
      changes: { PIS_RATE_LIMIT_PER_KEY: 1 },
    });
    try {
      const theirs = await own.createTenant();
      const ask = (key: string | null, options: Call = {}) =>
        own.call('/v1/webhooks', { tenant: theirs, key, ...options });
      const { full_access, read_only } = theirs.keys;
      const first = [await ask(full_access), await ask(full_access)];
      expect(first.map(codeOf)).toEqual(['200', '200']);
      // One token is refilled each second, so this is immediate unless a request takes a second.
      const refused = await until(
        async () => {
          const reply = await ask(full_access);
          return reply.status === 429 ? reply : null;
        },
        { timeoutMs, everyMs: 0 },
      );
      expect(codeOf(refused)).toBe('429 RATE_LIMITED');
      expect(refused.headers['retry-after']).toBe('1');
      expect(refused.headers['x-request-id']).toEqual(expect.any(String));
      expect(codeOf(await ask(read_only))).toBe('200');
      expect(codeOf(await ask('nonsense'))).toBe('401 UNAUTHORIZED');
      await until(async () => codeOf(await ask('nonsense')) === '429 RATE_LIMITED', {
        timeoutMs,
        everyMs: 0,
      });
      expect(codeOf(await own.call('/nowhere', { tenant: theirs }))).toBe('404 NOT_FOUND');
    } finally {
      await own.close();
    }
  });
});

describe('bodies', () => {
  const post = (body: string, headers: Record<string, string> = json) =>
    call('/v1/contacts/', { method: 'POST', body, headers });

  it.each([
    ['text/plain', '415 UNSUPPORTED_MEDIA_TYPE'],
    ['application/x-www-form-urlencoded', '415 UNSUPPORTED_MEDIA_TYPE'],
    ['application/json; charset=iso-8859-1', '415 UNSUPPORTED_MEDIA_TYPE'],
    ['application/jsonp', '415 UNSUPPORTED_MEDIA_TYPE'],
    [`application/json;${' '.repeat(100)}charset=utf-8`, '415 UNSUPPORTED_MEDIA_TYPE'],
    ['', '415 UNSUPPORTED_MEDIA_TYPE'],
    ['application/json; charset=utf-8', '400 VALIDATION_ERROR'],
    ['application/json;charset=UTF-8', '400 VALIDATION_ERROR'],
    ['APPLICATION/JSON', '400 VALIDATION_ERROR'],
  ])('of the type "%s": %s', async (type, code) => {
    expect(codeOf(await post('{}', { 'content-type': type }))).toBe(code);
  });

  it.each([
    ['a repeated key', '{"email":"a@b.example","email":"a@b.example"}'],
    ['a repeated key in a field we do not know', '{"x":{"y":[{"z":1,"z":2}]}}'],
    ['half a body', '{"email":'],
    ['__proto__', '{"__proto__":{"entityType":"BUSINESS"}}'],
    ['deep nesting', `{"x":${'['.repeat(20_000)}`],
  ])('with %s are INVALID_JSON', async (_what, body) => {
    expect(codeOf(await post(body))).toBe('400 INVALID_JSON');
  });

  it('may be neither larger than 64 KiB nor compressed', async () => {
    const fitting = JSON.stringify({ x: 'x'.repeat(64 * 1024 - 8) });
    expect(codeOf(await post(fitting))).toBe('400 VALIDATION_ERROR');
    expect(codeOf(await post(`${fitting} `))).toBe('413 PAYLOAD_TOO_LARGE');
    const compressed = { ...json, 'content-encoding': 'gzip' };
    expect(codeOf(await post('{}', compressed))).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  });

  it.each(['[]', '"text"', '7', 'true'])('that are %s are not valid', async (body) => {
    expect(codeOf(await post(body))).toBe('400 VALIDATION_ERROR');
  });

  it('that are null are invalid as a whole, but a missing body reports each missing field', async () => {
    const fieldsOf = (reply: Reply) => reply.body?.error?.details?.map(({ field }) => field);
    expect(fieldsOf(await post('null'))).toEqual(['']);
    expect(fieldsOf(await post(''))).toContain('originatorId');
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])(
    'that are missing need no media type, and %s does not matter',
    async (type) => {
      const headers = { 'content-type': type, 'content-length': '0' };
      const created = await post('', headers);
      expect(created.body?.error?.details).toContainEqual(
        expect.objectContaining({ field: 'originatorId', issue: 'validation_required' }),
      );
      const path = `/v1/webhooks/${randomUUID()}`;
      expect(codeOf(await call(path, { method: 'DELETE', headers }))).toBe('404 NOT_FOUND');
    },
  );
});

describe('answers', () => {
  it('have the caller’s request ID if it is valid, and are not cached', async () => {
    const ask = (id: string) => call('/v1/originators/', { headers: { 'x-request-id': id } });
    expect((await ask('order-4711')).headers['x-request-id']).toBe('order-4711');
    const uuid = /^[0-9a-f-]{36}$/;
    for (const id of ['', 'x'.repeat(129), 'a b', '<script>'])
      expect((await ask(id)).headers['x-request-id']).toMatch(uuid);
    const failed = await call('/nowhere');
    expect(failed.headers['x-request-id']).toMatch(uuid);
    expect(failed.headers['cache-control']).toBe('no-store');
    expect(failed.headers['content-type']).toMatch(/^application\/json/);
    expect(failed.headers).not.toHaveProperty('x-powered-by');
  });

  it('are logged without key, query, body or account number', async () => {
    logged.length = 0;
    const body = contactBody(tenant, { email: 'secret@example.com' });
    await call('/v1/contacts/?token=query-secret', { method: 'POST', body });
    await call('/v1/contacts/', { method: 'POST', body: '{"achAccountNumber": 000123456789}' });
    const text = JSON.stringify(logged);
    expect(text).toContain('"path":"/v1/contacts"');
    expect(text).toContain(tenant.organizationId);
    for (const secret of ['secret', tenant.keys.full_access, '000123456789'])
      expect(text).not.toContain(secret);
  });

  describe('to requests that Fastify never sees', () => {
    let port: number;
    beforeAll(async () => {
      await gateway.app.listen(0, '127.0.0.1');
      ({ port } = gateway.app.getHttpServer().address() as AddressInfo);
    });

    const exchange = async (request: string) => {
      const socket = connect(port, '127.0.0.1');
      let received = '';
      socket.on('data', (chunk) => (received += String(chunk)));
      socket.on('error', () => undefined);
      socket.write(request);
      await once(socket, 'close');
      return received;
    };
    const get = (path: string, headers = '') =>
      exchange(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`);

    it.each([
      ['nonsense', () => exchange('nonsense\r\n\r\n')],
      ['headers without end', () => get('/', `X: ${'x'.repeat(70_000)}\r\n`)],
    ])('%s: 400 with the envelope', async (_what, ask) => {
      const received = await ask();
      expect(received).toMatch(/^HTTP\/1\.1 400 /);
      expect(received).toMatch(/"error":\{"code":"VALIDATION_ERROR"/);
    });

    it.each(['/v1/payments/%zz', '/v1/payments/%ff'])(
      'the path %s: 404 with the envelope',
      async (path) => {
        const received = await get(path);
        expect(received).toMatch(/^HTTP\/1\.1 404 /);
        expect(received).toMatch(/x-request-id: /i);
        expect(received).toMatch(/"error":\{"code":"NOT_FOUND"/);
      },
    );

    it.each([1, 250, 300, 15_000])('an invalid ID of %d characters: 400', async (length) => {
      const key = `Authorization: Bearer ${tenant.keys.full_access}\r\n`;
      const received = await get(`/v1/payments/${'x'.repeat(length)}`, key);
      expect(received).toMatch(/^HTTP\/1\.1 400 /);
      expect(received).toMatch(/"field":"paymentId","issue":"validation_uuid"/);
    });

    it('and everything else is served as usual', async () => {
      expect(await get('/v1/payments/x?y=%zz')).toMatch(/^HTTP\/1\.1 401 /);
    });
  });
});
