import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type ErrorCode, errorCodes } from '@pis/contracts';
import { judgeBy } from '@pis/contracts/testing';
import { answerTo, ApiError } from '@pis/http-api';
import { createTestDatabase, type TestDatabase } from '@pis/local-servers/testing';
import {
  bankAccount,
  type Call,
  contactBody,
  createContact,
  type Gateway,
  startGateway,
  type Tenant,
} from './testing/gateway.js';
import { ensureAssets } from './testing/assets.js';

type Json = Record<string, unknown>;
interface Document extends Json {
  readonly servers: unknown;
  readonly paths: Record<string, Record<string, { responses: Record<string, Json> }>>;
  readonly components: { readonly responses: Record<string, { content: Record<string, Json> }> };
}

let database: TestDatabase;
let gateway: Gateway;
let tenant: Tenant;
let document: Document;

beforeAll(async () => {
  ensureAssets();
  database = await createTestDatabase();
  gateway = await startGateway({ databaseUrl: database.url });
  tenant = await gateway.createTenant();
  document = (await gateway.app.inject('/openapi.json')).json<Document>();
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

/** `GET /v1/payments/{}` for each route of the gateway, without those that Fastify adds. */
function routesOf({ app }: Gateway): string[] {
  const tree = app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false });
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, branch, part = '', methods = ''] = /^(.*?[├└]── )(\S+) \((.+)\)$/.exec(line) ?? [];
    if (branch === undefined) return [];
    const depth = branch.length / '├── '.length - 1;
    parents.length = depth;
    parents.push(part);
    return methods
      .split(', ')
      .filter((method) => method !== 'HEAD')
      .map((method) => `${method} ${withoutNames(parents.join(''))}`);
  });
}

function operationsOf({ paths }: Document): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${withoutNames(path)}`),
  );
}

const withoutNames = (path: string) => path.replace(/:\w+|\{\w+\}/g, '{}').replace(/\/$/, '');

const reference = ['GET /openapi.json', 'GET /docs', 'GET /docs/scalar.js'];

describe('the reference at /openapi.json', () => {
  it('has exactly the routes of the gateway', () => {
    expect(operationsOf(document).toSorted()).toEqual(
      routesOf(gateway)
        .filter((route) => !reference.includes(route))
        .toSorted(),
    );
  });

  it('is the committed document, without a key', () => {
    const committed = readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8');
    expect(document).toEqual(JSON.parse(committed));
  });

  it('has only the operations of production in production', async () => {
    const production = await startGateway({
      databaseUrl: database.url,
      environment: 'production',
      projects: false,
    });
    try {
      const reply = await production.app.inject('/openapi.json');
      const routes = routesOf(production).filter((route) => !reference.includes(route));
      expect(operationsOf(reply.json<Document>()).toSorted()).toEqual(routes.toSorted());
      expect(reply.body).not.toContain('sandbox/payments');
    } finally {
      await production.close();
    }
  });

  it('gives each error the status that the gateway answers', () => {
    const documented = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ responses }) => Object.entries(responses))
      .flatMap(([status, { $ref }]) =>
        typeof $ref === 'string' ? codesIn($ref).map((code) => `${code} ${status}`) : [],
      );
    const answered = errorCodes.map((code) => `${code} ${answerTo(new ApiError(code, '')).status}`);
    expect([...new Set(documented)].toSorted()).toEqual([...answered].toSorted());
  });
});

const codesIn = (response: string): ErrorCode[] => {
  const { content } = judgeBy(document).resolve(response) as {
    content: { 'application/json': { examples: Record<ErrorCode, unknown> } };
  };
  return Object.keys(content['application/json'].examples) as ErrorCode[];
};

/** Calls an operation and checks the answer against the document. */
async function judged(operation: string, path: string, call: Call = {}): Promise<Json> {
  const [method = '', template = ''] = operation.split(' ');
  const documented = document.paths[template]?.[method.toLowerCase()]?.responses;
  const reply = await gateway.call(path, { tenant, method: method as 'GET', ...call });
  const response = documented?.[reply.status];
  if (response === undefined) throw new Error(`${operation}: ${reply.status} is not documented`);
  const judge = judgeBy(document);
  const { content } = (
    typeof response['$ref'] === 'string' ? judge.resolve(response['$ref']) : response
  ) as { content?: Record<string, { schema: unknown; examples: Json }> };
  const json = content?.['application/json'];
  if (reply.body === null) expect(json).toBeUndefined();
  else expect(judge.exactProblems(json?.schema, reply.body)).toEqual([]);
  const code = reply.body?.error?.code;
  if (code !== undefined) expect(Object.keys(json?.examples ?? {})).toContain(code);
  return { status: reply.status, ...reply.body };
}

const dataOf = (answer: Json) => answer['data'] as Json;
const statusOf = (answer: Json) => answer['status'];

describe('what the gateway answers is what the reference says', () => {
  it('of originators and contacts', async () => {
    const originators = '/v1/originators/';
    const address = { addressLine1: '1', city: 'Bern', state: 'BE', postalCode: '3011' };
    const patch = { phoneNumber: '+12125550123', legalAddress: { ...address, countryCode: 'CH' } };
    const one = `${originators}${tenant.originatorId}`;
    await judged('PATCH /v1/originators/{originatorId}', one, { body: patch });
    const whole = await judged(`GET ${originators}`, originators);
    expect(whole['data']).toHaveLength(1);
    await judged(`GET ${originators}`, `${originators}?limit=1`);
    expect(statusOf(await judged(`GET ${originators}`, `${originators}?limit=0`))).toBe(400);

    const body = contactBody(tenant, { bankAccount: { ...bankAccount, swiftCode: 'CHASUS33' } });
    const created = await judged('POST /v1/contacts/', '/v1/contacts/', { body });
    expect(statusOf(created)).toBe(201);
    expect(statusOf(await judged('POST /v1/contacts/', '/v1/contacts/', { body }))).toBe(409);
    expect(statusOf(await judged('POST /v1/contacts/', '/v1/contacts/', { body: {} }))).toBe(400);
    const contact = `/v1/contacts/${String(dataOf(created)['contactId'])}`;
    const update = 'PATCH /v1/contacts/{contactId}';
    const cleared = await judged(update, contact, { body: { bankAccount: null } });
    expect(dataOf(cleared)['bankAccount']).toBeNull();
    const missing = `/v1/contacts/${randomUUID()}`;
    expect(statusOf(await judged(update, missing, { body: {} }))).toBe(404);
    expect((await judged('GET /v1/contacts/', '/v1/contacts/'))['data']).toHaveLength(1);
  });

  it('of payments', async () => {
    const payments = '/v1/payments/';
    const create = `POST ${payments}`;
    const body = {
      originatorId: tenant.originatorId,
      contactId: await createContact(gateway, tenant, { email: 'paid@example.com' }),
      paymentAmount: 12_345,
      direction: 'OUTBOUND',
    };
    const headers = { 'idempotency-key': randomUUID() };
    const created = await judged(create, payments, { body, headers });
    expect(statusOf(created)).toBe(201);
    const other = { ...body, paymentAmount: 1 };
    expect(statusOf(await judged(create, payments, { body: other, headers }))).toBe(409);
    expect(statusOf(await judged(create, payments, { body }))).toBe(400);
    expect(statusOf(await judged(create, payments, { body: '{', headers }))).toBe(400);
    expect(statusOf(await judged(create, payments, { body: 'x'.repeat(70_000) }))).toBe(413);
    const text = { ...headers, 'content-type': 'text/plain' };
    expect(statusOf(await judged(create, payments, { body: 'x', headers: text }))).toBe(415);
    expect(statusOf(await judged(create, payments, { body, key: null }))).toBe(401);
    expect(statusOf(await judged(create, payments, { body, key: tenant.keys.read_only }))).toBe(
      403,
    );

    const payment = `${payments}${String(dataOf(created)['paymentId'])}`;
    const get = 'GET /v1/payments/{paymentId}';
    expect(dataOf(await judged(get, payment))['status']).toBe('QUEUED');
    expect(statusOf(await judged(get, `${payments}${randomUUID()}`))).toBe(404);
    const page = await judged(`GET ${payments}`, `${payments}?limit=1`);
    expect(page['data']).toHaveLength(1);

    const simulate = 'POST /v1/sandbox/payments/{paymentId}/simulate';
    const byHand = payment.replace('/v1', '/v1/sandbox');
    const failed = await judged(simulate, `${byHand}/simulate`, { body: { outcome: 'fail' } });
    expect(dataOf(failed)['failureCode']).toBe('INTERNAL_ERROR');
    const again = await judged(simulate, `${byHand}/simulate`, { body: { outcome: 'fail' } });
    expect(statusOf(again)).toBe(409);
  });

  it('of webhook endpoints and statements', async () => {
    const webhooks = '/v1/webhooks';
    const body = { url: 'https://203.0.113.7/hook', subscribedEvents: ['payment.*'] };
    const created = await judged(`POST ${webhooks}`, webhooks, { body });
    expect(statusOf(created)).toBe(201);
    expect(statusOf(await judged(`POST ${webhooks}`, webhooks, { body: {} }))).toBe(400);
    const one = `${webhooks}/${String(dataOf(created)['id'])}`;
    const template = '/v1/webhooks/{id}';
    expect((await judged(`GET ${webhooks}`, webhooks))['data']).toHaveLength(1);
    await judged(`GET ${template}`, one);
    await judged(`PATCH ${template}`, one, { body: { label: 'Ledger', subscribedEvents: [] } });
    const unknown = { eventType: 'payment.*' };
    expect(statusOf(await judged(`POST ${template}/test`, `${one}/test`, { body: unknown }))).toBe(
      400,
    );
    expect(statusOf(await judged(`DELETE ${template}`, one))).toBe(204);
    expect(statusOf(await judged(`DELETE ${template}`, one))).toBe(404);

    expect(statusOf(await judged('GET /v1/statements', '/v1/statements?year=2026'))).toBe(200);
    const statement = `/v1/statements/${randomUUID()}`;
    expect(statusOf(await judged('GET /v1/statements/{statementId}', statement))).toBe(404);
  });
});

describe('the page at /docs', () => {
  const get = (url: string, headers: Record<string, string> = {}) =>
    gateway.app.inject({ url, headers });

  it('uses no other host, and its policy blocks other hosts', async () => {
    const { statusCode, body, headers } = await get('/docs');
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body).not.toMatch(/https?:|\/\/[a-z]/);
    for (const off of ['"withDefaultFonts":false', '"telemetry":false', '"proxyUrl":""'])
      expect(body).toContain(off);
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self' 'sha256-[\w+/=]+'; /);
    expect(policy).not.toMatch(/\*|https?:|unsafe-eval/);
    expect(policy).not.toMatch(/script-src[^;]*unsafe/);
  });

  it('works below the prefix of a proxy, with and without a trailing slash', async () => {
    const { body } = await get('/docs');
    expect(body).toContain('src="docs/scalar.js"');
    const { statusCode, headers } = await get('/docs/');
    expect([statusCode, headers['location']]).toEqual([308, '../docs']);
  });

  it('loads its script from this host, compressed if possible, and once', async () => {
    const [zipped, plain] = await Promise.all([
      get('/docs/scalar.js', { 'accept-encoding': 'br, gzip' }),
      get('/docs/scalar.js'),
    ]);
    expect(zipped.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'content-encoding': 'gzip',
      vary: 'Accept-Encoding',
    });
    expect(gunzipSync(zipped.rawPayload).equals(plain.rawPayload)).toBe(true);
    expect(plain.body).toContain('createApiReference');
    const { etag } = zipped.headers;
    const again = await get('/docs/scalar.js', { 'if-none-match': String(etag) });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });
});
